import com.codahale.metrics.MetricRegistry;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;

/** Counts the executions whose end Spark did not report, because the queue of the listener was full. */
final class ExecutionCount {
    private final SparkContext context;
    private final long first;
    private final long droppedBefore;
    private long last = -1;
    private long ended;

    ExecutionCount(SparkContext context) {
        this.context = context;
        this.first = next();
        this.droppedBefore = dropped();
    }

    /** Counts an execution that ended, unless it began before the listener. */
    synchronized void end(long id) {
        if (id >= first) {
            ended++;
            last = Math.max(last, id);
        }
    }

    /** Returns how many did not end as far as the listener knows; 0 if Spark dropped none of its events. */
    synchronized int missing() {
        return !hasDropped() ? 0 : (int) Math.max(Math.max(next(), last + 1) - first - ended, 0);
    }

    /** Returns whether Spark dropped any events of the listener. */
    boolean hasDropped() {
        return dropped() != droppedBefore;
    }

    /** Returns the events that did not fit into the queue, of which executions are only a part. */
    private long dropped() {
        Object registry = Reflection.path(context.listenerBus(), "metrics.metricRegistry");
        boolean isKnown = registry instanceof MetricRegistry;
        return isKnown ? ((MetricRegistry) registry).counter("queue.fll.numDroppedEvents").getCount() : 0;
    }

    /** Returns the id of the next execution in this JVM; 0 where Spark does not tell. */
    private static long next() {
        try {
            Class type = SparkContext.class.getClassLoader().loadClass("org.apache.spark.sql.execution.SQLExecution$");
            Method method = type.getDeclaredMethod("_nextExecutionId", new Class[0]);
            method.setAccessible(true);
            return ((AtomicLong) method.invoke(type.getField("MODULE$").get(null), new Object[0])).get();
        } catch (Exception changed) {
            return 0;
        }
    }
}
