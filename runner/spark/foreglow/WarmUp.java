package foreglow;

import java.util.concurrent.atomic.AtomicLong;

import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.Function;

/** A task of the job that is not timed: a mini-batch of each size through the executor's process. Returns the executor's id. */
final class WarmUp implements Function<Integer, String> {
    private static final long serialVersionUID = 1;
    /** Numbers that no partition of a timed job has. */
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
