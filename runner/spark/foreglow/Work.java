package foreglow;

import org.apache.spark.api.java.function.Function;

/**
 * A task of the timed job: sends its partition to the executor's process and returns the report.
 */
final class Work implements Function<Integer, String> {
    private static final long serialVersionUID = 1;

    private final Executors executors;
    private final long images;
    private final long partitionSize;

    Work(Executors executors, long images, long partitionSize) {
        this.executors = executors;
        this.images = images;
        this.partitionSize = partitionSize;
    }

    @Override
    public String call(Integer partition) throws Exception {
        long first = partition * partitionSize;
        return ExecutorProcess.warm(executors).work(partition, first, Math.min(partitionSize, images - first));
    }
}
