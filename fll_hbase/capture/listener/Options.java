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
        if (provider.indexOf("Kafka") >= 0) {
            return kafka(row, options, null);
        }
        return Relations.file(row, Reflection.option(options, "path"));
    }

    /** Describes the topics of a reader or writer; the topic of a column is not known here. */
    static boolean kafka(JsonWriter row, Object options, String topic) {
        String[] names = {"topic", "subscribe", "subscribePattern", "subscribepattern", "assign"};
        String value = topic;
        for (int i = 0; i < names.length && value == null; i++) {
            value = Reflection.option(options, names[i]);
        }
        row.member("kind", "kafka").member("topic", value);
        row.member("servers", Reflection.option(options, "kafka.bootstrap.servers"));
        return true;
    }
}
