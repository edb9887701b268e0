package foreglow;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;

import org.apache.spark.SparkFiles;
import org.apache.spark.TaskContext;
import org.apache.spark.resource.ResourceInformation;

/**
 * The one warm {@code foreglow executor} of this Spark executor: its task slots share it, and with it one replica of the CNN.
 * What it is told and what it answers stands in {@code runner/src/executor/protocol.rs}. It ends with its input, which ends
 * with this Java process.
 */
final class ExecutorProcess {
    private static final int KEPT_LINES = 20;
    private static ExecutorProcess current;

    private final CompletableFuture<String> ready = new CompletableFuture<>();
    private final Map<Long, CompletableFuture<String>> awaited = new ConcurrentHashMap<>();
    private volatile ExecutorFailed end;
    private volatile Writer input;

    private ExecutorProcess(List<String> command, String assignment) {
        // The system ends the process with the thread that started it, so that this thread stays as long as it does.
        Thread keeper = new Thread(() -> keep(command, assignment), "foreglow-executor");
        keeper.setDaemon(true);
        keeper.start();
    }

    /** The process, once it is ready; one that has ended is followed by another one. */
    static ExecutorProcess warm(Executors executors) throws ExecutorFailed, InterruptedException {
        ExecutorProcess process;
        synchronized (ExecutorProcess.class) {
            if (current == null || current.end != null) {
                current = new ExecutorProcess(command(executors.program), executors.assignment);
            }
            process = current;
        }
        wait(process.ready);
        return process;
    }

    /** Hands it a partition, and waits for the report, JSON. Partitions that are under way have different numbers. */
    String work(long partition, long first, long length) throws ExecutorFailed, InterruptedException {
        CompletableFuture<String> report = new CompletableFuture<>();
        awaited.put(partition, report);
        try {
            synchronized (this) {
                input.write("{\"partition\":{\"index\":" + partition + ",\"first\":" + first + ",\"len\":" + length + "}}\n");
                input.flush();
            }
        } catch (IOException error) {
            // It has ended, and says so itself.
        }
        // Where it ended before it was asked, nobody else answers.
        if (end != null) {
            report.completeExceptionally(end);
        }
        return wait(report);
    }

    private static List<String> command(String program) {
        String path = program.equals("-") ? SparkFiles.get("foreglow") : program;
        List<String> command = new ArrayList<>(Arrays.asList(path, "executor"));
        ResourceInformation gpu = TaskContext.get().resourcesJMap().get("gpu");
        if (gpu != null && gpu.addresses().length > 0) {
            command.addAll(Arrays.asList("--accelerator", gpu.addresses()[0]));
        }
        return command;
    }

    private static String wait(CompletableFuture<String> answer) throws ExecutorFailed, InterruptedException {
        try {
            return answer.get();
        } catch (ExecutionException error) {
            // Made anew: it names the task that it ends.
            throw new ExecutorFailed(error.getCause().getMessage());
        }
    }

    /** From the start of the process to its end. */
    private void keep(List<String> command, String assignment) {
        Deque<String> lastWords = new ArrayDeque<>();
        String how;
        try {
            Process process = new ProcessBuilder(command).start();
            Thread errors = new Thread(() -> listen(process, lastWords), "foreglow-executor-errors");
            errors.setDaemon(true);
            errors.start();
            input = new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8);
            synchronized (this) {
                input.write(assignment + "\n");
                input.flush();
            }
            BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                answer(line);
            }
            errors.join();
            int status = process.waitFor();
            how = status > 128 ? "signal: " + (status - 128) : "exit status: " + status;
        } catch (IOException | InterruptedException error) {
            how = error.getMessage();
        }
        synchronized (lastWords) {
            end = new ExecutorFailed("the executor's process ended early (" + how + ")" + telling(lastWords));
        }
        ready.completeExceptionally(end);
        awaited.values().forEach(report -> report.completeExceptionally(end));
    }

    /** Of many last words those about memory tell most: a backtrace may follow them. */
    private static String telling(Deque<String> lastWords) {
        for (String line : lastWords) {
            if (line.contains("memory allocation of") || line.contains("Cannot allocate memory")) {
                return ": " + line;
            }
        }
        return lastWords.isEmpty() ? "" : ": " + lastWords.getLast();
    }

    private void answer(String line) {
        if (line.startsWith("{\"ready\"")) {
            ready.complete(line);
            return;
        }
        if (line.startsWith("{\"ended\"")) {
            return;
        }
        Long partition = partition(line);
        if (line.startsWith("{\"done\"") && partition != null) {
            CompletableFuture<String> report = awaited.remove(partition);
            if (report != null) {
                report.complete(line);
            }
            return;
        }
        ExecutorFailed failure = new ExecutorFailed(line);
        CompletableFuture<String> report = partition == null ? ready : awaited.remove(partition);
        if (report != null) {
            report.completeExceptionally(failure);
        }
    }

    /** The number after {@code "partition":}; {@code null} where there is none. */
    private static Long partition(String line) {
        String key = "\"partition\":";
        int start = line.indexOf(key);
        if (start < 0) {
            return null;
        }
        start += key.length();
        int end = start;
        while (end < line.length() && Character.isDigit(line.charAt(end))) {
            end++;
        }
        return end == start ? null : Long.valueOf(line.substring(start, end));
    }

    /** Keeps the last words, and passes all of them on to Spark's log of this executor. */
    private static void listen(Process process, Deque<String> lastWords) {
        try (BufferedReader errors =
                new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
            for (String line = errors.readLine(); line != null; line = errors.readLine()) {
                System.err.println(line);
                synchronized (lastWords) {
                    if (!line.trim().isEmpty()) {
                        lastWords.addLast(line);
                    }
                    if (lastWords.size() > KEPT_LINES) {
                        lastWords.removeFirst();
                    }
                }
            }
        } catch (IOException error) {
            // The end of the process, which its keeper tells.
        }
    }
}
