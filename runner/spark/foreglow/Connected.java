package foreglow;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.apache.spark.BarrierTaskContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Executors that average over their own connections, because Spark's barrier would cost a second
 * each time. The whole training is one job.
 */
final class Connected implements Training {
    private final JavaSparkContext spark;
    private final Executors executors;
    private final String token;

    /** The token authenticates the executors among themselves. */
    Connected(JavaSparkContext spark, Executors executors, String token) {
        this.spark = spark;
        this.executors = executors;
        this.token = token;
    }

    @Override
    public void settle() {
        new Connect(executors, token).collect(executors.ranks(spark));
    }

    @Override
    public int jobs() {
        return 1;
    }

    @Override
    public List<String> train() {
        return new Each(executors, null).collect(executors.ranks(spark));
    }

    @Override
    public List<String> evaluate(List<String> orders) {
        return new Each(executors, orders).collect(executors.ranks(spark));
    }

    private static final class Connect extends Barrier {
        private static final long serialVersionUID = 1;

        private final String token;

        Connect(Executors executors, String token) {
            super(executors);
            this.token = token;
        }

        @Override
        List<String> run(BarrierTaskContext context) throws Exception {
            ExecutorProcess process = ExecutorProcess.warm(executors);
            String host = SparkEnv.get().blockManager().blockManagerId().host();
            // Every executor receives the addresses of all.
            String[] addresses = context.allGather(executors.count == 1 ? "" : host + ":" + process.port());
            process.rank = context.partitionId();
            if (executors.count > 1) {
                process.order("{\"peers\":{\"rank\":" + process.rank + ",\"addresses\":[\"" + String.join("\",\"", addresses)
                    + "\"],\"token\":\"" + token + "\"}}");
            }
            return Collections.emptyList();
        }
    }

    /** Sends each executor's process the order for its rank, whichever task runs there. */
    private static final class Each extends Barrier {
        private static final long serialVersionUID = 1;

        private static final long LATER_MS = 2000;

        /** Orders by rank; {@code null} to train. */
        private final ArrayList<String> orders;

        Each(Executors executors, List<String> orders) {
            super(executors);
            this.orders = orders == null ? null : new ArrayList<>(orders);
        }

        @Override
        List<String> run(BarrierTaskContext context) throws Exception {
            ExecutorProcess process = ExecutorProcess.warm(executors);
            try {
                return carryOut(process);
            } catch (ExecutorFailed failure) {
                if (failure.isReport()) {
                    // The cause may be another executor that exited early. Its failure should reach
                    // the driver first.
                    Thread.sleep(LATER_MS);
                }
                throw failure;
            }
        }

        private List<String> carryOut(ExecutorProcess process) throws Exception {
            return process.order(orders == null ? "{\"train\":{\"rank\":" + process.rank + "}}" : orders.get(process.rank));
        }
    }
}
