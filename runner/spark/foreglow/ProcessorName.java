package foreglow;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

import org.apache.spark.api.java.function.Function;

/**
 * Returns the CPU model of the machine that runs the task, as {@code runner/src/device.rs} does,
 * because neither Spark nor its event log has it. Empty if unknown.
 */
final class ProcessorName implements Function<Integer, String> {
    private static final long serialVersionUID = 1;
    private static final Path INFO = Paths.get("/proc/cpuinfo");

    @Override
    public String call(Integer task) {
        try {
            for (String line : Files.readAllLines(INFO, StandardCharsets.ISO_8859_1)) {
                int colon = line.indexOf(':');
                if (line.startsWith("model name") && colon > 0) {
                    return line.substring(colon + 1).trim();
                }
            }
        } catch (IOException error) {
            // Not a Linux system.
        }
        return "";
    }
}
