import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/** Appends one line to the plan file for every execution that writes, on a queue of its own. */
public final class CaptureListener extends SparkListener {
    private static final int EXECUTIONS_MAX = 100000;
    private static final String EXECUTION = "spark.sql.execution.id";
    private static final String ROOT = "spark.sql.execution.root.id";
    private static final String TAGS = "spark.job.tags";

    private final SparkContext context;
    private final PlanFile file;
    private final ExecutionCount count;
    private final String firstLine;
    private final String metastore;
    private final boolean literals;
    private final ProgramRows rows;
    private final Map executions = new LinkedHashMap();
    private boolean reported;

    public CaptureListener(SparkContext context, String path, long bytesMax, boolean literals) throws Exception {
        this.context = context;
        this.metastore = Relations.metastore(context);
        this.literals = literals;
        this.file = new PlanFile(path, bytesMax);
        this.count = new ExecutionCount(context);
        this.rows = new ProgramRows(context);
        JsonWriter json = new JsonWriter().open('{').key("application").open('{');
        json.member("id", context.applicationId()).member("name", context.appName());
        json.member("user", context.sparkUser()).member("version", context.version());
        json.key("start").number(context.startTime());
        this.firstLine = json.close('}').close('}').toString();
        file.append(firstLine);
        context.listenerBus().addToQueue(this, "fll");
    }

    public void onOtherEvent(SparkListenerEvent event) {
        try {
            if (event instanceof SparkListenerSQLExecutionStart) {
                started((SparkListenerSQLExecutionStart) event);
            } else if (event instanceof SparkListenerSQLExecutionEnd) {
                finished((SparkListenerSQLExecutionEnd) event);
            }
        } catch (Throwable error) {
            fault(error);
        }
    }

    /** Notes which executions have jobs, and reports the first job that writes an RDD to files: it has no plan. */
    public void onJobStart(SparkListenerJobStart event) {
        Properties properties = event.properties();
        if (properties != null && properties.getProperty(EXECUTION) != null) {
            // One side of a join is collected even where its result is not written.
            if (properties.getProperty(TAGS, "").indexOf("broadcast exchange") < 0) {
                worked(properties.getProperty(EXECUTION));
                worked(properties.getProperty(ROOT));
            }
            return;
        }
        rows.started(event);
        if (reported || properties == null) {
            return;
        }
        Object[] stages = Sequences.array(event.stageInfos());
        for (int i = 0; i < stages.length && !reported; i++) {
            String name = String.valueOf(Reflection.get(stages[i], "name"));
            if (name.indexOf("SparkHadoopWriter") >= 0 || name.startsWith("saveAs")) {
                reported = true;
                file.append("{\"unseen\":{\"job\":" + event.jobId() + "}}");
            }
        }
    }

    public void onApplicationEnd(SparkListenerApplicationEnd event) {
        end(event.time());
    }

    /** Returns the line of a query, for the benchmark. */
    public String dump(QueryExecution query) {
        return new Execution(0, 0).line(query, metastore, literals, false);
    }

    /** Empties the plan file if all of it is recorded, and writes what waits; false if there is more. */
    public boolean restart(long recorded) throws Exception {
        return file.restart(recorded, firstLine);
    }

    /** Lines that wait for room in the plan file. */
    public int waiting() {
        return file.waiting();
    }

    /** Executions whose lines could not be written. */
    public int dropped() {
        return file.dropped();
    }

    /** Executions whose events Spark dropped. */
    public int missed() {
        return count.missing();
    }

    /** Waits until all queues of the bus are empty; false where that takes longer. */
    public boolean waitUntilEmpty(long millis) {
        try {
            context.listenerBus().waitUntilEmpty(millis);
            return true;
        } catch (Throwable error) {
            return false;
        }
    }

    public void stop() {
        context.listenerBus().removeListener(this);
        end(System.currentTimeMillis());
        file.close();
    }

    private void end(long time) {
        file.end("{\"applicationEnd\":{\"time\":" + time + ",\"missed\":" + count.missing());
    }

    private void started(SparkListenerSQLExecutionStart event) {
        Long id = new Long(event.executionId());
        Object root = Reflection.get(event, "rootExecutionId");
        Execution execution = new Execution(event.executionId(), event.time());
        if (root instanceof Long) {
            execution.root = ((Long) root).longValue();
        }
        if (executions.size() < EXECUTIONS_MAX) {
            executions.put(id, execution);
        }
    }

    private void finished(SparkListenerSQLExecutionEnd event) {
        Execution execution = (Execution) executions.remove(new Long(event.executionId()));
        if (execution == null) {
            execution = new Execution(event.executionId(), event.time());
        }
        execution.finish(event);
        QueryExecution query = event.qe();
        boolean isAnalyzed = query != null && (!execution.failed() || Writes.isAnalyzed(query));
        boolean isWrite = isAnalyzed && Writes.isWrite(query, execution.action);
        boolean isSkipped = isWrite && !execution.failed() && SkippedWrites.isSkipped(query, execution);
        if (!isSkipped || !count.hasDropped()) {
            // Where events were dropped, one may have been that of the job that wrote.
            count.end(event.executionId());
        }
        if (!isWrite) {
            rows.ended(execution);
        }
        isWrite = isWrite && !isSkipped;
        Execution root = (Execution) executions.get(new Long(execution.root));
        if (root != null) {
            root.awaited = root.awaited || isWrite;
            root.wroteDelta = root.wroteDelta || SkippedWrites.DELTA.equals(execution.action);
        }
        if (isWrite || execution.awaited) {
            file.append(execution.line(isWrite ? query : null, metastore, literals, rows.isGiven()));
        }
    }

    private void worked(String id) {
        Execution execution = id == null ? null : (Execution) executions.get(Long.valueOf(id));
        if (execution != null) {
            execution.worked = true;
        }
    }

    private void fault(Throwable error) {
        JsonWriter json = new JsonWriter().open('{').key("fault").open('{');
        json.member("error", error.getClass().getName());
        file.append(json.close('}').close('}').toString());
    }
}
