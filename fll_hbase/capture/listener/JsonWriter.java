/** Writes JSON text piece by piece; the caller keeps the brackets balanced. */
final class JsonWriter {
    private final StringBuilder text = new StringBuilder();
    private boolean first = true;

    JsonWriter open(char bracket) {
        comma();
        text.append(bracket);
        first = true;
        return this;
    }

    JsonWriter close(char bracket) {
        text.append(bracket);
        first = false;
        return this;
    }

    JsonWriter key(String name) {
        comma();
        quote(name);
        text.append(':');
        first = true;
        return this;
    }

    JsonWriter value(String value) {
        comma();
        if (value == null) {
            text.append("null");
        } else {
            quote(value);
        }
        return this;
    }

    JsonWriter number(long value) {
        comma();
        text.append(value);
        return this;
    }

    JsonWriter flag(boolean value) {
        return raw(value ? "true" : "false");
    }

    JsonWriter raw(String json) {
        comma();
        text.append(json);
        return this;
    }

    /** Writes a member with a text value, unless the value is null. */
    JsonWriter member(String name, String value) {
        return value == null ? this : key(name).value(value);
    }

    int length() {
        return text.length();
    }

    public String toString() {
        return text.toString();
    }

    private void comma() {
        if (!first) {
            text.append(',');
        }
        first = false;
    }

    private void quote(String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c) || c == '\u007f') {
                text.append("\\u");
                String hex = Integer.toHexString(c);
                for (int zeros = hex.length(); zeros < 4; zeros++) {
                    text.append('0');
                }
                text.append(hex);
            } else {
                text.append(c);
            }
        }
        text.append('"');
    }
}
