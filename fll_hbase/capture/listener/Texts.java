import org.apache.spark.sql.catalyst.expressions.Literal;

/** Texts of literals and of names. */
final class Texts {
    private static final int LITERAL_CHARACTERS_MAX = 200;

    private Texts() {}

    static String literal(Literal literal) {
        String text = literal.sql();
        return text.length() > LITERAL_CHARACTERS_MAX ? text.substring(0, LITERAL_CHARACTERS_MAX) : text;
    }

    static String join(Object sequence, String separator) {
        Object[] items = Sequences.array(sequence);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < items.length; i++) {
            text.append(i == 0 ? "" : separator).append(items[i]);
        }
        return text.toString();
    }
}
