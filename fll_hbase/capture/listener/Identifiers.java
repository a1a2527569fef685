import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.ExprId;

/** Numbers ids in order of appearance, so that the same query gives the same bytes. */
final class Identifiers {
    private final Map numbers = new HashMap();

    int of(ExprId id) {
        return number(new Long(id.id()));
    }

    /** Numbers ids of another kind, such as those of common table expressions. */
    int of(String kind, Object id) {
        return number(kind + id);
    }

    private int number(Object key) {
        Integer number = (Integer) numbers.get(key);
        if (number == null) {
            number = new Integer(numbers.size());
            numbers.put(key, number);
        }
        return number.intValue();
    }
}
