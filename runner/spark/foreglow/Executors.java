package foreglow;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** The executors of an application, as sent to every task. */
final class Executors implements Serializable {
    private static final long serialVersionUID = 1;
    private static final long PULSE_MS = 20;

    /** Number of executors, E. */
    final int count;
    /**
     * Path of {@code foreglow} on the workers, or {@code -} for the file that {@code spark.files}
     * ships.
     */
    final String program;
    /** Assignment of the executors in JSON. */
    final String assignment;

    Executors(int count, String program, String assignment) {
        this.count = count;
        this.program = program;
        this.assignment = assignment;
    }

    /**
     * Waits until all executors have registered. The process that started the driver sets the time
     * limit.
     */
    void await(JavaSparkContext spark) throws InterruptedException {
        // The list includes the driver.
        while (spark.sc().statusTracker().getExecutorInfos().length <= count) {
            if (spark.sc().isStopped()) {
                throw new IllegalStateException("the Spark master is gone, or has ended the application");
            }
            Thread.sleep(PULSE_MS);
        }
    }

    /**
     * Returns the distinct CPU models of the executors, or an empty text if they are unknown.
     * {@code slots} tasks reach all executors.
     */
    String processors(JavaSparkContext spark, int slots) {
        TreeSet<String> names = new TreeSet<>(spark.parallelize(numbers(slots), slots).map(new ProcessorName()).collect());
        names.remove("");
        return String.join(" and ", names);
    }

    /** Returns one partition per executor with its number. */
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
