import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** Writes expressions as rows: [class, operands, id, name, details], operands first, each object once. */
final class ExpressionRows {
    /** Types of constants that are equal keys of a map if their texts are equal. */
    private static final String EXACT = " bigint boolean date int smallint string tinyint ";

    private final PlanDump plans;
    private final Identifiers identifiers;
    private final ColumnNames names;
    private final boolean literals;
    private final JsonWriter json = new JsonWriter().open('[');
    private final IdentityHashMap rows = new IdentityHashMap();
    private final Map attributes = new HashMap();
    private final Map renamed = new HashMap();
    private final Map constants = new HashMap();
    private int count;

    ExpressionRows(PlanDump plans, Identifiers identifiers, ColumnNames names, boolean literals) {
        this.plans = plans;
        this.identifiers = identifiers;
        this.names = names;
        this.literals = literals;
    }

    int length() {
        return json.length();
    }

    /** Ends the list of rows and returns it. */
    String finish() {
        return json.close(']').toString();
    }

    /** Returns the row of an expression; writes it and its operands first. Needs no deep stack. */
    int of(Expression root) {
        Integer row = find(root);
        return row == null ? add(root) : row.intValue();
    }

    private int add(Expression root) {
        ArrayDeque stack = new ArrayDeque();
        stack.push(root);
        while (!stack.isEmpty()) {
            Expression expression = (Expression) stack.peek();
            if (find(expression) != null) {
                stack.pop();
                continue;
            }
            boolean isReady = true;
            Object[] operands = operands(expression);
            for (int i = operands.length - 1; i >= 0; i--) {
                if (find((Expression) operands[i]) == null) {
                    stack.push(operands[i]);
                    isReady = false;
                }
            }
            if (isReady) {
                stack.pop();
                write(expression, operands);
            }
        }
        return find(root).intValue();
    }

    private Integer find(Expression expression) {
        if (expression instanceof Attribute) {
            Attribute attribute = (Attribute) expression;
            Object[] first = (Object[]) attributes.get(new Long(attribute.exprId().id()));
            if (first == null || first[0].equals(attribute.name())) {
                return first == null ? null : (Integer) first[1];
            }
            return (Integer) renamed.get(attribute.exprId().id() + " " + attribute.name());
        }
        return (Integer) rows.get(expression);
    }

    private void put(Expression expression, Integer row) {
        if (!(expression instanceof Attribute)) {
            rows.put(expression, row);
            return;
        }
        Attribute attribute = (Attribute) expression;
        Long id = new Long(attribute.exprId().id());
        if (attributes.containsKey(id)) {
            renamed.put(attribute.exprId().id() + " " + attribute.name(), row);
        } else {
            attributes.put(id, new Object[] {attribute.name(), row});
        }
    }

    private Object[] operands(Expression expression) {
        String name = Reflection.simpleName(expression);
        if (name.equals("OuterReference")) {
            return new Object[] {Reflection.get(expression, "e")};
        }
        if (name.equals("CreateNamedStruct")) {
            return Sequences.array(Reflection.get(expression, "valExprs"));
        }
        if (expression instanceof Attribute) {
            return new Object[0];
        }
        if (name.equals("With")) {
            return definitionsFirst(Sequences.array(expression.children()));
        }
        return Sequences.array(expression.children());
    }

    /** Moves the first child of WITH, which refers to the others, behind them. */
    private static Object[] definitionsFirst(Object[] children) {
        Object[] operands = new Object[children.length];
        System.arraycopy(children, 1, operands, 0, children.length - 1);
        operands[children.length - 1] = children[0];
        return operands;
    }

    private void write(Expression expression, Object[] operands) {
        // A subquery in the details adds rows, so the number comes after them.
        String details = details(expression);
        Integer row = new Integer(count++);
        put(expression, row);
        String name = name(expression);
        String id = id(expression);
        json.open('[').value(Reflection.simpleName(expression)).open('[');
        for (int i = 0; i < operands.length; i++) {
            json.number(find((Expression) operands[i]).intValue());
        }
        json.close(']');
        if (id != null || name != null || details != null) {
            json.raw(id == null ? "null" : id).value(name);
        }
        if (details != null) {
            json.raw(details);
        }
        json.close(']');
    }

    private String id(Expression expression) {
        if (expression instanceof NamedExpression && !Reflection.simpleName(expression).equals("OuterReference")) {
            try {
                return String.valueOf(identifiers.of(((NamedExpression) expression).exprId()));
            } catch (Exception unresolved) {
                return null;
            }
        }
        String name = Reflection.simpleName(expression);
        if (name.startsWith("CommonExpression")) {
            return String.valueOf(identifiers.of("common", Reflection.path(expression, "id.id")));
        }
        return null;
    }

    private String name(Expression expression) {
        String kind = Reflection.simpleName(expression);
        if (expression instanceof NamedExpression) {
            return kind.equals("OuterReference") ? null : names.of((NamedExpression) expression);
        }
        if (expression instanceof Literal) {
            return literals ? Texts.literal((Literal) expression) : null;
        }
        if (kind.endsWith("Cast")) {
            return Reflection.text(expression.dataType(), "typeName");
        }
        if (kind.equals("GetStructField")) {
            return Reflection.text(expression, "extractFieldName");
        }
        if (kind.equals("GetArrayStructFields")) {
            return Reflection.text(expression, "field.name");
        }
        if (kind.equals("WithField") || kind.equals("DropField") || kind.startsWith("Python")) {
            return Reflection.text(expression, "name");
        }
        if (kind.equals("ScalaUDF") || kind.equals("ScalaUDAF") || kind.equals("ScalaAggregator")) {
            return Reflection.text(expression, kind.equals("ScalaAggregator") ? "name" : "udfName");
        }
        if (kind.equals("StaticInvoke") || kind.equals("Invoke")) {
            return Reflection.text(expression, "functionName");
        }
        if (kind.equals("DeltaMergeAction")) {
            return Texts.join(Reflection.get(expression, "targetColNameParts"), ".");
        }
        String pretty = Reflection.text(expression, "prettyName");
        return kind.equalsIgnoreCase(pretty) || pretty == null || pretty.endsWith("$") ? null : pretty;
    }

    private String details(Expression expression) {
        if (expression instanceof SubqueryExpression) {
            Object plan = Reflection.get(expression, "plan");
            int node = plans.addWithOutput((org.apache.spark.sql.catalyst.plans.logical.LogicalPlan) plan);
            return "{\"plan\":" + node + "}";
        }
        String kind = Reflection.simpleName(expression);
        if (expression instanceof Attribute) {
            Object metadata = Reflection.get(expression, "metadata");
            boolean hidden = String.valueOf(metadata).indexOf("__metadata_col") >= 0;
            return hidden ? "{\"metadata\":true}" : null;
        }
        if (kind.equals("Cast") || kind.equals("AnsiCast")) {
            Expression child = (Expression) Sequences.array(expression.children())[0];
            boolean same = plain(expression.dataType()).equals(plain(child.dataType()));
            return same ? "{\"same\":true}" : null;
        }
        if (kind.equals("CreateNamedStruct")) {
            JsonWriter names = new JsonWriter();
            Sequences.texts(names, Reflection.get(expression, "names"));
            return "{\"names\":" + names + "}";
        }
        if (kind.equals("ArraysZip") || kind.equals("Inline")) {
            Object array = kind.equals("Inline") ? Reflection.path(expression, "child.dataType") : expression.dataType();
            Object struct = ((ArrayType) array).elementType();
            JsonWriter fields = new JsonWriter();
            Sequences.texts(fields, java.util.Arrays.asList(((StructType) struct).fieldNames()));
            return "{\"names\":" + fields + "}";
        }
        if (kind.equals("CreateMap")) {
            return keys(Sequences.array(expression.children()));
        }
        if (kind.equals("GetMapValue") || kind.equals("ElementAt")) {
            Object[] children = Sequences.array(expression.children());
            boolean isMap = ((Expression) children[0]).dataType() instanceof MapType;
            return isMap ? "{\"key\":" + constant((Expression) children[1]) + "}" : null;
        }
        if (expression instanceof Literal && ((Literal) expression).value() == null) {
            return "{\"null\":true}";
        }
        Object outputs = Reflection.get(expression, "outputs");
        if (outputs instanceof scala.collection.Seq && kind.indexOf("Subquery") < 0) {
            JsonWriter lists = new JsonWriter();
            return Sequences.rows(lists, outputs, this) ? "{\"outputs\":" + lists + "}" : null;
        }
        return null;
    }

    /** Numbers of the keys of a map that is built; null unless all of them are constants. */
    private String keys(Object[] children) {
        JsonWriter numbers = new JsonWriter().open('[');
        for (int i = 0; i < children.length; i += 2) {
            Integer number = constant((Expression) children[i]);
            if (number == null) {
                return null;
            }
            numbers.number(number.intValue());
        }
        return "{\"keys\":" + numbers.close(']') + "}";
    }

    /** A number for a constant, the same for equal ones; null for any other expression. */
    private Integer constant(Expression expression) {
        String type = expression.dataType().simpleString();
        if (!(expression instanceof Literal) || EXACT.indexOf(" " + type + " ") < 0) {
            return null;
        }
        Object value = ((Literal) expression).value();
        String text = type + " " + value;
        if (value != null && !constants.containsKey(text)) {
            constants.put(text, new Integer(constants.size()));
        }
        return value == null ? null : (Integer) constants.get(text);
    }

    private static Object plain(DataType type) {
        Object nullable = Reflection.get(type, "asNullable");
        return nullable == null ? type : nullable;
    }
}
