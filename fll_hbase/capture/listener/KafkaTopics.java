import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Finds the topics of rows that are written to Kafka, where their column "topic" has constants only. */
final class KafkaTopics {
    private static final int TOPICS_MAX = 100;
    private static final int STEPS_MAX = 10000;

    private final TreeSet topics = new TreeSet();
    private int steps;

    private KafkaTopics() {}

    /** Returns the topics, separated by commas; null where any of them is not known before the query runs. */
    static String of(LogicalPlan query) {
        KafkaTopics found = new KafkaTopics();
        Object[] output = Sequences.array(query.output());
        for (int i = 0; i < output.length; i++) {
            Attribute column = (Attribute) output[i];
            if (column.name().equalsIgnoreCase("topic")) {
                return found.add(column.exprId(), query) ? Texts.join(found.topics, ",") : null;
            }
        }
        return null;
    }

    /** Adds the constants that a column of a plan can have; false if it has others. */
    private boolean add(ExprId id, LogicalPlan plan) {
        if (++steps > STEPS_MAX) {
            return false;
        }
        Object[] children = Sequences.array(plan.children());
        if (Reflection.simpleName(plan).equals("Union")) {
            return addUnion(position(id, plan), children);
        }
        Object[] expressions = Sequences.array(plan.expressions());
        for (int i = 0; i < expressions.length; i++) {
            if (expressions[i] instanceof Alias && ((Alias) expressions[i]).exprId().equals(id)) {
                return children.length == 1 && addValues(((Alias) expressions[i]).child(), (LogicalPlan) children[0]);
            }
        }
        for (int i = 0; i < children.length; i++) {
            if (position(id, (LogicalPlan) children[i]) >= 0) {
                return add(id, (LogicalPlan) children[i]);
            }
        }
        return false;
    }

    private boolean addUnion(int position, Object[] children) {
        boolean isConstant = position >= 0;
        for (int i = 0; i < children.length && isConstant; i++) {
            Object[] output = Sequences.array(((LogicalPlan) children[i]).output());
            isConstant = add(((Attribute) output[position]).exprId(), (LogicalPlan) children[i]);
        }
        return isConstant;
    }

    /** Adds the values of an expression over the columns of a plan; of CASE and IF, all of their branches. */
    private boolean addValues(Expression value, LogicalPlan plan) {
        if (++steps > STEPS_MAX) {
            return false;
        }
        String kind = Reflection.simpleName(value);
        Object[] operands = Sequences.array(value.children());
        if (value instanceof Literal) {
            if (((Literal) value).value() != null) {
                topics.add(String.valueOf(((Literal) value).value()));
            }
            return topics.size() <= TOPICS_MAX;
        }
        if (value instanceof Attribute) {
            return add(((Attribute) value).exprId(), plan);
        }
        if (kind.equals("Cast") || value instanceof Alias) {
            return addValues((Expression) operands[0], plan);
        }
        if (!kind.equals("CaseWhen") && !kind.equals("If") && !kind.equals("Coalesce")) {
            return false;
        }
        boolean isConstant = true;
        for (int i = 0; i < operands.length && isConstant; i++) {
            boolean isTested = kind.equals("If") ? i == 0 : kind.equals("CaseWhen") && i % 2 == 0 && i + 1 < operands.length;
            isConstant = isTested || addValues((Expression) operands[i], plan);
        }
        return isConstant;
    }

    private static int position(ExprId id, LogicalPlan plan) {
        Object[] output = Sequences.array(plan.output());
        for (int i = 0; i < output.length; i++) {
            if (((Attribute) output[i]).exprId().equals(id)) {
                return i;
            }
        }
        return -1;
    }
}
