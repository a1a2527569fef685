import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Cleans URLs of databases and paths of files: they keep no credentials and no parameters. */
final class Urls {
    /** A parameter within the address, such as `(password=x)`, `/DATABASE=x,` or `:user=x`. */
    private static final Pattern PARAMETER = Pattern.compile("[:,(&\\[]?\\s*\\w+\\s*=");
    /** Something behind a colon that is no port: the begin of a password. */
    private static final Pattern PASSWORD = Pattern.compile("^[^\\[\\]]*:[^,\\[\\]]*[^\\d,:\\[\\]]");
    private static final Pattern WEB = Pattern.compile("(?i)https?://.*");
    private static final Pattern S3 = Pattern.compile("(?i)s3[an]?://.*");

    private Urls() {}

    /** Removes user, password, query and every parameter of a JDBC URL but the name of the database. */
    static String jdbc(String url) {
        if (url == null) {
            return null;
        }
        String database = property(url, "databaseName");
        String clean = withoutUser(url);
        int end = first(clean, ";?#", 0);
        int slashes = clean.indexOf("//");
        if (slashes >= 0 && !isOracle(clean)) {
            Matcher parameter = PARAMETER.matcher(clean);
            if (parameter.find(slashes + 2) && parameter.start() < end) {
                end = parameter.start();
            }
        }
        clean = clean.substring(0, end);
        return database == null ? clean : clean + ";databaseName=" + database;
    }

    /**
     * Removes user and password of a path such as s3a://key:secret@bucket, and the query of one on the web;
     * a container without password stays.
     */
    static String path(String path) {
        int start = path == null ? -1 : path.indexOf("://");
        if (start < 0) {
            return path;
        }
        start += 3;
        int end = first(path, "/", start);
        int at = path.lastIndexOf('@', end);
        String clean = path;
        if (at >= start && (path.lastIndexOf(':', at) >= start || S3.matcher(path).matches())) {
            clean = path.substring(0, start) + path.substring(at + 1);
        } else if (at < start && path.indexOf('@', end) > 0 && PASSWORD.matcher(path.substring(start, end)).find()) {
            // A secret with a slash, which ends the authority.
            clean = path.substring(0, start) + path.substring(path.indexOf('@', end) + 1);
        }
        return WEB.matcher(clean).matches() ? clean.substring(0, first(clean, "?#", 0)) : clean;
    }

    private static String withoutUser(String url) {
        int slashes = url.indexOf("//");
        if (isOracle(url)) {
            // jdbc:oracle:thin:user/password@//host, in which the address has slashes, too.
            int colon = url.indexOf(':', 12);
            int at = url.lastIndexOf('@');
            return colon < 0 || at < colon ? url : url.substring(0, colon + 1) + url.substring(at);
        }
        if (slashes < 0) {
            return url;
        }
        int start = slashes + 2;
        int at = url.lastIndexOf('@', first(url, ";?#", start) - 1);
        if (at < start && PASSWORD.matcher(url.substring(start, first(url, "/;?#", start))).find()) {
            // A password with one of these characters.
            at = url.lastIndexOf('@');
        }
        return at < start ? url : url.substring(0, start) + url.substring(at + 1);
    }

    private static boolean isOracle(String url) {
        return url.toLowerCase().startsWith("jdbc:oracle:");
    }

    /** Returns where the first of some characters is, the length of the text if none is there. */
    private static int first(String text, String characters, int start) {
        int end = start;
        while (end < text.length() && characters.indexOf(text.charAt(end)) < 0) {
            end++;
        }
        return end;
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
}
