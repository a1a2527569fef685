import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Writes what a plan node holds: expressions, plans and the few scalars that lineage needs. */
final class Members {
    private Members() {}

    static boolean isCommand(LogicalPlan plan) {
        String name = Reflection.simpleName(plan);
        return plan instanceof org.apache.spark.sql.catalyst.plans.logical.Command
            || plan instanceof org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand
            || name.startsWith("WriteToMicroBatch") || name.equals("WriteToDataSourceV2");
    }

    /** Children of a plan and, of a command, the plans among its parameters. */
    static Object[] plans(LogicalPlan plan) {
        List plans = new ArrayList();
        Object[] children = Sequences.array(plan.children());
        for (int i = 0; i < children.length; i++) {
            plans.add(children[i]);
        }
        if (isCommand(plan)) {
            for (int i = 0; i < plan.productArity(); i++) {
                Object value = element(plan, i);
                if (value instanceof LogicalPlan && !contains(children, value)) {
                    plans.add(value);
                }
            }
        }
        return plans.toArray();
    }

    /** Name of the parameter that holds a plan which is not a child; null for a child. */
    static String nameOf(LogicalPlan plan, Object child, Object[] children) {
        String[] names = Reflection.parameters(plan);
        for (int i = 0; isCommand(plan) && i < plan.productArity(); i++) {
            if (element(plan, i) == child) {
                return names[i];
            }
        }
        return null;
    }

    /** Writes the members of a node; returns whether its output is among them. */
    static boolean write(JsonWriter json, LogicalPlan plan, ExpressionRows rows, Identifiers identifiers) {
        String[] names = Reflection.parameters(plan);
        boolean hasOutput = false;
        String kind = Reflection.simpleName(plan);
        for (int i = 0; i < plan.productArity(); i++) {
            Object value = element(plan, i);
            JsonWriter member = new JsonWriter();
            if (value == null || value instanceof LogicalPlan) {
                continue;
            }
            if (Sequences.rows(member, value, rows)) {
                json.key(names[i]).raw(member.toString());
                hasOutput = hasOutput || names[i].equals("output");
            } else if (names[i].equals("global") && Boolean.FALSE.equals(value)) {
                json.key("local").flag(true);
            } else if (names[i].equals("isByName") && Boolean.TRUE.equals(value)) {
                json.key("byName").flag(true);
            } else if (names[i].equals("isAll") && Boolean.TRUE.equals(value)) {
                json.key("all").flag(true);
            } else if (names[i].equals("joinType")) {
                json.member(names[i], Reflection.simpleName(value));
            } else if (value instanceof Long && (kind.startsWith("CTE") || kind.startsWith("UnionLoop"))) {
                json.key(names[i]).number(identifiers.of(kind.substring(0, 3), value));
            } else if (names[i].equals("outputColumnNames")) {
                Sequences.texts(json.key(names[i]), value);
            } else if (names[i].equals("partition") && value instanceof scala.collection.Map) {
                fixed(json, (scala.collection.Map) value);
            }
        }
        return hasOutput;
    }

    /** Writes the partition columns for which a command has a constant, which its query has not. */
    private static void fixed(JsonWriter json, scala.collection.Map partition) {
        json.key("fixed").open('[');
        scala.collection.Iterator entries = partition.iterator();
        while (entries.hasNext()) {
            scala.Tuple2 entry = (scala.Tuple2) entries.next();
            if (Reflection.open(entry._2()) != null) {
                json.value(String.valueOf(entry._1()));
            }
        }
        json.close(']');
    }

    private static Object element(LogicalPlan plan, int index) {
        return Reflection.open(plan.productElement(index));
    }

    private static boolean contains(Object[] items, Object value) {
        for (int i = 0; i < items.length; i++) {
            if (items[i] == value) {
                return true;
            }
        }
        return false;
    }
}
