package foreglow;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;

import scala.Tuple2;

/**
 * An application whose tasks sleep instead of computing, so that a small machine can run as many of
 * them at once as a cluster. It makes three runs of different forms, in the order of
 * {@code simulation.py}.
 *
 * <p>Argument: the number of executors.
 */
public final class Sleep implements Function<Integer, Integer> {
    private static final long serialVersionUID = 1;

    public static void main(String[] arguments) throws Exception {
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            int executors = Integer.parseInt(arguments[0]);
            new Executors(executors, "-", "").await(spark);
            spark.sc().setJobDescription("foreglow warm-up");
            // An equal number of tasks per slot, so that the JIT compiler warms up equally.
            int tasks = 8 * spark.defaultParallelism();
            for (int round = 0; round < 3; round++) {
                stages(spark, tasks, tasks, 20, 20);
            }
            run(spark);
            stage(spark, 48, 100, 300);
            run(spark);
            stages(spark, 24, 8, 200, 1500);
            run(spark);
            for (int job = 0; job < 4; job++) {
                stage(spark, 12, 150, 100);
                Thread.sleep(300);
            }
        }
    }

    /** Makes the following jobs one run. */
    private static void run(JavaSparkContext spark) {
        spark.sc().setJobDescription("foreglow measured");
        spark.setLocalProperty("spark.foreglow.run", UUID.randomUUID().toString());
    }

    /** Runs one stage of uneven tasks. */
    private static void stage(JavaSparkContext spark, int tasks, int leastMs, int moreMs) {
        List<Integer> times = new ArrayList<>();
        for (int task = 0; task < tasks; task++) {
            times.add(leastMs + task * 7919 % 97 * moreMs / 96);
        }
        spark.parallelize(times, tasks).map(new Sleep()).collect();
    }

    /** Runs a stage and a shuffle; one of the reading tasks is long. */
    private static void stages(JavaSparkContext spark, int tasks, int readers, int ms, int longMs) {
        List<Integer> numbers = Executors.numbers(tasks);
        spark.parallelize(numbers, tasks)
            .mapToPair(task -> new Tuple2<>(task % readers, new Sleep().call(ms + task % 3 * ms / 4))).groupByKey(readers)
            .map(group -> new Sleep().call(group._1 == 3 ? longMs : ms)).collect();
    }

    @Override
    public Integer call(Integer ms) throws InterruptedException {
        Thread.sleep(ms);
        return ms;
    }
}
