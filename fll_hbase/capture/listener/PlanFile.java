import java.io.FileOutputStream;
import java.io.IOException;
import java.util.ArrayDeque;

/**
 * Appends lines to the plan file. Lines for which it has no room wait in memory until it starts again; those
 * beyond the bound of what waits are counted.
 */
final class PlanFile {
    private static final long WAITING_BYTES_MAX = 8L << 20;

    private final FileOutputStream stream;
    private final long bytesMax;
    private final ArrayDeque waiting = new ArrayDeque();
    private long waitingBytes;
    private long bytes;
    private int dropped;
    private String end;
    private boolean closed;

    PlanFile(String path, long bytesMax) throws IOException {
        this.stream = new FileOutputStream(path, true);
        this.bytesMax = bytesMax;
        this.bytes = new java.io.File(path).length();
    }

    /** Appends one line, behind those that wait. */
    synchronized void append(String line) {
        byte[] content = bytes(line);
        writeWaiting();
        if (!closed && waiting.isEmpty() && write(content, bytesMax)) {
            return;
        }
        if (closed || waitingBytes + content.length > WAITING_BYTES_MAX) {
            dropped++;
            return;
        }
        waiting.add(content);
        waitingBytes += content.length;
    }

    /** Empties the file, begins it with a line and writes what waits, unless more is in it than what is recorded. */
    synchronized boolean restart(long recorded, String line) throws IOException {
        if (closed || stream.getChannel().size() != recorded) {
            return false;
        }
        stream.getChannel().truncate(0);
        bytes = 0;
        byte[] first = bytes(line);
        waiting.addFirst(first);
        waitingBytes += first.length;
        writeWaiting();
        return true;
    }

    /** Lines that are in memory only. */
    synchronized int waiting() {
        return waiting.size();
    }

    synchronized int dropped() {
        return dropped;
    }

    /** Appends the last line, which gets the number of dropped ones, when nothing waits any more; closes the file. */
    synchronized void end(String line) {
        if (end == null) {
            end = line;
            writeWaiting();
        }
    }

    /** Closes the file; what waits is dropped. */
    synchronized void close() {
        writeWaiting();
        dropped += waiting.size();
        waiting.clear();
        finish();
    }

    private void writeWaiting() {
        while (!waiting.isEmpty() && write((byte[]) waiting.peek(), bytesMax)) {
            waitingBytes -= ((byte[]) waiting.remove()).length;
        }
        if (waiting.isEmpty() && end != null) {
            finish();
        }
    }

    private void finish() {
        if (closed) {
            return;
        }
        closed = true;
        if (end != null) {
            // However full the share of the application is: this line is short.
            write(bytes(end + ",\"dropped\":" + dropped + "}}"), Long.MAX_VALUE);
        }
        try {
            stream.close();
        } catch (IOException error) {
            dropped++;
        }
    }

    /** Appends bytes in a single write, and takes back what a full disk has cut; returns whether all are written. */
    private boolean write(byte[] content, long sizeMax) {
        if (bytes + content.length > sizeMax) {
            return false;
        }
        try {
            if (stream.getChannel().size() > bytes) {
                stream.getChannel().truncate(bytes);
            }
            stream.write(content);
            bytes += content.length;
            return true;
        } catch (IOException full) {
            cut();
            return false;
        }
    }

    private void cut() {
        try {
            stream.getChannel().truncate(bytes);
        } catch (IOException error) {
            // The next write tries it again.
        }
    }

    private static byte[] bytes(String line) {
        return (line + "\n").getBytes(java.nio.charset.Charset.forName("UTF-8"));
    }
}
