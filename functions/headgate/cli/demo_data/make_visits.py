"""Makes `visits/`: a small Delta table with deletion vectors, column mapping and history.

Only delta-spark writes those, and it needs a JAR, so its output is kept here and `headgate demo`
reads that. To make it anew:

    spark-submit --packages io.delta:delta-spark_2.13:4.0.0 make_visits.py visits
"""

import sys

from pyspark.sql import SparkSession


def main(folder: str) -> None:
    """Four commits: create, rename a column, delete (vectors), update (vectors)."""
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        .getOrCreate()
    )
    table = f"delta.`{folder}`"
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, page STRING, seconds INT, day DATE) USING delta "
        "PARTITIONED BY (day) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', "
        "'delta.columnMapping.mode' = 'name')"
    )
    spark.sql(
        f"INSERT INTO {table} SELECT id, concat('/page/', id % 7), CAST(id % 90 AS INT), "
        "date_add(DATE '2026-01-01', CAST(id % 4 AS INT)) FROM range(0, 2000, 1, 1)"
    )
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN seconds TO duration_s")
    spark.sql(f"DELETE FROM {table} WHERE id % 50 = 0")
    spark.sql(f"UPDATE {table} SET duration_s = duration_s + 1000 WHERE id % 100 = 1")
    spark.stop()


main(sys.argv[1])
