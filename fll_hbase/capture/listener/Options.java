/** Describes datasets by the options of a reader or writer; every other option stays unwritten. */
final class Options {
    private Options() {}

    static boolean write(JsonWriter row, Object options, String provider) {
        if (options == null) {
            return false;
        }
        if (Reflection.option(options, "url") != null && provider.indexOf("Jdbc") >= 0) {
            String table = Reflection.option(options, "dbtable");
            return Relations.jdbc(row, Reflection.option(options, "url"), table);
        }
        return Relations.file(row, Reflection.option(options, "path"));
    }

    /** Describes the topics of a reader. */
    static boolean kafka(JsonWriter row, Object options) {
        String[] names = {"subscribe", "subscribePattern", "assign"};
        String topic = null;
        for (int i = 0; i < names.length && topic == null; i++) {
            topic = Reflection.option(options, names[i]);
        }
        if (topic != null && topic.equals(Reflection.option(options, "subscribePattern"))) {
            row.key("pattern").flag(true);
        }
        return kafka(row, options, topic);
    }

    static boolean kafka(JsonWriter row, Object options, String topic) {
        row.member("kind", "kafka").member("topic", topic);
        row.member("servers", Reflection.option(options, "kafka.bootstrap.servers"));
        return true;
    }
}
