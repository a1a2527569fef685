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
            return microBatch(row, plan);
        }
        if (kind.equals("WriteToDataSourceV2")) {
            return batchWrite(row, Reflection.get(plan, "batchWrite"));
        }
        if (kind.equals("SaveIntoDataSourceCommand")) {
            String provider = Reflection.simpleName(Reflection.get(plan, "dataSource"));
            row.member("provider", provider);
            if (provider.indexOf("Kafka") >= 0) {
                return kafka(row, plan, Reflection.get(plan, "options"));
            }
            return Options.write(row, Reflection.get(plan, "options"), provider);
        }
        boolean isTable = false;
        String[] tables = {"catalogTable", "table", "tableDesc"};
        for (int i = 0; i < tables.length && !isTable; i++) {
            Object table = Reflection.get(plan, tables[i]);
            if (table != null && Reflection.get(table, "storage") != null) {
                isTable = relations.catalogTable(row, table);
                if (TableChanges.isUnknown(plan)) {
                    relations.columns(row, Reflection.get(table, "identifier"));
                }
            }
        }
        String[] paths = {"outputPath", "storage.locationUri", "target.path", "tableSpec.location"};
        for (int i = 0; i < paths.length; i++) {
            if (Reflection.path(plan, paths[i]) != null) {
                identifier(row, plan);
                return Relations.file(row, Reflection.text(plan, paths[i])) || isTable;
            }
        }
        return isTable || command(row, plan);
    }

    private boolean command(JsonWriter row, LogicalPlan plan) {
        String[] names = {"tableName", "oldName", "tableIdentifier", "targetTable", "sourceTable", "table"};
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
        return false;
    }

    /** Writes the name of a table that a command of the second interface creates. */
    private static void identifier(JsonWriter row, LogicalPlan plan) {
        Object identifier = Reflection.path(plan, "name.identifier");
        if (identifier != null) {
            row.member("identifier", String.valueOf(identifier));
            row.member("catalog", Reflection.text(plan, "name.catalog.name"));
        }
    }

    private void named(JsonWriter row, Object identifier) {
        row.member("kind", "name");
        relations.name(row, identifier);
    }

    /** Describes where a batch of a stream goes: a table of either interface, or a sink. */
    private boolean microBatch(JsonWriter row, LogicalPlan plan) {
        Object options = Reflection.get(plan, "writeOptions");
        // Before Spark 4.3 the relation is absent unless the table has a name; since then the table is the relation.
        Object relation = Reflection.get(plan, "relation");
        Object table = relation == null ? Reflection.get(plan, "table") : Reflection.get(relation, "table");
        if (table != null && Reflection.simpleName(table).startsWith("Kafka")) {
            return kafka(row, plan, options);
        }
        if (relation != null) {
            return relations.table(row, relation);
        }
        if (relations.catalogTable(row, Reflection.get(plan, "catalogTable"))) {
            return true;
        }
        return sink(row, Reflection.get(plan, "sink"), table, options);
    }

    private static boolean sink(JsonWriter row, Object sink, Object table, Object options) {
        Object path = Reflection.field(sink, "path");
        if (path == null) {
            path = Reflection.get(sink, "path");
        }
        if (path == null) {
            path = Reflection.option(options, "path");
        }
        if (path != null) {
            return Relations.file(row, path.toString());
        }
        Object target = sink == null ? table : sink;
        row.member("kind", "sink").member("class", target == null ? "" : Reflection.simpleName(target));
        return true;
    }

    /** Describes the topic of the options, or that of the rows where it is constant. */
    private static boolean kafka(JsonWriter row, LogicalPlan plan, Object options) {
        String topic = Reflection.option(options, "topic");
        if (topic == null) {
            topic = KafkaTopics.of((LogicalPlan) Reflection.get(plan, "query"));
        }
        return Options.kafka(row, options, topic);
    }

    private static boolean batchWrite(JsonWriter row, Object write) {
        Object stream = Reflection.get(write, "writeSupport");
        if (stream == null) {
            stream = Reflection.field(write, "writeSupport");
        }
        String kind = stream == null ? "" : Reflection.simpleName(stream);
        if (kind.startsWith("Kafka")) {
            Object topic = Reflection.field(stream, "topic");
            Object parameters = Reflection.field(stream, "producerParams");
            row.member("kind", "kafka").member("topic", topic == null ? null : topic.toString());
            row.member("servers", Reflection.option(parameters, "bootstrap.servers"));
            return true;
        }
        row.member("kind", "sink").member("class", kind.length() == 0 ? Reflection.simpleName(write) : kind);
        return true;
    }
}
