import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;

/**
 * Names of columns without the constants that Spark puts into those that it makes of expressions, such as
 * `concat(status, x)`. Names of stored columns, before and after a write, stay as they are.
 */
final class ColumnNames {
    private static final int EXPRESSIONS_MAX = 1000;
    private static final Pattern WORD = Pattern.compile("\\w+");

    private final boolean literals;
    private final Set stored = new HashSet();
    /** What is known of names that were cleaned, by the id of the column and by the name: a clean one, constants. */
    private final Map known = new HashMap();

    ColumnNames(boolean literals) {
        this.literals = literals;
    }

    /** Keeps the names of columns that are read or written. */
    void keep(Object attributes) {
        Object[] items = Sequences.array(attributes);
        for (int i = 0; i < items.length && !literals; i++) {
            stored.add(id((Attribute) items[i]));
        }
    }

    String of(NamedExpression expression) {
        String name = expression.name();
        if (literals || !(expression instanceof Alias || expression instanceof Attribute) || stored.contains(id(expression))) {
            return name;
        }
        Object[] entry = find(expression);
        if (entry == null && expression instanceof Alias) {
            entry = add((Alias) expression);
        }
        return entry == null ? name : (String) entry[0];
    }

    private Object[] find(NamedExpression expression) {
        Object entry = known.get(id(expression));
        // Other nodes, such as unions, give the column another id.
        return (Object[]) (entry == null ? known.get(expression.name()) : entry);
    }

    /** Cleans the name of a column; null if there is nothing to clean. */
    private Object[] add(Alias alias) {
        String name = alias.name();
        Expression value = alias.child();
        boolean isWord = WORD.matcher(name).matches();
        // Spark's own names of inner columns, such as _w0, stand for what other names have the text of.
        boolean isInner = name.startsWith("_");
        List texts = isWord && !isInner && !(value instanceof Literal) ? new ArrayList() : texts(value);
        String clean = texts == null ? "?" : name;
        for (int i = 0; texts != null && i < texts.size(); i++) {
            String text = (String) texts.get(i);
            clean = isWord ? (name.equals(text) ? "?" : clean) : without(clean, text);
        }
        if (clean.equals(name) && !isInner) {
            return null;
        }
        Object[] entry = {clean, texts};
        known.put(id(alias), entry);
        if (!isWord) {
            known.put(name, entry);
        }
        return entry;
    }

    private static Long id(NamedExpression expression) {
        return new Long(expression.exprId().id());
    }

    private static String without(String name, String text) {
        String quoted = Pattern.quote(text);
        String pattern = WORD.matcher(text).matches() ? "(?<!\\w)" + quoted + "(?!\\w)" : quoted;
        return Pattern.compile(pattern).matcher(name).replaceAll("?");
    }

    /**
     * Returns the constants of an expression as Spark writes them into a name, and those in names of its columns;
     * null if there are too many. The longest are first, since they may contain others.
     */
    private List texts(Expression value) {
        List texts = new ArrayList();
        ArrayDeque stack = new ArrayDeque();
        stack.push(value);
        for (int count = 0; !stack.isEmpty(); count++) {
            Expression expression = (Expression) stack.pop();
            Object[] entry = expression instanceof Attribute ? find((Attribute) expression) : null;
            if (count > EXPRESSIONS_MAX || texts.size() > EXPRESSIONS_MAX || (entry != null && entry[1] == null)) {
                return null;
            }
            List inner = entry == null ? new ArrayList() : (List) entry[1];
            for (int i = 0; i < inner.size(); i++) {
                add(texts, (String) inner.get(i));
            }
            Object constant = expression instanceof Literal ? expression : Reflection.path(expression, "varDef.currentValue");
            if (constant instanceof Literal && ((Literal) constant).value() != null) {
                add(texts, ((Literal) constant).sql());
                add(texts, String.valueOf(((Literal) constant).value()));
            }
            Object[] children = Sequences.array(expression.children());
            for (int i = 0; i < children.length; i++) {
                stack.push(children[i]);
            }
        }
        return texts;
    }

    /** Adds a text with letters or digits: others, such as commas, tell nothing. */
    private static void add(List texts, String text) {
        int character = 0;
        while (character < text.length() && !Character.isLetterOrDigit(text.charAt(character))) {
            character++;
        }
        int position = 0;
        while (position < texts.size() && ((String) texts.get(position)).length() >= text.length()) {
            position++;
        }
        if (character < text.length() && !texts.contains(text)) {
            texts.add(position, text);
        }
    }
}
