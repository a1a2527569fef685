import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Text of a query for a database, without its constants and comments. */
final class QueryText {
    private static final String COMMENTS = "--[^\\n]*|(?s:/\\*.*?(?:\\*/|\\z))";
    /** An open text reaches to the end: what follows it cannot be told from its content. */
    private static final String TEXTS = "'(?:[^']++|'')*+(?:'|\\z)";
    private static final String TEXTS_WITH_BACKSLASHES =
        "'(?:[^'\\\\]++|\\\\.|'')*+(?:'|\\z)|\"(?:[^\"\\\\]++|\\\\.|\"\")*+(?:\"|\\z)";
    private static final String ESCAPED_TEXTS = "(?<!\\w)[eE]'(?:[^'\\\\]++|\\\\.|'')*+(?:'|\\z)";
    private static final String DOLLAR_TEXTS = "(?s:\\$(\\w*)\\$.*?(?:\\$\\2\\$|\\z))";
    private static final String NAMES = "\"(?:[^\"]++|\"\")*+\"|`[^`]*+`";
    /** Positions of columns, as in GROUP BY 1, 2. */
    private static final String POSITIONS =
        "(?i:\\bBY\\s+(?:\\d{1,3}(?:\\s+(?:ASC|DESC))?\\s*,\\s*){0,30}\\d{1,3}(?![\\w.]))";
    private static final String NUMBERS = "(?<![\\w.$])\\d[\\w.]*";

    private static final Pattern STANDARD = pattern(ESCAPED_TEXTS + "|" + TEXTS);
    private static final Pattern WITH_BACKSLASHES = pattern(TEXTS_WITH_BACKSLASHES);

    /** Databases in which a backslash escapes a quote, and double quotes contain texts. */
    private static final Pattern BACKSLASHES =
        Pattern.compile("jdbc:(?:mysql|mariadb|bigquery|hive2|databricks|spark|clickhouse|ch|singlestore|impala)\\b.*");

    private static final Pattern NAME = Pattern.compile("(?:\"[^\"]*+\"|`[^`]*+`|\\[[^\\]]*+\\]|[^'\"`()\\s])++");

    private QueryText() {}

    /** Tells the name of a table from a part of a query, such as one with a comment or an alias. */
    static boolean isName(String table) {
        return NAME.matcher(table).matches() && table.indexOf("--") < 0 && table.indexOf("/*") < 0;
    }

    /** Groups: 1 texts, 2 the tag of a text in dollars, 3 comments, 4 numbers; names and positions stay. */
    private static Pattern pattern(String texts) {
        return Pattern.compile(
            "(" + texts + "|" + DOLLAR_TEXTS + ")|(" + COMMENTS + ")|" + NAMES + "|" + POSITIONS + "|(" + NUMBERS + ")",
            Pattern.DOTALL);
    }

    static String clean(String query, String url) {
        boolean hasBackslashes = BACKSLASHES.matcher(url.toLowerCase()).matches();
        Matcher matcher = (hasBackslashes ? WITH_BACKSLASHES : STANDARD).matcher(query);
        StringBuffer text = new StringBuffer();
        while (matcher.find()) {
            String part = matcher.group();
            if (matcher.group(1) != null) {
                part = "''";
            } else if (matcher.group(3) != null) {
                part = " ";
            } else if (matcher.group(4) != null) {
                part = "0";
            }
            matcher.appendReplacement(text, Matcher.quoteReplacement(part));
        }
        return matcher.appendTail(text).toString();
    }
}
