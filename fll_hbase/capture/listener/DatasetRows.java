import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Lists the datasets of a plan: those that its leaves read and those that its commands change. */
final class DatasetRows {
    private final JsonWriter json = new JsonWriter().open('[');
    private final Relations relations;
    private int count;

    DatasetRows(Relations relations) {
        this.relations = relations;
    }

    String finish() {
        return json.close(']').toString();
    }

    /** Adds the dataset that a leaf reads; returns its number, or -1 where there is none. */
    int of(LogicalPlan plan) {
        String kind = Reflection.simpleName(plan);
        JsonWriter row = new JsonWriter().open('{');
        boolean isDataset = false;
        if (kind.equals("LogicalRDD")) {
            return addColumns("rdd", plan.output(), Reflection.path(plan, "rdd.id"));
        }
        if (kind.equals("LogicalRelation")) {
            boolean isStream = Boolean.TRUE.equals(Reflection.get(plan, "isStreaming"));
            isDataset = Relations.relation(row, Reflection.get(plan, "relation"), isStream);
            isDataset = relations.catalogTable(row, Reflection.get(plan, "catalogTable")) || isDataset;
        } else if (kind.equals("HiveTableRelation")) {
            isDataset = relations.catalogTable(row, Reflection.get(plan, "tableMeta"));
        } else if (kind.startsWith("DataSourceV2") || kind.startsWith("StreamingDataSourceV2")) {
            Object relation = Reflection.get(plan, "relation");
            isDataset = relations.table(row, relation == null ? plan : relation);
        } else if (kind.equals("OffsetHolder") || kind.equals("StreamingRelationV2")) {
            isDataset = relations.table(row, plan);
        } else if (kind.equals("ResolvedTable") || kind.equals("ResolvedIdentifier")) {
            isDataset = relations.table(row, plan);
        }
        return isDataset ? add(row) : -1;
    }

    /** Adds the dataset that a command changes; returns its number, or -1 where another node has it. */
    int target(LogicalPlan plan) {
        if (!Members.isCommand(plan)) {
            return -1;
        }
        JsonWriter row = new JsonWriter().open('{');
        return new Targets(relations).write(row, plan) ? add(row) : -1;
    }

    /** Adds columns that are known by their ids within the application only, of an RDD or of one to be. */
    int addColumns(String kind, Object attributes, Object rdd) {
        JsonWriter row = new JsonWriter().open('{').member("kind", kind).key("ids").open('[');
        Object[] items = Sequences.array(attributes);
        for (int i = 0; i < items.length; i++) {
            row.number(((Attribute) items[i]).exprId().id());
        }
        row.close(']');
        if (rdd instanceof Integer) {
            row.key("rdd").number(((Integer) rdd).longValue());
        }
        return add(row);
    }

    private int add(JsonWriter row) {
        json.raw(row.close('}').toString());
        return count++;
    }
}
