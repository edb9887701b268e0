package foreglow;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * A Spark application of {@code foreglow collect --engine spark}: starts the executors, and runs a
 * job for each line on standard input until the input ends.
 *
 * <p>Arguments: the number of executors, and the path of {@code foreglow} on the workers ({@code -}
 * for the file that {@code spark.files} ships). The first input line is the executors' assignment.
 * Each further line asks for one timed job: {@code work}, its ID, its sampling rate, images, images
 * per partition, and the mini-batch sizes to warm up, separated by commas; or {@code train}, its
 * ID, its sampling rate, steps, steps between two averages by Spark (0 if the executors average by
 * themselves), and, each after a tab, the orders by which the executors evaluate the CNN
 * afterwards.
 *
 * <p>Each output line starts with {@code foreglow}: {@code started ID VERSION}, {@code ready CPU}
 * (without a name if the settings have one or it is unknown), and for each job {@code measuring},
 * {@code progress TASKS}, {@code done REPORT} for each report of an executor, {@code measured}; or
 * {@code failed SENTENCE}.
 */
public final class Driver {
    /** Job description of a timed job. */
    static final String MEASURED = "foreglow measured";
    private static final String WARM_UP = "foreglow warm-up";
    private static final String EVALUATION = "foreglow evaluation";
    static final String RUN = "spark.foreglow.run";
    private static final String JOBS = "spark.foreglow.jobs";
    private static final String SAMPLING_RATE = "spark.foreglow.sampling_rate";
    private static final String CPU = "spark.foreglow.cpu";
    /**
     * Most warm-up rounds, in each of which every executor has as many tasks as slots. One round is
     * enough unless an executor starts late.
     */
    private static final int WARM_UP_ROUNDS = 5;

    private final JavaSparkContext spark;
    private final Executors executors;
    private final int slots;
    /** CPU model of the executors if the settings do not have it; empty if unknown. */
    private String cpu = "";

    private Driver(JavaSparkContext spark, Executors executors) {
        this.spark = spark;
        this.executors = executors;
        this.slots = executors.count * spark.getConf().getInt("spark.executor.cores", 1);
        spark.sc().addSparkListener(new TaskCount(done -> say("progress " + done)));
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Executors executors = new Executors(Integer.parseInt(arguments[0]), arguments[1], input.readLine());
        BlockingQueue<String> requests = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> read(input, requests), "foreglow-requests");
        reader.setDaemon(true);
        reader.start();
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            say("started " + spark.sc().applicationId() + " " + spark.version());
            Driver driver = new Driver(spark, executors);
            executors.await(spark);
            driver.describe(WARM_UP);
            driver.cpu = spark.getConf().contains(CPU) ? "" : executors.processors(spark, driver.slots);
            say("ready " + driver.cpu);
            while (true) {
                driver.measure(requests.take().split(" ", 4));
            }
        } catch (Throwable error) {
            say("failed " + oneLine(error.getMessage() == null ? error.toString() : error.getMessage()));
            System.exit(1);
        }
    }

    /**
     * Reads requests. At the end of the input the application exits, even in the middle of a job.
     */
    private static void read(BufferedReader input, BlockingQueue<String> requests) {
        try {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                requests.add(line);
            }
        } catch (IOException error) {
            // A failure to read counts as the end of the input.
        }
        System.exit(0);
    }

    /** Runs an untimed warm-up job and the timed jobs, and prints their reports. */
    private void measure(String[] request) {
        if (request[0].equals("train")) {
            train(request);
        } else {
            report(work(request));
        }
        say("measured");
    }

    private static void report(List<String> reports) {
        for (String report : reports) {
            say("done " + report);
        }
    }

    private List<String> work(String[] request) {
        String[] more = request[3].split(" ");
        long images = Long.parseLong(more[0]);
        long partitionSize = Long.parseLong(more[1]);
        describe(WARM_UP);
        warmUp(more[2].split(","));
        measuring(request, 1);
        int partitions = Math.toIntExact((images + partitionSize - 1) / partitionSize);
        Work work = new Work(executors, images, partitionSize);
        return spark.parallelize(Executors.numbers(partitions), partitions).map(work).collect();
    }

    /** The reports of the timed jobs come first: the clock of the timeout stops with the last. */
    private void train(String[] request) {
        List<String> more = Arrays.asList(request[3].split("\t"));
        String[] counts = more.get(0).split(" ");
        long every = Long.parseLong(counts[1]);
        Training training = every == 0 ? new Connected(spark, executors, request[1])
            : new Rounds(spark, executors, Long.parseLong(counts[0]), every);
        describe(WARM_UP);
        training.settle();
        measuring(request, training.jobs());
        report(training.train());
        if (more.size() > 1) {
            describe(EVALUATION);
            report(training.evaluate(more.subList(1, more.size())));
        }
    }

    /** Labels the next {@code jobs} jobs as the timed jobs of one run. */
    private void measuring(String[] request, int jobs) {
        describe(MEASURED);
        spark.setLocalProperty(RUN, request[1]);
        spark.setLocalProperty(SAMPLING_RATE, request[2]);
        spark.setLocalProperty(JOBS, Integer.toString(jobs));
        if (!cpu.isEmpty()) {
            spark.setLocalProperty(CPU, cpu);
        }
        say("measuring");
    }

    /** Sets the description of the next job in the event log. */
    private void describe(String what) {
        spark.sc().setJobDescription(what);
        for (String label : Arrays.asList(RUN, SAMPLING_RATE, JOBS)) {
            spark.setLocalProperty(label, null);
        }
    }

    /** Runs an untimed job that starts the processes and warms up the path of the timed job. */
    private void warmUp(String[] miniBatches) {
        long[] sizes = new long[miniBatches.length];
        for (int index = 0; index < sizes.length; index++) {
            sizes[index] = Long.parseLong(miniBatches[index]);
        }
        Set<String> warm = new HashSet<>();
        for (int round = 0; round < WARM_UP_ROUNDS && warm.size() < executors.count; round++) {
            warm.addAll(spark.parallelize(Executors.numbers(slots), slots).map(new WarmUp(executors, sizes)).collect());
        }
        if (warm.size() < executors.count) {
            throw new IllegalStateException(warm.size() + " of " + executors.count + " executors received warm-up tasks");
        }
    }

    private static String oneLine(String text) {
        return text.replace("\r", "").replace('\n', '\t');
    }

    /** Prints a line; synchronised because Spark's listener thread prints the progress. */
    private static void say(String line) {
        PrintStream out = System.out;
        synchronized (out) {
            out.println("foreglow " + line);
            out.flush();
        }
    }
}
