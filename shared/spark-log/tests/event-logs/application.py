"""The applications whose event logs are committed here: python application.py NAME, under spark-submit.

Tasks sleep instead of computing, so that a machine with two cores can run as many at once as a cluster.
"""

import os
import signal
import sys
import threading
import time

from pyspark import SparkContext


def partition(secs):
    """Processes one partition by sleeping for `secs` seconds."""
    time.sleep(secs)
    return 1


def warm_up(sc):
    sc.setJobDescription("foreglow warm-up")
    sc.parallelize([0.2] * 8, 8).map(partition).count()


def measured(sc):
    """Measures one stage of uneven tasks twice, like Foreglow's own driver."""
    warm_up(sc)
    sc.setJobDescription("foreglow measured")
    for sampling_rate, tasks in [("0.1", 3), ("1", 12)]:
        sc.setLocalProperty("spark.foreglow.sampling_rate", sampling_rate)
        secs = [0.3 + 0.05 * (task % 3) for task in range(tasks)]
        sc.parallelize(secs, tasks).map(partition).count()


def stages(sc):
    """Joins two shuffles, one with a long task, with driver time between jobs."""
    warm_up(sc)
    sc.setJobDescription(None)

    def shuffled(tasks, secs, longest):
        pairs = sc.parallelize(range(tasks), tasks).map(
            lambda task: (task % 4, partition(longest if task == 1 else secs))
        )
        return pairs.reduceByKey(lambda a, b: a + b, 4)

    for _ in range(2):
        shuffled(10, 0.2, 1.5).join(shuffled(6, 0.3, 0.3)).mapValues(lambda value: partition(0.2)).count()
        time.sleep(0.7)


def parallel(sc):
    """Runs one job, and then three concurrent jobs from threads of the driver."""
    warm_up(sc)
    sc.setJobDescription(None)
    sc.parallelize([0.3] * 9, 9).map(partition).count()
    jobs = [
        threading.Thread(target=lambda tasks=tasks: sc.parallelize([0.25] * tasks, tasks).map(partition).count())
        for tasks in (5, 7, 11)
    ]
    for job in jobs:
        job.start()
        time.sleep(0.1)
    for job in jobs:
        job.join()


def short(sc):
    """Runs many tasks of a few milliseconds, dominated by Spark's overhead per task."""
    warm_up(sc)
    sc.setJobDescription("foreglow measured")
    sc.parallelize([0.02] * 400, 400).map(partition).count()


def killed(sc):
    """Kills an executor during the measured job; its partitions are repeated."""
    warm_up(sc)
    sc.setJobDescription("foreglow measured")
    marker = os.path.join(os.environ["MARKERS"], "killed")

    def kill(task):
        time.sleep(0.3)
        if task == 3 and not os.path.exists(marker):
            open(marker, "w").close()
            worker_daemon = os.getppid()
            with open(f"/proc/{worker_daemon}/stat") as stat:
                executor = int(stat.read().rsplit(")", 1)[1].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(5)
        return 1

    sc.parallelize(range(8), 8).map(kill).count()


def failed(sc):
    """Runs a job that fails because one partition fails at every attempt."""
    warm_up(sc)
    sc.setJobDescription("foreglow measured")

    def fail(task):
        if task == 1:
            raise ValueError("the image 17.jpg is broken")
        return 1

    try:
        sc.parallelize(range(4), 4).map(fail).count()
    except Exception as error:
        print(type(error).__name__)


def barrier(sc):
    """Runs a barrier stage, whose tasks all run at the same time."""
    warm_up(sc)
    sc.setJobDescription("foreglow measured")
    sc.parallelize([0.3] * 4, 4).barrier().mapPartitions(lambda secs: [partition(next(secs))]).collect()


if __name__ == "__main__":
    context = SparkContext()
    globals()[sys.argv[1]](context)
    context.stop()
