import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;

/** Tells which commands wrote nothing, because they leave as it is what exists already. */
final class SkippedWrites {
    /** What Delta calls the execution, below that of a command, which writes its files. */
    static final String DELTA = "deltaTransactionalWrite";

    private SkippedWrites() {}

    /** Returns whether a command wrote nothing: a write that leaves what exists has jobs only if it writes. */
    static boolean isSkipped(QueryExecution query, Execution execution) {
        LogicalPlan plan = query.analyzed();
        if (!(Reflection.get(plan, "query") instanceof LogicalPlan)) {
            return false;
        }
        if (Boolean.TRUE.equals(Reflection.get(plan, "ifPartitionNotExists"))) {
            return !execution.worked || isOlder(query.sparkSession().sessionState().catalog(), plan, execution.started());
        }
        boolean isConditional = Reflection.get(plan, "mode") == SaveMode.Ignore
            || Boolean.TRUE.equals(Reflection.get(plan, "ignoreIfExists"));
        return isConditional && !(isDelta(plan) ? execution.wroteDelta : execution.worked);
    }

    /** Returns whether jobs may only have read the state of a table: Delta does so in jobs. */
    private static boolean isDelta(LogicalPlan plan) {
        Object source = Reflection.get(plan, "dataSource");
        String kind = Reflection.simpleName(source == null ? plan : source);
        return kind.startsWith("Delta") || kind.startsWith("CreateDelta");
    }

    /** Returns whether the partition of a command is older: Hive writes files before it looks for a partition. */
    private static boolean isOlder(SessionCatalog catalog, LogicalPlan plan, long start) {
        Object partition = Reflection.get(plan, "partition");
        Object table = Reflection.path(plan, "table.identifier");
        if (!(partition instanceof scala.collection.Map) || table == null) {
            return false;
        }
        scala.collection.immutable.Map values = scala.collection.immutable.Map$.MODULE$.empty();
        scala.collection.Iterator entries = ((scala.collection.Map) partition).iterator();
        while (entries.hasNext()) {
            scala.Tuple2 entry = (scala.Tuple2) entries.next();
            Object value = Reflection.open(entry._2());
            if (value == null) {
                // A partition that the rows name: there is no IF NOT EXISTS.
                return false;
            }
            values = (scala.collection.immutable.Map) values.updated(entry._1(), value);
        }
        try {
            CatalogTablePartition found = catalog.getPartition((TableIdentifier) table, values);
            // Hive's clock has seconds.
            return found.createTime() < start / 1000 * 1000;
        } catch (Throwable missing) {
            return false;
        }
    }
}
