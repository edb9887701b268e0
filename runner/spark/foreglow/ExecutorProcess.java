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
    private final CompletableFuture<String> port = new CompletableFuture<>();
    /** Training: what the order that is under way has been answered so far, and its last answer. */
    private final List<String> reports = new ArrayList<>();
    private CompletableFuture<String> last = new CompletableFuture<>();
    /** Training: its number among the executors. */
    volatile int rank = -1;
    private volatile ExecutorFailed end;
    /** Whether a task has failed by its end. */
    private volatile boolean isEndTold;
    private volatile Writer input;

    private ExecutorProcess(List<String> command, String assignment) {
        // The system ends the process with the thread that started it, so that this thread stays as long as it does.
        Thread keeper = new Thread(() -> keep(command, assignment), "foreglow-executor");
        keeper.setDaemon(true);
        keeper.start();
    }

    /**
     * The process, once it is ready. One that has ended is followed by another one, and fails a task first, even where it ended
     * between two tasks: a run in which a process was started anew is not the run that was asked for.
     */
    static ExecutorProcess warm(Executors executors) throws ExecutorFailed, InterruptedException {
        ExecutorProcess process;
        synchronized (ExecutorProcess.class) {
            if (current != null && current.end != null && !current.isEndTold) {
                current.isEndTold = true;
                throw new ExecutorFailed(current.end.getMessage());
            }
            if (current == null || current.end != null) {
                current = new ExecutorProcess(command(executors.program), executors.assignment);
            }
            process = current;
        }
        process.wait(process.ready);
        return process;
    }

    /** Hands it a partition, and waits for the report, JSON. Partitions that are under way have different numbers. */
    String work(long partition, long first, long length) throws ExecutorFailed, InterruptedException {
        CompletableFuture<String> report = new CompletableFuture<>();
        awaited.put(partition, report);
        say("{\"partition\":{\"index\":" + partition + ",\"first\":" + first + ",\"len\":" + length + "}}");
        // Where it ended before it was asked, nobody else answers.
        if (end != null) {
            report.completeExceptionally(end);
        }
        return wait(report);
    }

    /** Training: the port on which it waits for the others. */
    int port() throws ExecutorFailed, InterruptedException {
        return Integer.parseInt(wait(port));
    }

    /** Training: gives it an order, and waits for the last of its reports; all of them. One order is under way at a time. */
    List<String> order(String order) throws ExecutorFailed, InterruptedException {
        CompletableFuture<String> answer = new CompletableFuture<>();
        synchronized (reports) {
            reports.clear();
            last = answer;
        }
        say(order);
        if (end != null) {
            answer.completeExceptionally(end);
        }
        wait(answer);
        synchronized (reports) {
            return new ArrayList<>(reports);
        }
    }

    private void say(String line) {
        try {
            synchronized (this) {
                input.write(line + "\n");
                input.flush();
            }
        } catch (IOException error) {
            // It has ended, and says so itself.
        }
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

    private String wait(CompletableFuture<String> answer) throws ExecutorFailed, InterruptedException {
        try {
            return answer.get();
        } catch (ExecutionException error) {
            if (end != null) {
                isEndTold = true;
            }
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
            say(assignment);
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
        fail(end);
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
        if (line.startsWith("{\"listening\"")) {
            port.complete(String.valueOf(number(line, "port")));
            return;
        }
        if (line.startsWith("{\"joined\"") || line.startsWith("{\"learned\"") || line.startsWith("{\"trained\"")
            || line.startsWith("{\"evaluated\"")) {
            synchronized (reports) {
                reports.add(line);
                if (!line.startsWith("{\"learned\"")) {
                    last.complete(line);
                }
            }
            return;
        }
        Long partition = number(line, "partition");
        if (line.startsWith("{\"done\"") && partition != null) {
            CompletableFuture<String> report = awaited.remove(partition);
            if (report != null) {
                report.complete(line);
            }
            return;
        }
        ExecutorFailed failure = new ExecutorFailed(line);
        CompletableFuture<String> report = partition == null ? null : awaited.remove(partition);
        if (report != null) {
            report.completeExceptionally(failure);
        } else {
            fail(failure);
        }
    }

    /** Whoever waits for anything but a partition. */
    private void fail(ExecutorFailed failure) {
        ready.completeExceptionally(failure);
        port.completeExceptionally(failure);
        synchronized (reports) {
            last.completeExceptionally(failure);
        }
    }

    /** The number behind a name; {@code null} where there is none. */
    static Long number(String line, String name) {
        String key = "\"" + name + "\":";
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
