package foreglow;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;

/**
 * Times two alternating Spark jobs: one with no-op tasks, and one whose tasks hand an empty
 * partition to a warm {@code foreglow executor}. Prints the milliseconds per task of each round.
 *
 * <p>Arguments: path of {@code foreglow}, the executor's assignment, tasks per job, rounds.
 */
public final class Overhead {
    public static void main(String[] arguments) {
        Executors executors = new Executors(1, arguments[0], arguments[1]);
        int tasks = Integer.parseInt(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            List<Integer> numbers = new ArrayList<>();
            for (int number = 0; number < tasks; number++) {
                numbers.add(number);
            }
            // The first round warms up Spark, the JVM and the executor.
            for (int round = 0; round <= rounds; round++) {
                JavaRDD<Integer> partitions = spark.parallelize(numbers, tasks);
                double nothing = perTask(partitions.map(new NoWork()), tasks);
                // No images, so that only the round trip is timed.
                double through = perTask(partitions.map(new Work(executors, 0, 0)), tasks);
                if (round > 0) {
                    System.out.println("overhead " + nothing + " " + through);
                }
            }
        }
    }

    private static double perTask(JavaRDD<String> job, int tasks) {
        long start = System.nanoTime();
        int results = job.collect().size();
        double ms = (System.nanoTime() - start) / 1e6;
        if (results != tasks) {
            throw new IllegalStateException(results + " results of " + tasks + " tasks");
        }
        return ms / tasks;
    }

    /** Returns a constant report without calling an executor. */
    private static final class NoWork implements Function<Integer, String> {
        private static final long serialVersionUID = 1;

        @Override
        public String call(Integer partition) {
            return "{\"done\":{\"partition\":" + partition + ",\"images\":0,\"read_secs\":0.0,\"decode_secs\":0.0,\"forward_secs\":0.0}}";
        }
    }
}
