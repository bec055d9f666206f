"""The one place that makes a Spark session."""

import os
import sys

from pyspark import SparkConf
from pyspark.sql import SparkSession


def spark_session(master: str | None = None, driver_memory: str = "2g") -> SparkSession:
    """The running session (as on EMR Serverless), or a local one.

    `master` None: what spark-submit set, else `local[*]`.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    builder = SparkSession.builder.appName("headgate-index")
    if master is not None:
        builder = builder.master(master)
    defaults = {
        "spark.driver.memory": driver_memory,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
        "spark.log.level": "ERROR",
    }
    # Workers must run the interpreter that has Headgate installed.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = SparkConf()
    if not submitted.contains("spark.master"):  # not under spark-submit, whose settings stand
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        for key, value in defaults.items():
            builder = builder.config(key, value)
    return builder.getOrCreate()
