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

/** One task for each executor, all of them at the same time: a barrier stage of Spark's. */
abstract class Barrier extends AbstractFunction1<Iterator<Integer>, Iterator<String>> implements Serializable {
    private static final long serialVersionUID = 1;

    final Executors executors;

    Barrier(Executors executors) {
        this.executors = executors;
    }

    /** The task in each executor; its lines are the result. */
    abstract List<String> run(BarrierTaskContext context) throws Exception;

    @Override
    public Iterator<String> apply(Iterator<Integer> numbers) {
        try {
            // Spark 3 has Scala 2.12 and Spark 4 has 2.13: of the ways to make an iterator only this one is in both.
            return JavaConverters.asScalaIterator(run(BarrierTaskContext.get()).iterator());
        } catch (Exception error) {
            throw Barrier.<RuntimeException>unchecked(error);
        }
    }

    /** Runs it on a partition for each executor, and gives the lines of all. */
    List<String> collect(JavaRDD<Integer> ranks) {
        ClassTag<String> text = ClassTag$.MODULE$.apply(String.class);
        return new ArrayList<>(JavaRDD.fromRDD(ranks.rdd().barrier().mapPartitions(this, false, text), text).collect());
    }

    /** Scala knows no checked exceptions; wrapped, the executor's own words would stand behind Java's. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T unchecked(Throwable error) throws T {
        throw (T) error;
    }
}
