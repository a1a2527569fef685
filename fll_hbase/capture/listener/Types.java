import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Writes the types of columns as text, such as struct<id:long>, without comments and defaults. */
final class Types {
    /** A longer type is named only: struct, array or map. */
    private static final int CHARACTERS_MAX = 500;

    private Types() {}

    /** Writes the types of a list of columns; -n stands for n more columns of the type before it. */
    static void columns(JsonWriter json, Object attributes) {
        Object[] items = Sequences.array(attributes);
        json.open('[');
        int i = 0;
        while (i < items.length) {
            DataType type = ((Attribute) items[i]).dataType();
            int first = i++;
            while (i < items.length && type.equals(((Attribute) items[i]).dataType())) {
                i++;
            }
            json.value(text(type));
            if (i - first > 1) {
                json.number(first + 1 - i);
            }
        }
        json.close(']');
    }

    /** Writes the members "fields" and "types" of an object: the columns of a schema. */
    static void schema(JsonWriter json, StructType schema) {
        StructField[] fields = schema.fields();
        json.key("fields").open('[');
        for (int i = 0; i < fields.length; i++) {
            json.value(fields[i].name());
        }
        json.close(']').key("types").open('[');
        for (int i = 0; i < fields.length; i++) {
            json.value(text(fields[i].dataType()));
        }
        json.close(']');
    }

    static String text(DataType type) {
        StringBuilder text = new StringBuilder();
        append(text, type);
        return text.length() > CHARACTERS_MAX ? type.typeName() : text.toString();
    }

    private static void append(StringBuilder text, DataType type) {
        text.append(type.typeName());
        if (text.length() > CHARACTERS_MAX) {
            return;
        }
        if (type instanceof StructType) {
            StructField[] fields = ((StructType) type).fields();
            for (int i = 0; i < fields.length && text.length() <= CHARACTERS_MAX; i++) {
                append(text.append(i == 0 ? '<' : ',').append(fields[i].name()).append(':'), fields[i].dataType());
            }
            text.append(fields.length == 0 ? "<>" : ">");
        } else if (type instanceof ArrayType) {
            append(text.append('<'), ((ArrayType) type).elementType());
            text.append('>');
        } else if (type instanceof MapType) {
            append(text.append('<'), ((MapType) type).keyType());
            append(text.append(','), ((MapType) type).valueType());
            text.append('>');
        }
    }
}
