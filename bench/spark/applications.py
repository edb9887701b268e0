"""Three ordinary applications on generated data: a group-by, a join and a word count.

    spark-submit applications.py APPLICATION FOLDER MILLIONS

Reads FOLDER/MILLIONS, which `generate` writes, and writes its result to the null sink. Used by
plan_logs.py, which makes the event logs.
"""

import sys

from pyspark.sql import SparkSession, functions as F


def generate(spark, folder, millions):
    """Writes Parquet files of MILLIONS million sales of skewed customers, and lines of text."""
    rows = spark.range(0, int(float(millions) * 1e6), 1, 24)
    key = (F.pow(F.rand(1), 3) * 200_000).cast("long")
    words = F.concat_ws(" ", *[F.concat(F.lit("w"), (F.pow(F.rand(seed), 2) * 5_000).cast("int")) for seed in range(2, 10)])
    rows.select("id", key.alias("customer"), (F.rand(11) * 100).alias("amount"), words.alias("words")).write.parquet(f"{folder}/{millions}")
    customers = spark.range(0, 200_000, 1, 8).select(F.col("id").alias("customer"), (F.rand(12) * 50).cast("int").alias("region"))
    customers.write.mode("overwrite").parquet(f"{folder}/customers")


def group_by(spark, folder, millions):
    sales = spark.read.parquet(f"{folder}/{millions}")
    result = sales.groupBy("customer").agg(F.sum("amount"), F.count("*"), F.stddev("amount"), F.countDistinct("words"))
    result.write.format("noop").mode("overwrite").save()


def join(spark, folder, millions):
    sales = spark.read.parquet(f"{folder}/{millions}")
    customers = spark.read.parquet(f"{folder}/customers")
    joined = sales.hint("merge").join(customers, "customer")
    joined.groupBy("region").agg(F.sum("amount"), F.max("words")).orderBy("region").write.format("noop").mode("overwrite").save()


def word_count(spark, folder, millions):
    words = spark.read.parquet(f"{folder}/{millions}").select(F.explode(F.split("words", " ")).alias("word"))
    counts = words.groupBy("word").count().orderBy(F.desc("count"))
    counts.write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    application, folder, millions = sys.argv[1:]
    session = SparkSession.builder.appName(application).getOrCreate()
    {"generate": generate, "group_by": group_by, "join": join, "word_count": word_count}[application](session, folder, millions)
    session.stop()
