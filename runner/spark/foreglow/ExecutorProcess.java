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
 * The warm {@code foreglow executor} process of this Spark executor. All its task slots share the
 * process, and with it one replica of the CNN. The protocol is described in {@code
 * runner/src/executor/protocol.rs}. The process exits at the end of its input, which closes when
 * this JVM ends.
 */
final class ExecutorProcess {
    private static final int KEPT_LINES = 20;
    private static ExecutorProcess current;

    private final CompletableFuture<String> ready = new CompletableFuture<>();
    private final Map<Long, CompletableFuture<String>> awaited = new ConcurrentHashMap<>();
    private final CompletableFuture<String> port = new CompletableFuture<>();
    /** Training: the reports on the current order so far. */
    private final List<String> reports = new ArrayList<>();
    private CompletableFuture<String> last = new CompletableFuture<>();
    /** Training: rank of the executor. */
    volatile int rank = -1;
    private volatile ExecutorFailed end;
    /** Whether a task has already failed because of the exit. */
    private volatile boolean isEndTold;
    private volatile Writer input;

    private ExecutorProcess(List<String> command, String assignment) {
        // The operating system kills the process together with the thread that started it, so this
        // thread lives as long as the process.
        Thread keeper = new Thread(() -> keep(command, assignment), "foreglow-executor");
        keeper.setDaemon(true);
        keeper.start();
    }

    /**
     * Returns the process once it is ready. A process that has ended is replaced, but fails one
     * task first, even if it ended between two tasks: a run with a restarted process
     * is not the requested run.
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

    /**
     * Sends a partition and waits for its report in JSON. Partitions in progress must have
     * different numbers.
     */
    String work(long partition, long first, long length) throws ExecutorFailed, InterruptedException {
        CompletableFuture<String> report = new CompletableFuture<>();
        awaited.put(partition, report);
        say("{\"partition\":{\"index\":" + partition + ",\"first\":" + first + ",\"len\":" + length + "}}");
        // A process that ended before the request does not complete the future.
        if (end != null) {
            report.completeExceptionally(end);
        }
        return wait(report);
    }

    /** Training: returns the port on which the process waits for its peers. */
    int port() throws ExecutorFailed, InterruptedException {
        return Integer.parseInt(wait(port));
    }

    /**
     * Training: sends an order, waits for the last report on it, and returns all reports. Only one
     * order may be in progress.
     */
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
            // The process has ended, which is reported elsewhere.
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
            // A new exception has the stack trace of the failing task.
            throw new ExecutorFailed(error.getCause().getMessage());
        }
    }

    /** Runs the process from its start to its end. */
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

    /**
     * Returns the most informative line: one about memory, because a backtrace may follow it, or
     * else the last.
     */
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

    /** Fails everything that waits for anything but a partition. */
    private void fail(ExecutorFailed failure) {
        ready.completeExceptionally(failure);
        port.completeExceptionally(failure);
        synchronized (reports) {
            last.completeExceptionally(failure);
        }
    }

    /** Returns the number after a name in a JSON line, or {@code null} if it is missing. */
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

    /**
     * Keeps the last lines of standard error, and copies all lines to Spark's log of this executor.
     */
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
            // The process has ended, which is reported elsewhere.
        }
    }
}
