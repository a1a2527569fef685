import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Lists the datasets of a plan: those that its leaves read and those that its commands change. */
final class DatasetRows {
    /** Leaves without a source, or with that of another node. */
    private static final String GENERATING = " Range OneRowRelation CommandResult CTERelationRef UnionLoopRef ";

    private final JsonWriter json = new JsonWriter().open('[');
    private final Relations relations;
    private final boolean isGiven;
    private int count;

    DatasetRows(Relations relations, boolean isGiven) {
        this.relations = relations;
        this.isGiven = isGiven;
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
            return addRdd(plan.output(), Reflection.get(plan, "rdd"));
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
        } else if (isUnknown(plan, kind)) {
            row.member("kind", "unknown").member("class", kind);
            isDataset = true;
        }
        return isDataset ? add(row) : -1;
    }

    /** Tells whether the plan does not have where the rows of a leaf come from. */
    private boolean isUnknown(LogicalPlan plan, String kind) {
        if (Members.isCommand(plan) || kind.startsWith("Resolved") || GENERATING.indexOf(" " + kind + " ") >= 0) {
            return false;
        }
        // Constants of a statement have a place in its text.
        boolean isText = kind.equals("LocalRelation") && (!isGiven || Reflection.path(plan, "origin.sqlText") != null);
        // A batch of a stream without new rows has an empty relation.
        return plan.children().isEmpty() && !plan.output().isEmpty() && !isText && !plan.isStreaming();
    }

    /** Adds the dataset that a command changes; returns its number, or -1 where another node has it. */
    int target(LogicalPlan plan) {
        if (!Members.isCommand(plan)) {
            return -1;
        }
        JsonWriter row = new JsonWriter().open('{');
        return new Targets(relations).write(row, plan) ? add(row) : -1;
    }

    /** Adds columns that are known by their ids within the application only, of an RDD to be. */
    int addColumns(String kind, Object attributes) {
        return add(columns(kind, attributes));
    }

    /** Adds the columns of an RDD, and whether the program brought its rows before it had any of Spark. */
    private int addRdd(Object attributes, Object rdd) {
        JsonWriter row = columns("rdd", attributes);
        Object number = Reflection.get(rdd, "id");
        if (number instanceof Integer) {
            row.key("rdd").number(((Integer) number).longValue());
        }
        if (!isGiven && ProgramRows.isBrought(rdd)) {
            row.key("brought").flag(true);
        }
        return add(row);
    }

    private static JsonWriter columns(String kind, Object attributes) {
        JsonWriter row = new JsonWriter().open('{').member("kind", kind).key("ids").open('[');
        Object[] items = Sequences.array(attributes);
        for (int i = 0; i < items.length; i++) {
            row.number(((Attribute) items[i]).exprId().id());
        }
        return row.close(']');
    }

    private int add(JsonWriter row) {
        json.raw(row.close('}').toString());
        return count++;
    }
}
