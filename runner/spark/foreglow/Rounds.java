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
 * Executors that Spark averages: each round of K mini-batches is a job. Its tasks begin with the average of the round before, which
 * is broadcast, and give back what their executor has learned; the driver takes the next average.
 *
 * <p>An optimiser's state that is not averaged stays in the executor's process. The partition of each rank is kept in the memory of
 * its executor, so that Spark sends the task of every round there; one that comes elsewhere fails.
 */
final class Rounds implements Training {
    private final JavaSparkContext spark;
    private final Executors executors;
    private final long steps;
    private final long every;
    private final JavaRDD<Integer> ranks;
    private Broadcast<Replica> average;

    /** So many steps, over all epochs, and an average after every so many of them. */
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
        // Rounds of no step: Spark, Java and the processes go through the path that the timed ones take. The last one of them begins
        // anew, with what nobody has learned.
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

    /** Has every executor learn so many steps from the average on; what they give back, by rank. */
    private List<Learned> round(long first, long count) {
        return ranks.map(new Round(executors, first, count, average)).collect();
    }

    private void broadcast(Replica replica) {
        if (average != null) {
            average.destroy();
        }
        // What nobody has learned changes nothing: every executor goes on with what it has.
        average = replica == null ? null : spark.broadcast(replica);
    }

    /** Numbers the executors, and keeps the partition of its number in each. */
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

    /** What an executor gives back. */
    private static final class Learned implements Serializable {
        private static final long serialVersionUID = 1;

        private final Replica replica;
        private final ArrayList<String> reports;

        Learned(Replica replica, List<String> reports) {
            this.replica = replica;
            this.reports = new ArrayList<>(reports);
        }
    }

    /** A task that begins with the average. */
    private abstract static class FromAverage<T> implements Function<Integer, T> {
        private static final long serialVersionUID = 1;

        private final Executors executors;
        private final Broadcast<Replica> average;

        FromAverage(Executors executors, Broadcast<Replica> average) {
            this.executors = executors;
            this.average = average;
        }

        /** With the process of that rank, and a file to load, none where there is no average. */
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
            // A round of no step loads the average.
            process.order(order(process, steps, 0, load, ""));
            return new ArrayList<>(process.order(orders.get(process.rank)));
        }
    }

    private static String order(ExecutorProcess process, long first, long count, String load, String save) {
        return "{\"train\":{\"rank\":" + process.rank + ",\"first_step\":" + first + ",\"steps\":" + count
            + ",\"resident\":true,\"load\":[" + load + "]" + save + "}}";
    }
}
