import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/** One SQL execution between its start and its end. */
final class Execution {
    private final long id;
    private final long start;
    private long end;
    private String error;
    long root;
    String action;
    /** Whether an execution below this root wrote a line, which waits for the line of the root. */
    boolean awaited;
    /** Whether it, or an execution below it, had a job that may have written. */
    boolean worked;
    /** Whether an execution below it wrote files of Delta. */
    boolean wroteDelta;

    Execution(long id, long start) {
        this.id = id;
        this.root = id;
        this.start = start;
    }

    long started() {
        return start;
    }

    boolean failed() {
        return error != null;
    }

    void finish(SparkListenerSQLExecutionEnd event) {
        end = event.time();
        action = Reflection.text(event, "executionName");
        Object failure = Reflection.get(event, "executionFailure");
        String message = Reflection.text(event, "errorMessage");
        // The message itself may quote data.
        if (failure != null) {
            error = failure.getClass().getName();
        } else if (message != null && message.length() > 0) {
            error = "error";
        }
    }

    /**
     * Returns the line; the plan is null for an execution that only ends a group. Once the program was given
     * rows, what it brings may be made of them.
     */
    String line(QueryExecution query, String metastore, boolean literals, boolean isGiven) {
        JsonWriter json = new JsonWriter().open('{').key("execution").open('{');
        json.key("id").number(id).key("root").number(root).key("start").number(start).key("end").number(end);
        json.member("action", action).member("error", error).close('}');
        if (query != null) {
            try {
                Relations relations = new Relations(query.sparkSession().sessionState().catalog(), metastore);
                PlanDump dump = new PlanDump(relations, literals, isGiven);
                dump.addRoot(query.analyzed(), Writes.isCheckpoint(action));
                json.key("datasets").raw(dump.datasets()).key("plan").raw(dump.plan());
            } catch (Throwable fault) {
                json.member("fault", fault.getClass().getName());
            }
        }
        return json.close('}').toString();
    }
}
