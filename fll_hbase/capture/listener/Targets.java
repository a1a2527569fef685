import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Describes the dataset that a command changes. */
final class Targets {
    private final Relations relations;

    Targets(Relations relations) {
        this.relations = relations;
    }

    /** Writes the dataset; false where a relation among the command's plans describes it. */
    boolean write(JsonWriter row, LogicalPlan plan) {
        String kind = Reflection.simpleName(plan);
        if (kind.startsWith("WriteToMicroBatch")) {
            return sink(row, Reflection.get(plan, "sink"), Reflection.get(plan, "writeOptions"));
        }
        if (kind.equals("WriteToDataSourceV2")) {
            return batchWrite(row, Reflection.get(plan, "batchWrite"));
        }
        if (kind.equals("SaveIntoDataSourceCommand")) {
            Object provider = Reflection.get(plan, "dataSource");
            row.member("provider", Reflection.simpleName(provider));
            return Options.write(row, Reflection.get(plan, "options"), Reflection.simpleName(provider));
        }
        boolean isTable = false;
        String[] tables = {"catalogTable", "table", "tableDesc"};
        for (int i = 0; i < tables.length && !isTable; i++) {
            Object table = Reflection.get(plan, tables[i]);
            if (table != null && Reflection.get(table, "storage") != null) {
                isTable = relations.catalogTable(row, table);
            }
        }
        String[] paths = {"outputPath", "storage.locationUri", "target.path"};
        for (int i = 0; i < paths.length; i++) {
            if (Reflection.path(plan, paths[i]) != null) {
                return Relations.file(row, Reflection.text(plan, paths[i])) || isTable;
            }
        }
        return isTable || command(row, plan);
    }

    private boolean command(JsonWriter row, LogicalPlan plan) {
        String[] names = {"tableName", "oldName", "tableIdentifier", "targetTable", "sourceTable"};
        for (int i = 0; i < names.length; i++) {
            Object identifier = Reflection.get(plan, names[i]);
            if (identifier != null && Reflection.get(identifier, "unquotedString") != null) {
                named(row, identifier);
                Object renamed = Reflection.get(plan, "newName");
                if (renamed != null) {
                    row.key("renamed").open('{');
                    named(row, renamed);
                    row.close('}');
                }
                return !Boolean.TRUE.equals(Reflection.get(plan, "isView"));
            }
        }
        Object renamed = Reflection.get(plan, "newName");
        if (renamed instanceof scala.collection.Seq) {
            Object[] parts = Sequences.array(renamed);
            String database = parts.length == 2 ? String.valueOf(parts[0]) : null;
            named(row, new TableIdentifier(String.valueOf(parts[parts.length - 1]), scala.Option.apply(database)));
            return true;
        }
        Object identifier = Reflection.get(plan, "tableName");
        if (identifier != null && Reflection.get(plan, "catalog") != null) {
            row.member("identifier", String.valueOf(identifier));
            row.member("catalog", Reflection.text(plan, "catalog.name"));
            return true;
        }
        return false;
    }

    private void named(JsonWriter row, Object identifier) {
        row.member("kind", "name");
        relations.name(row, identifier);
    }

    private static boolean sink(JsonWriter row, Object sink, Object options) {
        String kind = sink == null ? "" : Reflection.simpleName(sink);
        if (kind.equals("FileStreamSink")) {
            return Relations.file(row, Reflection.text(sink, "org$apache$spark$sql$execution$streaming$FileStreamSink$$path"))
                || Relations.file(row, fieldText(sink, "path"));
        }
        row.member("kind", "sink").member("class", kind);
        String path = Reflection.option(options, "path");
        if (path != null) {
            row.member("path", Texts.path(path));
        }
        return true;
    }

    private static boolean batchWrite(JsonWriter row, Object write) {
        Object stream = Reflection.get(write, "writeSupport");
        if (stream == null) {
            stream = fieldValue(write, "writeSupport");
        }
        String kind = stream == null ? "" : Reflection.simpleName(stream);
        if (kind.startsWith("Kafka")) {
            Object topic = Reflection.open(fieldValue(stream, "topic"));
            Object parameters = fieldValue(stream, "producerParams");
            row.member("kind", "kafka").member("topic", topic == null ? null : topic.toString());
            row.member("servers", Reflection.option(parameters, "bootstrap.servers"));
            return true;
        }
        row.member("kind", "sink").member("class", kind.length() == 0 ? Reflection.simpleName(write) : kind);
        return true;
    }

    private static String fieldText(Object target, String name) {
        Object value = fieldValue(target, name);
        return value == null ? null : value.toString();
    }

    private static Object fieldValue(Object target, String name) {
        if (target == null) {
            return null;
        }
        try {
            java.lang.reflect.Field field = target.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(target);
        } catch (Exception error) {
            return null;
        }
    }
}
