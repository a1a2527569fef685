import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Writes a plan as rows: [class, children, members], children before parents, each object once. */
final class PlanDump {
    private static final int CHARACTERS_MAX = 64 * 1024 * 1024;
    /** Nodes whose columns by position the reader derives from their members or from their child. */
    private static final String DERIVED =
        " Project Aggregate Filter Join Sort SubqueryAlias View GlobalLimit LocalLimit Limit Offset Tail"
            + " Repartition RepartitionByExpression RebalancePartitions Sample ResolvedHint Distinct Deduplicate"
            + " Window Generate WithCTE CollectMetrics EventTimeWatermark DeduplicateWithinWatermark"
            + " SubqueryAlias UnresolvedHint ";
    /** Nodes that match the columns of their children by position. */
    private static final String POSITIONAL =
        " Union Intersect Except CTERelationDef UnionLoop WithCTE ";

    /** Parameters of commands that hold what they write. */
    private static final String QUERIES = " query data plan ";

    /** Leaves whose columns are stored. */
    private static final Pattern STORED =
        Pattern.compile("LogicalRelation|HiveTableRelation|(Streaming)?DataSourceV2.*|StreamingRelationV2|OffsetHolder");

    private final Identifiers identifiers = new Identifiers();
    private final ColumnNames names;
    private final ExpressionRows expressions;
    private final DatasetRows datasets;
    private final JsonWriter json = new JsonWriter().open('[');
    private final IdentityHashMap nodes = new IdentityHashMap();
    private final Set positional = Collections.newSetFromMap(new IdentityHashMap());
    private int count;

    PlanDump(Relations relations, boolean literals, boolean isGiven) {
        this.datasets = new DatasetRows(relations, isGiven);
        this.names = new ColumnNames(literals);
        this.expressions = new ExpressionRows(this, identifiers, names, literals);
    }

    /** Adds the plan of an execution; that of a checkpoint is a query whose columns later plans refer to. */
    void addRoot(LogicalPlan plan, boolean isCheckpoint) {
        if (isCheckpoint) {
            datasets.addColumns("checkpoint", plan.output());
        } else if (Reflection.simpleName(plan).startsWith("WriteToMicroBatch")) {
            LogicalPlan query = (LogicalPlan) Reflection.get(plan, "query");
            datasets.addColumns("batch", query.output());
        }
        addWithOutput(plan);
    }

    String plan() {
        return "{\"expressions\":" + expressions.finish() + ",\"nodes\":" + json.close(']') + "}";
    }

    String datasets() {
        return datasets.finish();
    }

    /** Adds a plan whose columns are needed by position; returns the number of its node. */
    int addWithOutput(LogicalPlan plan) {
        positional.add(plan);
        return add(plan);
    }

    /** Adds a plan, its children first; returns the number of its node. Needs no deep stack. */
    private int add(LogicalPlan root) {
        ArrayDeque stack = new ArrayDeque();
        stack.push(root);
        while (!stack.isEmpty()) {
            LogicalPlan plan = (LogicalPlan) stack.peek();
            if (nodes.containsKey(plan)) {
                stack.pop();
                continue;
            }
            boolean isReady = true;
            Object[] children = Members.plans(plan);
            keepNames(plan, children);
            boolean ordered = POSITIONAL.indexOf(" " + Reflection.simpleName(plan) + " ") >= 0
                || Members.isCommand(plan);
            for (int i = children.length - 1; i >= 0; i--) {
                if (ordered) {
                    positional.add(children[i]);
                }
                if (!nodes.containsKey(children[i])) {
                    stack.push(children[i]);
                    isReady = false;
                }
            }
            if (isReady) {
                stack.pop();
                write(plan, children);
            }
        }
        return ((Integer) nodes.get(root)).intValue();
    }

    /** Keeps the names of columns that a leaf reads or a command writes, before any row has them. */
    private void keepNames(LogicalPlan plan, Object[] children) {
        if (STORED.matcher(Reflection.simpleName(plan)).matches()) {
            names.keep(plan.output());
        }
        Object[] direct = Sequences.array(plan.children());
        for (int i = 0; i < children.length && Members.isCommand(plan); i++) {
            String name = Members.nameOf(plan, children[i], direct);
            if (name != null && QUERIES.indexOf(" " + name + " ") >= 0) {
                names.keep(((LogicalPlan) children[i]).output());
            }
        }
    }

    private void write(LogicalPlan plan, Object[] children) {
        if (json.length() + expressions.length() > CHARACTERS_MAX) {
            throw new IllegalStateException("the plan is too large");
        }
        String kind = Reflection.simpleName(plan);
        JsonWriter members = new JsonWriter().open('{');
        boolean hasOutput = Members.write(members, plan, expressions, identifiers);
        boolean isDerived = DERIVED.indexOf(" " + kind + " ") >= 0;
        if (!hasOutput && !Members.isCommand(plan) && (!isDerived || positional.contains(plan))) {
            members.key("output");
            if (!Sequences.rows(members, plan.output(), expressions)) {
                members.open('[').close(']');
            }
        }
        int dataset = datasets.of(plan);
        if (dataset >= 0) {
            members.key("dataset").number(dataset);
            if (!kind.equals("LogicalRDD")) {
                Types.columns(members.key("types"), plan.output());
            }
        }
        if (Members.isCommand(plan)) {
            TableChanges.write(members, plan);
        }
        int target = datasets.target(plan);
        if (target >= 0) {
            members.key("target").number(target);
        }
        Object[] direct = Sequences.array(plan.children());
        for (int i = 0; i < children.length; i++) {
            String name = Members.nameOf(plan, children[i], direct);
            if (name != null) {
                // The dataset of a command is its "target" already.
                members.key(name.equals("target") ? "targetPlan" : name).open('{').key("node").number(number(children[i])).close('}');
                if (QUERIES.indexOf(" " + name + " ") >= 0) {
                    Types.columns(members.key("types"), ((LogicalPlan) children[i]).output());
                }
            }
        }
        json.open('[').value(kind).open('[');
        for (int i = 0; i < direct.length; i++) {
            json.number(number(direct[i]));
        }
        json.close(']').raw(members.close('}').toString()).close(']');
        nodes.put(plan, new Integer(count));
        count++;
    }

    private int number(Object plan) {
        return ((Integer) nodes.get(plan)).intValue();
    }
}
