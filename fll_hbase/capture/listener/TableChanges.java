import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Writes what a command does to its table: whether it replaces the content, and how it changes the columns. */
final class TableChanges {
    private static final String CREATES = 
        " CreateTable ReplaceTable CreateTableCommand CreateDataSourceTableCommand CreateDeltaTableCommand ";
    private static final String ALTERS =
        " AddColumns ReplaceColumns DropColumns RenameColumn AlterColumn AlterColumns ";

    private TableChanges() {}

    static void write(JsonWriter members, LogicalPlan plan) {
        Object mode = Reflection.get(plan, "mode");
        if (mode instanceof SaveMode) {
            members.member("mode", mode.toString());
        }
        if (Boolean.TRUE.equals(Reflection.get(plan, "overwrite"))) {
            members.key("overwrite").flag(true);
        }
        String kind = " " + Reflection.simpleName(plan) + " ";
        if (CREATES.indexOf(kind) >= 0) {
            StructType schema = schema(plan);
            if (schema != null) {
                Types.schema(members, schema);
            }
        } else if (ALTERS.indexOf(kind) >= 0) {
            changes(members, Sequences.array(Reflection.get(plan, "changes")));
        }
    }

    /** Tells whether a table is created whose columns only its catalog knows: it may have existed before. */
    static boolean isUnknown(LogicalPlan plan) {
        return CREATES.indexOf(" " + Reflection.simpleName(plan) + " ") >= 0 && schema(plan) == null;
    }

    private static StructType schema(LogicalPlan plan) {
        Object schema = Reflection.get(plan, "tableSchema");
        if (schema == null) {
            schema = Reflection.path(plan, "table.schema");
        }
        boolean isKnown = schema instanceof StructType && ((StructType) schema).fields().length > 0;
        return isKnown && !Boolean.TRUE.equals(Reflection.get(plan, "ignoreIfExists")) ? (StructType) schema : null;
    }

    /** Writes each change of a column as its class, the path of the column, and its new name or type. */
    private static void changes(JsonWriter members, Object[] changes) {
        members.key("changes").open('[');
        for (int i = 0; i < changes.length; i++) {
            Object path = Reflection.get(changes[i], "fieldNames");
            if (!(path instanceof String[])) {
                continue;
            }
            members.open('[').value(Reflection.simpleName(changes[i])).open('[');
            for (int j = 0; j < ((String[]) path).length; j++) {
                members.value(((String[]) path)[j]);
            }
            members.close(']').value(changed(changes[i])).close(']');
        }
        members.close(']');
    }

    private static String changed(Object change) {
        String[] types = {"dataType", "newDataType"};
        for (int i = 0; i < types.length; i++) {
            Object type = Reflection.get(change, types[i]);
            if (type instanceof DataType) {
                return Types.text((DataType) type);
            }
        }
        return Reflection.text(change, "newName");
    }
}
