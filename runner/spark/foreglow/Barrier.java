package foreglow;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

import org.apache.spark.BarrierTaskContext;
import org.apache.spark.api.java.JavaRDD;

import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** One task per executor, all running at the same time: a barrier stage of Spark. */
abstract class Barrier extends AbstractFunction1<Iterator<Integer>, Iterator<String>> implements Serializable {
    private static final long serialVersionUID = 1;

    final Executors executors;

    Barrier(Executors executors) {
        this.executors = executors;
    }

    /** Runs the task in an executor; its lines are the result. */
    abstract List<String> run(BarrierTaskContext context) throws Exception;

    @Override
    public Iterator<String> apply(Iterator<Integer> numbers) {
        try {
            // The only way to make an iterator that exists in both Scala 2.12 (Spark 3) and 2.13
            // (Spark 4).
            return JavaConverters.asScalaIterator(run(BarrierTaskContext.get()).iterator());
        } catch (Exception error) {
            throw Barrier.<RuntimeException>unchecked(error);
        }
    }

    /** Runs the task on one partition per executor and returns the lines of all. */
    List<String> collect(JavaRDD<Integer> ranks) {
        ClassTag<String> text = ClassTag$.MODULE$.apply(String.class);
        return new ArrayList<>(JavaRDD.fromRDD(ranks.rdd().barrier().mapPartitions(this, false, text), text).collect());
    }

    /**
     * Throws a checked exception from Scala code. Wrapping it would hide the executor's message
     * behind Java's.
     */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T unchecked(Throwable error) throws T {
        throw (T) error;
    }
}
