"""The Spark session that an engine works in: one that is running, or a local one that is started quietly."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from indistinct.errors import IndistinctError, InputError, MissingExtraError, UnseenValueError
from indistinct.machine.spill import directory_of_process, spill_error

OLDEST_JAVA = 17
PYTHON = "PYSPARK_PYTHON"
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# Share of the driver's memory for groups: they are stored twice, as received and as one table.
SHARE_OF_DRIVER = 0.4
# Rows go past Java, which would spend more on compiling its own code well than that code then takes.
QUICK_START = "-XX:TieredStopAtLevel=1"
# Errors of workers are known again by their names.
KNOWN = {"UnseenValueError": UnseenValueError, "InputError": InputError}
# What of a running session is set while the engine works in it: large batches, and moments that every reader knows.
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


def import_pyspark() -> Any:
    """Return the package pyspark; raise `MissingExtraError` if it is not installed."""
    try:
        import pyspark
        import pyspark.sql
    except ImportError:
        raise MissingExtraError("pyspark", extra="spark", purpose="the engine spark") from None
    return pyspark


def session_for(memory: int | None) -> Any:
    """Return the running session, or start a local one whose driver may take `memory` bytes."""
    pyspark = import_pyspark()
    running = pyspark.sql.SparkSession.getActiveSession()
    if running is not None:
        return running
    # Where a session lives in another thread, or spark-submit has started Java, settings are not ours to choose.
    if pyspark.SparkContext._active_spark_context is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        with quiet():
            return pyspark.sql.SparkSession.builder.getOrCreate()
    require_java()
    return _start_session(pyspark, memory)


def _start_session(pyspark: Any, memory: int | None) -> Any:
    """Start a local session with settings for this library."""
    settings = {
        "spark.master": "local[*]",
        "spark.app.name": "indistinct",
        "spark.driver.memory": f"{(memory or 2 << 30) >> 20}m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.local.dir": str(directory_of_process()),
        "spark.driver.extraJavaOptions": QUICK_START,
        "spark.io.encryption.enabled": "true",  # rows, and what goes to workers, that lie on disk for a while
    }
    builder = pyspark.sql.SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with quiet(), this_python():
            return builder.getOrCreate()
    except Exception:  # noqa: BLE001 (py4j raises errors of many kinds)
        raise InputError(
            "Spark could not be started on this machine",
            hint="see what it wrote above; or pass a running session's frame",
        ) from None


@contextmanager
def this_python() -> Iterator[None]:
    """Let workers of a session that is started meanwhile run this Python, unless the environment names another.

    PySpark asks the environment alone, and else takes whatever is called python3.
    """
    if PYTHON in os.environ:
        yield
        return
    os.environ[PYTHON] = sys.executable
    try:
        yield
    finally:
        os.environ.pop(PYTHON, None)


def require_java() -> None:
    """Raise `InputError` unless Java is found by JAVA_HOME or on the path, and is not too old."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    hint = f"install Java {OLDEST_JAVA} or later, and put it on the path or name its folder in JAVA_HOME"
    if path is None:
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or later; none was found", hint=hint)
    version = java_version(path)
    if version is not None and version < OLDEST_JAVA:
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or later; {path} is Java {version}", hint=hint)


def java_version(java: str) -> int | None:
    """Return the version number of a Java, None if it prints none; Java 8 prints 1.8."""
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else None


def most_bytes(session: Any) -> int:
    """Return how many bytes of results the driver can take: what it may hold, or what Spark lets it fetch."""
    largest = _bytes(session.sparkContext.getConf().get("spark.driver.maxResultSize", "1g"))
    share = int(SHARE_OF_DRIVER * driver_bytes(session))
    return min(largest, share) if largest else share


def driver_bytes(session: Any) -> int:
    """Return how many bytes of memory the driver may take."""
    return _bytes(session.sparkContext.getConf().get("spark.driver.memory", "1g"))


def _bytes(text: str) -> int:
    """Parse a size such as 2g."""
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)b?", text.strip().lower())
    return 1 << 30 if match is None else int(match[1]) * UNITS[match[2]]


@contextmanager
def settings_of(session: Any) -> Iterator[None]:
    """Apply the settings that the engine needs to a session, and restore the previous ones on exit."""
    before = {name: session.conf.get(name) for name in SETTINGS}
    try:
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
        with quiet():
            yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out what PySpark says of versions of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@contextmanager
def shorten_errors(what: str) -> Iterator[None]:
    """Say in one sentence what Spark says in hundreds of lines, which may hold values of the table."""
    pyspark = import_pyspark()
    try:
        with quiet():
            yield
    except IndistinctError:
        raise
    except Exception as error:  # py4j raises errors of many kinds
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise _in_short(what, str(error), pyspark) from None


def _in_short(what: str, message: str, pyspark: Any) -> IndistinctError:
    """Shorten an error of Spark; errors of this library on workers are restored."""
    ours = re.search(r"indistinct\.errors\.(\w+): ([^\n]*)(?:\n\s*\n?\s*hint: ([^\n]*))?", message)
    if ours is not None:
        return KNOWN.get(ours[1], InputError)(ours[2], hint=ours[3])
    if "No module named" in message:
        return InputError(
            f"Spark's workers lack a package: they could not {what}",
            hint=f"install indistinct where workers run, and name that Python in {PYTHON} before the session starts, "
            "or for spark-submit in spark.pyspark.python",
        )
    if "indeterminate output" in message:
        return InputError(
            f"a worker was lost, and rows came otherwise when they were read again: Spark could not {what}",
            hint="run it again on Parquet files, or on a frame that gives the same rows each time (`persist`)",
        )
    if "No space left on device" in message:
        return spill_error(full=True)
    if "maxResultSize" in message:
        return InputError(
            f"the driver may not fetch what it needs to {what}",
            hint="raise spark.driver.maxResultSize and spark.driver.memory, or give `output` for a release",
        )
    return InputError(f"Spark {pyspark.__version__} could not {what}", hint="see the log of Spark for the reason")
