import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;

/** Decides which executions write a line. */
final class Writes {
    private static final String[] IGNORED = {
        "Show", "Describe", "Set", "Reset", "Explain", "AddArchive", "AddFile", "AddJar", "List", "Analyze", "Refresh", "Cache", "Uncache",
        "Clear", "Repair", "Use", "CreateView", "CreateFunction", "DropFunction", "CreateNamespace",
        "CreateDatabase", "DropNamespace", "DropDatabase", "CreateTempView", "DropTempView", "CreateUserDefined",
        "DropVariable", "CreateVariable", "Declare", "Comment", "Load", "AlterView"
    };

    private Writes() {}

    static boolean isCheckpoint(String action) {
        return "checkpoint".equals(action) || "localCheckpoint".equals(action);
    }

    static boolean isWrite(QueryExecution query, String action) {
        try {
            return isCheckpoint(action) || isWrite(query.analyzed());
        } catch (Exception unresolved) {
            // What Spark cannot analyse writes nothing.
            return false;
        }
    }

    /** Returns whether Spark could analyse a query that failed: asking for the plan again changes its exception. */
    static boolean isAnalyzed(QueryExecution query) {
        Object phases = Reflection.path(query, "tracker.phases");
        return !(phases instanceof scala.collection.Map) || ((scala.collection.Map) phases).contains("analysis");
    }

    private static boolean isWrite(LogicalPlan plan) {
        String name = Reflection.simpleName(plan);
        if (name.equals("Union") || name.equals("CommandResult") || name.equals("WithCTE")) {
            LogicalPlan last = null;
            scala.collection.Iterator children = plan.children().iterator();
            while (children.hasNext()) {
                last = (LogicalPlan) children.next();
            }
            return last != null && isWrite(last);
        }
        if (name.startsWith("WriteToMicroBatch") || name.equals("WriteToDataSourceV2")) {
            return true;
        }
        boolean isCommand = plan instanceof org.apache.spark.sql.catalyst.plans.logical.Command
            || plan instanceof org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
        if (!isCommand) {
            return false;
        }
        for (int i = 0; i < IGNORED.length; i++) {
            if (name.startsWith(IGNORED[i])) {
                return false;
            }
        }
        return true;
    }
}
