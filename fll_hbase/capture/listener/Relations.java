import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.StructType;

/** Describes tables, files, topics and databases by the members that their names are made of. */
final class Relations {
    /** More would make an event, which names each for each column, too large for its server. */
    private static final int PATHS_MAX = 1000;

    private final SessionCatalog catalog;
    /** Host and port of Hive's metastore; null where the session catalog is none. */
    private final String metastore;

    Relations(SessionCatalog catalog, String metastore) {
        this.catalog = catalog;
        this.metastore = metastore;
    }

    /** Returns host and port of the first metastore of an application with Hive; null where there is none. */
    static String metastore(SparkContext context) {
        if (!"hive".equals(context.getConf().get("spark.sql.catalogImplementation", ""))) {
            return null;
        }
        String addresses = context.getConf().get("spark.sql.hive.metastore.uris", "");
        if (addresses.length() == 0) {
            addresses = context.hadoopConfiguration().get("hive.metastore.uris", "");
        }
        String first = addresses.split(",")[0].trim();
        int slashes = first.indexOf("//");
        return slashes < 0 ? null : first.substring(slashes + 2).split("/")[0];
    }

    /** Describes a relation of the first data source interface. */
    static boolean relation(JsonWriter row, Object relation, boolean isStream) {
        if (relation == null) {
            return false;
        }
        String kind = Reflection.simpleName(relation);
        Object location = Reflection.get(relation, "location");
        if (Reflection.get(location, "rootPaths") != null) {
            row.member("format", Reflection.simpleName(Reflection.get(relation, "fileFormat")));
            String index = Reflection.simpleName(location);
            if (index.startsWith("Tahoe") || index.endsWith("DeltaFileIndex") || index.startsWith("PreparedDelta")) {
                return file(row, Reflection.text(location, "path"));
            }
            if (isStream) {
                row.key("stream").flag(true);
            }
            return files(row, location, isStream);
        }
        Object options = Reflection.get(relation, "jdbcOptions");
        if (options == null) {
            options = Reflection.get(relation, "jdbcParts");
        }
        if (Reflection.get(options, "url") != null) {
            return jdbc(row, Reflection.text(options, "url"), Reflection.text(options, "tableOrQuery"));
        }
        if (kind.equals("KafkaRelation")) {
            return Options.kafka(row, Reflection.field(relation, "sourceOptions"));
        }
        row.member("kind", "relation").member("class", kind);
        return true;
    }

    /** Describes a table of the session catalog. */
    boolean catalogTable(JsonWriter row, Object table) {
        if (table == null) {
            return false;
        }
        row.key("table").open('{');
        row.member("name", qualified(Reflection.get(table, "identifier")));
        String location = Reflection.text(table, "storage.locationUri");
        row.member("location", location == null ? defaultPath(Reflection.get(table, "identifier")) : Urls.path(location));
        row.member("provider", Reflection.text(table, "provider")).close('}');
        row.member("metastore", metastore);
        return true;
    }

    /** Describes a relation of the second data source interface: a node with table, catalog and identifier. */
    boolean table(JsonWriter row, Object relation) {
        Object table = Reflection.get(relation, "table");
        String kind = table == null ? "" : Reflection.simpleName(table);
        if (kind.startsWith("RowLevelOperationTable")) {
            table = Reflection.get(table, "table");
            kind = Reflection.simpleName(table);
        }
        Object catalog = Reflection.get(relation, "catalog");
        String catalogName = Reflection.text(catalog, "name");
        Object identifier = Reflection.get(relation, "identifier");
        Object iceberg = IcebergTables.of(table);
        String name = iceberg == null ? identifier == null ? null : identifier.toString() : IcebergTables.identifier(iceberg, identifier);
        if (name != null) {
            row.member("identifier", name).member("catalog", catalogName);
        }
        if (iceberg != null) {
            row.member("class", kind);
            return file(row, IcebergTables.location(iceberg));
        }
        if (table == null && identifier != null) {
            table = load(catalog, identifier);
            kind = table == null ? "" : Reflection.simpleName(table);
            Object schema = Reflection.get(table, "schema");
            if (schema instanceof StructType) {
                Types.schema(row, (StructType) schema);
            }
        }
        Object index = Reflection.get(table, "fileIndex");
        if (Reflection.get(index, "rootPaths") != null) {
            return files(row, index, false);
        }
        if (Reflection.path(table, "jdbcOptions.url") != null) {
            Object options = Reflection.get(table, "jdbcOptions");
            return jdbc(row, Reflection.text(options, "url"), Reflection.text(options, "tableOrQuery"));
        }
        if (kind.startsWith("Kafka")) {
            Object options = Reflection.get(relation, "options");
            return Options.kafka(row, options == null ? Reflection.get(relation, "extraOptions") : options);
        }
        if (kind.startsWith("Noop")) {
            row.member("kind", "noop");
            return true;
        }
        if (catalogTable(row, Reflection.get(table, "catalogTable")) || catalogTable(row, Reflection.get(table, "v1Table"))) {
            return true;
        }
        String location = kind.startsWith("Delta") ? Reflection.text(table, "path") : Reflection.text(table, "location");
        if (location == null) {
            location = Reflection.text(table, "table.location");
        }
        if (location == null) {
            location = Reflection.option(Reflection.get(table, "properties"), "location");
        }
        if (location == null && "spark_catalog".equals(catalogName)) {
            location = defaultPath(identifier);
            row.member("metastore", metastore);
        }
        row.member("class", kind);
        return location != null ? file(row, location) : table != null || identifier != null;
    }

    /** Loads a table that a command has created; null where there is none, as after it was dropped. */
    private static Object load(Object catalog, Object identifier) {
        try {
            return ((TableCatalog) catalog).loadTable((Identifier) identifier);
        } catch (Throwable missing) {
            // Catalogs throw exceptions of their own, some of which Scala does not declare.
            return null;
        }
    }

    /** Writes a name, and location and columns of the table if it exists. */
    void name(JsonWriter row, Object identifier) {
        row.member("name", qualified(identifier)).member("metastore", metastore);
        try {
            Object table = catalog.getTableMetadata((TableIdentifier) identifier);
            row.member("location", Urls.path(Reflection.text(table, "storage.locationUri")));
            Types.schema(row, (StructType) Reflection.get(table, "schema"));
        } catch (Throwable missing) {
            // Only a dropped table has no metadata, which Scala throws unchecked.
            row.member("location", defaultPath(identifier));
        }
    }

    /** Writes the columns that the session catalog has of a table. */
    void columns(JsonWriter row, Object identifier) {
        try {
            Types.schema(row, (StructType) Reflection.get(catalog.getTableMetadata((TableIdentifier) identifier), "schema"));
        } catch (Throwable missing) {
            // The table was dropped since.
            return;
        }
    }

    private String qualified(Object identifier) {
        try {
            return catalog.qualifyIdentifier((TableIdentifier) identifier).unquotedString();
        } catch (Exception error) {
            return Reflection.text(identifier, "unquotedString");
        }
    }

    /** Returns where the session catalog puts a table of this name; null where it cannot tell. */
    String defaultPath(Object identifier) {
        String database = Reflection.text(identifier, "database");
        String name = Reflection.text(identifier, "table");
        if (name == null) {
            Object namespace = Reflection.get(identifier, "namespace");
            name = Reflection.text(identifier, "name");
            boolean isNested = !(namespace instanceof String[]) || ((String[]) namespace).length != 1;
            database = isNested ? null : ((String[]) namespace)[0];
        }
        if (name == null) {
            return null;
        }
        try {
            return catalog.defaultTablePath(new TableIdentifier(name, scala.Option.apply(database))).toString();
        } catch (Exception error) {
            return null;
        }
    }

    static boolean jdbc(JsonWriter row, String url, String table) {
        row.member("kind", "jdbc").member("url", Urls.jdbc(url));
        if (url.startsWith("jdbc:derby:")) {
            row.member("home", System.getProperty("derby.system.home", System.getProperty("user.dir")));
        }
        if (table == null || QueryText.isName(table)) {
            row.member("name", table);
        } else {
            String query = QueryText.clean(table, url).trim();
            row.member("query", query.startsWith("(") ? query : "(SELECT * FROM " + query + ")");
        }
        return true;
    }

    static boolean file(JsonWriter row, String path) {
        if (path == null) {
            return false;
        }
        row.member("kind", "files").key("paths").open('[').value(Urls.path(path)).close(']');
        return true;
    }

    /** Writes the paths of an index; a file among several stands for its directory, as in the names of the agent. */
    private static boolean files(JsonWriter row, Object index, boolean isStream) {
        Object[] roots = Sequences.array(Reflection.get(index, "rootPaths"));
        Object files = roots.length > 1 && !isStream ? Reflection.get(index, "leafFiles") : null;
        Set paths = new LinkedHashSet();
        for (int i = 0; i < roots.length; i++) {
            boolean isFile = files instanceof scala.collection.Map && ((scala.collection.Map) files).contains(roots[i]);
            paths.add(Urls.path(String.valueOf(isFile ? ((Path) roots[i]).getParent() : roots[i])));
        }
        row.member("kind", "files").key("paths").open('[');
        Iterator written = paths.iterator();
        for (int i = 0; i < PATHS_MAX && written.hasNext(); i++) {
            row.value((String) written.next());
        }
        row.close(']');
        if (written.hasNext()) {
            row.key("pathsLeftOut").number(paths.size() - PATHS_MAX);
        }
        return true;
    }
}
