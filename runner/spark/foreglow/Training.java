package foreglow;

import java.util.List;

/** Distributed training, either by connected executors or in rounds that Spark averages. */
interface Training {
    /** Runs an untimed job that starts the processes and assigns ranks. */
    void settle();

    /** Returns the number of Spark jobs of the training. */
    int jobs();

    /** Trains all steps and returns the reports of every executor. */
    List<String> train();

    /** Evaluates the CNN on the held-out images, with one order per rank. */
    List<String> evaluate(List<String> orders);
}
