/** Describes what Iceberg has under the name of a table: its branches, earlier states, changes and metadata. */
final class IcebergTables {
    private IcebergTables() {
    }

    /** Returns the table of Iceberg behind one of Spark; null for one of another format. */
    static Object of(Object table) {
        if (table == null || !table.getClass().getName().startsWith("org.apache.iceberg.spark.")) {
            return null;
        }
        Object own = Reflection.get(table, "table");
        if (own == null) {
            // The changes of a table; the second name is that of releases before 1.11.
            own = Reflection.field(table, "table");
        }
        return own == null ? Reflection.field(table, "icebergTable") : own;
    }

    /** Returns the name in the catalog, without a branch or state; null for a table that is named by its path. */
    static String identifier(Object table, Object identifier) {
        if (identifier == null || Reflection.simpleName(identifier).equals("PathIdentifier")) {
            return null;
        }
        String text = identifier.toString();
        String name = String.valueOf(Reflection.get(table, "name"));
        int last = text.lastIndexOf('.');
        boolean isPart = last > 0 && !name.endsWith(text) && name.endsWith(text.substring(0, last));
        return isPart ? text.substring(0, last) : text;
    }

    /** Returns where a table is; a table of metadata, which has columns of its own, is named below the other one. */
    static String location(Object table) {
        String location = Reflection.text(table, "location");
        if (location == null || !isMetadata(table.getClass())) {
            return location;
        }
        String name = String.valueOf(Reflection.get(table, "name"));
        int last = Math.max(name.lastIndexOf('.'), name.lastIndexOf('#'));
        return location + "/" + name.substring(last + 1).toLowerCase();
    }

    private static boolean isMetadata(Class type) {
        for (Class parent = type; parent != null; parent = parent.getSuperclass()) {
            if (parent.getName().equals("org.apache.iceberg.BaseMetadataTable")) {
                return true;
            }
        }
        return false;
    }
}
