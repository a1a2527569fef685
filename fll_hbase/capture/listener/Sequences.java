import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** Writes Scala's collections of expressions and of texts. */
final class Sequences {
    private Sequences() {}

    static Object[] array(Object sequence) {
        List items = new ArrayList();
        if (sequence instanceof scala.collection.Iterable) {
            scala.collection.Iterator iterator = ((scala.collection.Iterable) sequence).iterator();
            while (iterator.hasNext()) {
                items.add(iterator.next());
            }
        } else if (sequence instanceof java.util.Collection) {
            items.addAll((java.util.Collection) sequence);
        }
        return items.toArray();
    }

    static void texts(JsonWriter json, Object sequence) {
        Object[] items = array(sequence);
        json.open('[');
        for (int i = 0; i < items.length; i++) {
            json.value(String.valueOf(items[i]));
        }
        json.close(']');
    }

    /**
     * Writes an expression as the number of its row, sequences as lists of them; false for anything else.
     * In a list, -n stands for the n rows that follow the one before it.
     */
    static boolean rows(JsonWriter json, Object value, ExpressionRows rows) {
        Object content = Reflection.open(value);
        if (!holdsExpressions(content)) {
            return false;
        }
        write(json, content, rows);
        return true;
    }

    private static boolean holdsExpressions(Object value) {
        if (value instanceof Expression) {
            return true;
        }
        Object[] items = array(value);
        for (int i = 0; i < items.length; i++) {
            if (items[i] instanceof scala.collection.Iterable && array(items[i]).length == 0) {
                continue;
            }
            return holdsExpressions(items[i]);
        }
        return false;
    }

    private static void write(JsonWriter json, Object value, ExpressionRows rows) {
        if (value instanceof Expression) {
            json.number(rows.of((Expression) value));
            return;
        }
        Object[] items = array(value);
        json.open('[');
        int i = 0;
        while (i < items.length) {
            if (!(items[i] instanceof Expression)) {
                write(json, items[i++], rows);
                continue;
            }
            int first = rows.of((Expression) items[i++]);
            int run = 0;
            while (i < items.length && items[i] instanceof Expression
                && rows.of((Expression) items[i]) == first + run + 1) {
                run++;
                i++;
            }
            json.number(first);
            if (run > 0) {
                json.number(-run);
            }
        }
        json.close(']');
    }
}
