"""The one Spark session of a test process: two tasks at a time, four partitions or more, a time zone far away."""

import functools
import os
import shutil
import warnings

import pytest

from indistinct.engines.spark.session import this_python

HAS_JAVA = shutil.which(f"{os.environ['JAVA_HOME']}/bin/java" if "JAVA_HOME" in os.environ else "java")
needs_java = pytest.mark.skipif(HAS_JAVA is None, reason="Spark needs Java, and there is none on this machine")
# PySpark leaves its sockets to the garbage collector.
QUIET = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SETTINGS = {
    "spark.master": "local[2]",
    "spark.default.parallelism": "4",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.memory": "700m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.io.encryption.enabled": "true",
}


@functools.cache
def spark():
    """Return the session, started when it is first needed; Java ends with the process."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings(), this_python():
        warnings.simplefilter("ignore")
        return builder.getOrCreate()
