package foreglow;

import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.apache.spark.BarrierTaskContext;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;

/**
 * Executors averaged by Spark: each round of K mini-batches is a job. Its tasks start from the
 * average of the previous round, which is broadcast, and return what their executor has learned;
 * the driver computes the next average.
 *
 * <p>Optimiser state that is not averaged stays in the executor's process. The partition of each
 * rank is cached in its executor, so that Spark schedules the task of every round there; a task on
 * another executor fails.
 */
final class Rounds implements Training {
    private final JavaSparkContext spark;
    private final Executors executors;
    private final long steps;
    private final long every;
    private final JavaRDD<Integer> ranks;
    private Broadcast<Replica> average;

    /**
     * Trains {@code steps} steps over all epochs, and averages after every {@code every} of them.
     */
    Rounds(JavaSparkContext spark, Executors executors, long steps, long every) {
        this.spark = spark;
        this.executors = executors;
        this.steps = steps;
        this.every = every;
        this.ranks = executors.ranks(spark).cache();
    }

    @Override
    public void settle() {
        new Numbering(executors).collect(ranks);
        // Rounds without steps warm up Spark, Java and the processes. The last of them resets the
        // executors to the initial weights.
        broadcast(round(0, 0).get(0).replica);
        round(0, 0);
        broadcast(null);
        round(0, 0);
    }

    @Override
    public int jobs() {
        return Math.toIntExact((steps + every - 1) / every);
    }

    @Override
    public List<String> train() {
        List<String> reports = new ArrayList<>();
        for (long first = 0; first < steps; first += every) {
            List<Replica> replicas = new ArrayList<>();
            for (Learned learned : round(first, Math.min(every, steps - first))) {
                reports.addAll(learned.reports);
                replicas.add(learned.replica);
            }
            broadcast(Replica.average(replicas));
        }
        return reports;
    }

    @Override
    public List<String> evaluate(List<String> orders) {
        List<String> reports = new ArrayList<>();
        ranks.map(new Judge(executors, orders, steps, average)).collect().forEach(reports::addAll);
        return reports;
    }

    /**
     * Trains {@code count} steps in every executor, starting from the average, and returns the
     * results by rank.
     */
    private List<Learned> round(long first, long count) {
        return ranks.map(new Round(executors, first, count, average)).collect();
    }

    private void broadcast(Replica replica) {
        if (average != null) {
            average.destroy();
        }
        // A round without images has no average: each executor continues with its own parameters.
        average = replica == null ? null : spark.broadcast(replica);
    }

    /** Assigns a rank to each executor and caches its partition there. */
    private static final class Numbering extends Barrier {
        private static final long serialVersionUID = 1;

        Numbering(Executors executors) {
            super(executors);
        }

        @Override
        List<String> run(BarrierTaskContext context) throws Exception {
            ExecutorProcess.warm(executors).rank = context.partitionId();
            return Collections.emptyList();
        }
    }

    /** Result of an executor's round. */
    private static final class Learned implements Serializable {
        private static final long serialVersionUID = 1;

        private final Replica replica;
        private final ArrayList<String> reports;

        Learned(Replica replica, List<String> reports) {
            this.replica = replica;
            this.reports = new ArrayList<>(reports);
        }
    }

    /** A task that starts from the average. */
    private abstract static class FromAverage<T> implements Function<Integer, T> {
        private static final long serialVersionUID = 1;

        private final Executors executors;
        private final Broadcast<Replica> average;

        FromAverage(Executors executors, Broadcast<Replica> average) {
            this.executors = executors;
            this.average = average;
        }

        /**
         * Runs with the process of the rank; {@code load} is the quoted file to load, or empty
         * without an average.
         */
        abstract T call(ExecutorProcess process, Path folder, String load) throws Exception;

        @Override
        public T call(Integer rank) throws Exception {
            ExecutorProcess process = ExecutorProcess.warm(executors);
            if (process.rank != rank) {
                throw new ExecutorFailed("Spark sent the round of executor " + (rank + 1)
                    + " to another one, which does not have its optimiser's state");
            }
            // The executor's own folder.
            Path folder = Paths.get(SparkFiles.getRootDirectory()).toAbsolutePath();
            if (average == null) {
                return call(process, folder, "");
            }
            Path file = Files.createTempFile(folder, "foreglow-average-", "");
            try {
                average.value().write(file);
                return call(process, folder, "\"" + file + "\"");
            } finally {
                Files.deleteIfExists(file);
            }
        }
    }

    private static final class Round extends FromAverage<Learned> {
        private static final long serialVersionUID = 1;

        private final long first;
        private final long count;

        Round(Executors executors, long first, long count, Broadcast<Replica> average) {
            super(executors, average);
            this.first = first;
            this.count = count;
        }

        @Override
        Learned call(ExecutorProcess process, Path folder, String load) throws Exception {
            Path file = Files.createTempFile(folder, "foreglow-replica-", "");
            try {
                List<String> reports = process.order(order(process, first, count, load, ",\"save\":\"" + file + "\""));
                return new Learned(Replica.read(file), reports);
            } finally {
                Files.deleteIfExists(file);
            }
        }
    }

    private static final class Judge extends FromAverage<ArrayList<String>> {
        private static final long serialVersionUID = 1;

        private final ArrayList<String> orders;
        private final long steps;

        Judge(Executors executors, List<String> orders, long steps, Broadcast<Replica> average) {
            super(executors, average);
            this.orders = new ArrayList<>(orders);
            this.steps = steps;
        }

        @Override
        ArrayList<String> call(ExecutorProcess process, Path folder, String load) throws Exception {
            // A round without steps loads the average.
            process.order(order(process, steps, 0, load, ""));
            return new ArrayList<>(process.order(orders.get(process.rank)));
        }
    }

    private static String order(ExecutorProcess process, long first, long count, String load, String save) {
        return "{\"train\":{\"rank\":" + process.rank + ",\"first_step\":" + first + ",\"steps\":" + count
            + ",\"resident\":true,\"load\":[" + load + "]" + save + "}}";
    }
}
