import org.apache.spark.sql.catalyst.expressions.Literal;

/** Cleans texts: URLs and paths without credentials. */
final class Texts {
    private static final int LITERAL_CHARACTERS_MAX = 200;

    private Texts() {}

    /** Removes user, password, query and every parameter of a JDBC or other URL. */
    static String url(String url) {
        if (url == null) {
            return null;
        }
        String clean = url;
        int end = clean.length();
        String marks = ";?#";
        for (int i = 0; i < marks.length(); i++) {
            int mark = clean.indexOf(marks.charAt(i));
            if (mark >= 0 && mark < end) {
                end = mark;
            }
        }
        String database = property(clean, "databaseName");
        clean = clean.substring(0, end);
        int slashes = clean.indexOf("//");
        if (slashes >= 0) {
            int path = clean.indexOf('/', slashes + 2);
            int at = clean.lastIndexOf('@', path < 0 ? clean.length() : path);
            if (at > slashes) {
                clean = clean.substring(0, slashes + 2) + clean.substring(at + 1);
            }
        } else if (clean.startsWith("jdbc:oracle:") && clean.indexOf('@') > 0) {
            int colon = clean.indexOf(':', 12);
            clean = clean.substring(0, colon + 1) + clean.substring(clean.lastIndexOf('@'));
        }
        return database == null ? clean : clean + ";databaseName=" + database;
    }

    /** Removes user and password of a path such as s3a://key:secret@bucket; a container without password stays. */
    static String path(String path) {
        if (path == null) {
            return null;
        }
        int start = path.indexOf("://");
        int end = start < 0 ? -1 : path.indexOf('/', start + 3);
        String authority = start < 0 ? "" : path.substring(start + 3, end < 0 ? path.length() : end);
        int at = authority.lastIndexOf('@');
        if (at < 0 || authority.lastIndexOf(':', at) < 0) {
            return path;
        }
        return path.substring(0, start + 3) + path.substring(start + 3 + at + 1);
    }

    private static String property(String url, String name) {
        String lower = url.toLowerCase();
        int start = lower.indexOf(";" + name.toLowerCase() + "=");
        if (start < 0) {
            return null;
        }
        start += name.length() + 2;
        int end = url.indexOf(';', start);
        return url.substring(start, end < 0 ? url.length() : end);
    }

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
