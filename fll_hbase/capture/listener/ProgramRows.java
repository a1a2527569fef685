import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerJobStart;

/** Tells whether the program has seen rows of Spark: until then, what it brings itself has no source. */
final class ProgramRows {
    private static final String BROUGHT = "ParallelCollectionRDD";
    /** Actions with which Spark itself reads rows, such as the values of a pivot, or shows them. */
    private static final String INTERNAL = " collect showString ";
    private static final int RDDS_MAX = 10000;

    private boolean isGiven;

    /** Begins with what the context knows: jobs from before the listener may have returned rows. */
    ProgramRows(SparkContext context) {
        Object jobs = Reflection.path(context, "dagScheduler.numTotalJobs");
        this.isGiven = jobs instanceof Integer && ((Integer) jobs).intValue() > 0;
    }

    boolean isGiven() {
        return isGiven;
    }

    /** Notes an execution that returned something. */
    void ended(Execution execution) {
        isGiven = isGiven || (execution.worked && INTERNAL.indexOf(" " + execution.action + " ") < 0);
    }

    /** Notes a job of an RDD, which may return rows, unless it only reads what the program brought. */
    void started(SparkListenerJobStart event) {
        Object[] stages = Sequences.array(event.stageInfos());
        for (int i = 0; i < stages.length && !isGiven; i++) {
            Object[] rdds = Sequences.array(Reflection.get(stages[i], "rddInfos"));
            for (int j = 0; j < rdds.length; j++) {
                boolean isRoot = Sequences.array(Reflection.get(rdds[j], "parentIds")).length == 0;
                isGiven = isGiven || (isRoot && !BROUGHT.equals(Reflection.get(rdds[j], "name")));
            }
        }
    }

    /** Tells whether an RDD is made of what the program brought, and of nothing else. */
    static boolean isBrought(Object rdd) {
        ArrayDeque stack = new ArrayDeque();
        Set seen = Collections.newSetFromMap(new IdentityHashMap());
        stack.push(rdd);
        while (!stack.isEmpty() && seen.size() < RDDS_MAX) {
            Object item = stack.pop();
            Object[] dependencies = Sequences.array(Reflection.get(item, "dependencies"));
            if (dependencies.length == 0 && !BROUGHT.equals(Reflection.simpleName(item))) {
                return false;
            }
            for (int i = 0; i < dependencies.length; i++) {
                Object parent = Reflection.get(dependencies[i], "rdd");
                if (parent != null && seen.add(parent)) {
                    stack.push(parent);
                }
            }
        }
        return stack.isEmpty();
    }
}
