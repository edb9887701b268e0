package foreglow;

import java.util.concurrent.atomic.AtomicLong;

import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.Function;

/**
 * A task of the untimed job: sends a mini-batch of each size through the executor's process and
 * returns the executor's ID.
 */
final class WarmUp implements Function<Integer, String> {
    private static final long serialVersionUID = 1;
    /** Partition numbers that no timed job uses. */
    private static final AtomicLong NEXT = new AtomicLong(1L << 32);

    private final Executors executors;
    private final long[] sizes;

    WarmUp(Executors executors, long[] sizes) {
        this.executors = executors;
        this.sizes = sizes;
    }

    @Override
    public String call(Integer task) throws Exception {
        ExecutorProcess process = ExecutorProcess.warm(executors);
        for (long size : sizes) {
            process.work(NEXT.getAndIncrement(), 0, size);
        }
        return SparkEnv.get().executorId();
    }
}
