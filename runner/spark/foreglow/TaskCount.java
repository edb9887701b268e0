package foreglow;

import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;

import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * Counts the finished tasks of a timed run and reports the count periodically. Spark calls it from
 * its own thread.
 */
final class TaskCount extends SparkListener {
    private static final long PULSE_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private final IntConsumer told;
    private boolean isTimed;
    private String run;
    private int done;
    private long last = System.nanoTime();

    TaskCount(IntConsumer told) {
        this.told = told;
    }

    @Override
    public void onJobStart(SparkListenerJobStart job) {
        isTimed = Driver.MEASURED.equals(job.properties().getProperty("spark.job.description"));
        String next = job.properties().getProperty(Driver.RUN);
        // A run may have several jobs.
        if (!Objects.equals(next, run)) {
            run = next;
            done = 0;
        }
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd task) {
        done++;
        if (isTimed && System.nanoTime() - last > PULSE_NS) {
            last = System.nanoTime();
            told.accept(done);
        }
    }
}
