package foreglow;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** The executors of an application, as every task knows them. */
final class Executors implements Serializable {
    private static final long serialVersionUID = 1;
    private static final long PULSE_MS = 20;

    /** How many there are, E. */
    final int count;
    /** Path of {@code foreglow} on the workers, or {@code -} for the file that {@code spark.files} ships. */
    final String program;
    /** What each of them is told first, JSON. */
    final String assignment;

    Executors(int count, String program, String assignment) {
        this.count = count;
        this.program = program;
        this.assignment = assignment;
    }

    /** Waits until all of them have registered; whoever started the driver bounds the time. */
    void await(JavaSparkContext spark) throws InterruptedException {
        // The driver counts as one.
        while (spark.sc().statusTracker().getExecutorInfos().length <= count) {
            if (spark.sc().isStopped()) {
                throw new IllegalStateException("the Spark master is gone, or has ended the application");
            }
            Thread.sleep(PULSE_MS);
        }
    }

    /** The names of their processors, each once; empty where no machine says it. So many tasks come to each of them. */
    String processors(JavaSparkContext spark, int slots) {
        TreeSet<String> names = new TreeSet<>(spark.parallelize(numbers(slots), slots).map(new ProcessorName()).collect());
        names.remove("");
        return String.join(" and ", names);
    }

    /** A partition for each of them, which holds its number. */
    JavaRDD<Integer> ranks(JavaSparkContext spark) {
        return spark.parallelize(numbers(count), count);
    }

    static List<Integer> numbers(int count) {
        List<Integer> numbers = new ArrayList<>(count);
        for (int number = 0; number < count; number++) {
            numbers.add(number);
        }
        return numbers;
    }
}
