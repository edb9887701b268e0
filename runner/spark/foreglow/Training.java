package foreglow;

import java.util.List;

/** Executors that train together, in one of two ways: connected with each other, or in rounds that Spark averages. */
interface Training {
    /** A job that is not timed: starts the processes, and numbers them. */
    void settle();

    /** Spark jobs that train. */
    int jobs();

    /** Trains all steps; the reports of every executor. */
    List<String> train();

    /** Has every executor judge the CNN by its share of the held-out images: an order for each rank. */
    List<String> evaluate(List<String> orders);
}
