package foreglow;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.apache.spark.BarrierTaskContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Executors that train together. Once they are connected they average over connections of their own: Spark's barrier would cost
 * a second each time.
 */
final class Training {
    private final JavaSparkContext spark;
    private final Executors executors;

    Training(JavaSparkContext spark, Executors executors) {
        this.spark = spark;
        this.executors = executors;
    }

    /** Starts the processes and connects them. */
    void connect(String token) {
        new Connect(executors, token).collect(spark);
    }

    /** Trains all steps; the reports of every executor. */
    List<String> train() {
        return new Each(executors, null).collect(spark);
    }

    /** Has every executor judge the CNN by its share of the held-out images: an order for each rank. */
    List<String> evaluate(List<String> orders) {
        return new Each(executors, orders).collect(spark);
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
            // Every executor learns where all of them listen.
            String[] addresses = context.allGather(executors.count == 1 ? "" : host + ":" + process.port());
            process.rank = context.partitionId();
            if (executors.count > 1) {
                process.order("{\"peers\":{\"rank\":" + process.rank + ",\"addresses\":[\"" + String.join("\",\"", addresses)
                    + "\"],\"token\":\"" + token + "\"}}");
            }
            return Collections.emptyList();
        }
    }

    /** An order to the process of each executor, by its rank, whichever task has come to it. */
    private static final class Each extends Barrier {
        private static final long serialVersionUID = 1;

        /** Of each rank; {@code null} trains. */
        private final ArrayList<String> orders;

        Each(Executors executors, List<String> orders) {
            super(executors);
            this.orders = orders == null ? null : new ArrayList<>(orders);
        }

        @Override
        List<String> run(BarrierTaskContext context) throws Exception {
            ExecutorProcess process = ExecutorProcess.warm(executors);
            return process.order(orders == null ? "{\"train\":{\"rank\":" + process.rank + "}}" : orders.get(process.rank));
        }
    }
}
