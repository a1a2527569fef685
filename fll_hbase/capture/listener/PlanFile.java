import java.io.FileOutputStream;
import java.io.IOException;

/** Appends lines to the plan file; counts those that do not fit or cannot be written. */
final class PlanFile {
    private final FileOutputStream stream;
    private final long bytesMax;
    private long bytes;
    private int dropped;
    private boolean broken;
    private boolean closed;

    PlanFile(String path, long bytesMax) throws IOException {
        this.stream = new FileOutputStream(path, true);
        this.bytesMax = bytesMax;
        this.bytes = new java.io.File(path).length();
    }

    /** Appends one line in a single write. A line that was cut by an error is ended by the next one. */
    synchronized void append(String line) {
        if (closed) {
            dropped++;
            return;
        }
        try {
            byte[] content = (line + "\n").getBytes("UTF-8");
            if (bytes + content.length > bytesMax) {
                dropped++;
                return;
            }
            if (broken) {
                stream.write('\n');
                broken = false;
            }
            broken = true;
            stream.write(content);
            broken = false;
            bytes += content.length;
        } catch (IOException error) {
            dropped++;
        }
    }

    /** Empties the file and begins it with a line, unless it has more than the bytes that are recorded. */
    synchronized boolean restart(long recorded, String line) throws IOException {
        if (closed || broken || stream.getChannel().size() != recorded) {
            return false;
        }
        stream.getChannel().truncate(0);
        bytes = 0;
        append(line);
        return true;
    }

    synchronized int dropped() {
        return dropped;
    }

    /** Appends the last line, which is no execution and not counted, and closes the file. */
    synchronized void end(String line) {
        int executions = dropped;
        append(line);
        dropped = executions;
        closed = true;
        try {
            stream.close();
        } catch (IOException error) {
            dropped++;
        }
    }
}
