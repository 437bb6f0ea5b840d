"""A standalone cluster of Spark on this machine: one master and two workers, each a process, and drivers that use it.

Each worker has an address of its own, as if it were another machine: Spark runs no second copy of a task where the
first one runs.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import indistinct as ind

MASTER, HOSTS = "127.0.0.1", ("127.0.0.1", "127.0.0.2")
PATIENCE = 300
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.ui.enabled": "false",
    "spark.driver.host": MASTER,
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.sql.shuffle.partitions": "4",
    "spark.io.encryption.enabled": "true",
}
# What a driver does before the lines of a test: `session` is one of the cluster.
DRIVER = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
import indistinct as ind

folder = Path({folder!r})
session = SparkSession.builder.master({address!r}).appName("a test").getOrCreate()
"""


@dataclass(frozen=True)
class Ended:
    """How a driver ended."""

    code: int
    output: str
    errors: str


@dataclass
class Cluster:
    """The processes of a cluster, and where they write."""

    folder: Path
    address: str
    home: Path
    environment: dict[str, str]
    stack: ExitStack
    started: int = 0

    def start(self, name, *arguments):
        """Start a process of the cluster, which ends with it."""
        line = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        log = self.stack.enter_context((self.folder / "log").open("a"))
        process = subprocess.Popen(line, env=self.environment, stdout=log, stderr=log, cwd=self.folder)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)

    def start_worker(self, host):
        """Start a worker with one core."""
        self.started += 1
        place = str(self.folder / f"work{self.started}")
        options = ["--host", host, "--cores", "1", "--memory", "512m", "--webui-port", "0", "--work-dir", place]
        self.start("worker.Worker", *options, self.address)

    def workers_alive(self):
        """Return how many workers the master knows."""
        told = (self.folder / "log").read_text()
        return told.count("Registering worker") - told.count("Removing worker")

    def drive(self, lines, *, watch=None, settings=None, environment=None):
        """Run a driver with some lines of Python, and `watch` beside it; return how it ended."""
        code = DRIVER.format(folder=str(self.folder), address=self.address) + lines + "\nsession.stop()\n"
        script = self.folder / "driver.py"
        script.write_text(code)
        options = [part for each in {**SETTINGS, **(settings or {})}.items() for part in ("--conf", "=".join(each))]
        around = {
            **self.environment,
            "PYSPARK_SUBMIT_ARGS": " ".join([*options, "pyspark-shell"]),
            **(environment or {}),
        }
        with subprocess.Popen(
            [sys.executable, str(script)], env=around, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as driver:
            try:
                if watch is not None:
                    watch(driver)
                output, errors = driver.communicate(timeout=4 * PATIENCE)
            finally:
                driver.kill()
        return Ended(driver.returncode, output.decode(), errors.decode())


def options_of(settings):
    """Return settings as options of a command of Spark."""
    return [part for each in settings.items() for part in ("--conf", "=".join(each))]


def await_file(path, driver=None):
    """Return what a file holds, once it is there."""
    for _ in range(10 * PATIENCE):
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            return json.loads(path.read_text())
        if driver is not None and driver.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError(f"{path.name} never came")


def end_processes(processes):
    """End processes at once, as a machine that loses its power does."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _free_port():
    with socket.socket() as probe:
        probe.bind((MASTER, 0))
        return probe.getsockname()[1]


def _await(holds, what):
    for _ in range(10 * PATIENCE):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError(f"{what} did not start")


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex((MASTER, port)) == 0


@contextmanager
def running_cluster(folder, *, beside=None):
    """Give a cluster that writes into a folder; `beside` is a folder of modules that drivers and workers import."""
    import pyspark

    home, port = Path(pyspark.__file__).parent, _free_port()
    modules = [str(Path(ind.__file__).parents[1]), *([] if beside is None else [str(beside)])]
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": MASTER,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYTHONPATH": os.pathsep.join(modules),
    }
    with ExitStack() as stack:
        cluster = Cluster(folder, f"spark://{MASTER}:{port}", home, environment, stack)
        cluster.start("master.Master", "--host", MASTER, "--port", str(port), "--webui-port", "0")
        _await(lambda: _listens(port), "the master")
        for host in HOSTS:
            cluster.start_worker(host)
        _await(lambda: cluster.workers_alive() >= len(HOSTS), "the workers")
        yield cluster
