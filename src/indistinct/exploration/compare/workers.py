"""Points of a comparison are tried in separate processes, so that a crash affects a single point.

The table is sent to a process through a pipe and never written to disk. A process ends when its pipe is closed, also if
the run that started it was killed.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from indistinct.errors import ParameterError
from indistinct.exploration.compare.trials import ComparedJob, Point, Trial, try_point
from indistinct.machine import threads

Tell = Callable[[Trial], None]


def try_points(compared: ComparedJob, points: Sequence[Point], *, workers: int, tell: Tell) -> None:
    """Try every point and report each when it is done; a single worker works in this process."""
    count = min(workers, len(points))
    if count <= 1:
        for point in points:
            tell(try_point(compared, point))
        return
    ahead, trials = SimpleQueue[Point](), SimpleQueue[Trial]()
    for point in points:
        ahead.put(point)
    sent, share = _pickle_job(compared), max(1, threads.workers() // count)
    team = [TrialWorker(sent, threads=share) for _ in range(count)]
    try:
        with ThreadPoolExecutor(count) as pool:
            running: set[Future[None]] = {pool.submit(worker.work, ahead, trials) for worker in team}
            try:
                # Trials are reported here and not in the threads, so that only one thread writes at a time.
                while running:
                    done, running = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
                    _tell_all(trials, tell)
                    for each in done:
                        each.result()
            finally:
                for worker in team:
                    worker.stop()
        _tell_all(trials, tell)
    finally:
        for worker in team:
            worker.close()


def _tell_all(queue: "SimpleQueue[Trial]", tell: Tell) -> None:
    with suppress(Empty):
        while True:
            tell(queue.get_nowait())


def _pickle_job(compared: ComparedJob) -> bytes:
    """Pickle a job for workers; raise if a part of it cannot be pickled."""
    try:
        return pickle.dumps(compared)
    except (pickle.PicklingError, TypeError, AttributeError):  # user-defined kinds may not be picklable
        raise ParameterError(
            "a hierarchy, a metric or the population of this comparison cannot be sent to another process",
            hint="pass workers=1",
        ) from None


class TrialWorker:
    """A process that tries points; it is started when first needed, and again after a crash."""

    def __init__(self, job: bytes, *, threads: int) -> None:
        self.job, self.threads = job, threads
        self.process: subprocess.Popen[bytes] | None = None
        self.stopped = False

    def work(self, ahead: "SimpleQueue[Point]", queue: "SimpleQueue[Trial]") -> None:
        """Try points until none is left."""
        while not self.stopped:
            try:
                point = ahead.get_nowait()
            except Empty:
                return
            queue.put(self.ask(point))

    def ask(self, point: Point) -> Trial:
        """Return the process's trial of a point, or a failed trial if the process crashed."""
        try:
            process = self._running()
            _send(process.stdin, point)
            trial = pickle.load(process.stdout)  # type: ignore[arg-type]  # noqa: S301 (what our own process wrote)
            assert isinstance(trial, Trial)  # noqa: S101
            return trial
        except (OSError, EOFError, pickle.UnpicklingError):
            code = self.close(patience=1.0)
            ended = f"signal {-code}, perhaps for want of memory" if code and code < 0 else f"exit code {code}"
            return Trial(point, "failed", f"the process that tried it ended: {ended}")

    def stop(self) -> None:
        """Kill the process and start no other."""
        self.stopped = True
        if self.process is not None:
            self.process.kill()

    def close(self, *, patience: float = 0.0) -> int | None:
        """Close the pipes, end the process if it does not end by itself, and return its exit code."""
        process, self.process = self.process, None
        if process is None:
            return None
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
        with suppress(OSError):
            process.communicate()
        return process.returncode

    def _running(self) -> "subprocess.Popen[bytes]":
        """Return the running process of the worker, started on first use."""
        if self.process is None:
            self.process = subprocess.Popen(
                # It imports what this process imports, and nothing from the working directory.
                [sys.executable, "-P", "-m", "indistinct.exploration.compare.workers"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # a traceback might quote a cell
                env={
                    **os.environ,
                    "INDISTINCT_THREADS": str(self.threads),
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
            if self.stopped:
                self.process.kill()
            _send(self.process.stdin, self.job)
        return self.process


def _send(pipe: Any, value: Any) -> None:
    pickle.dump(value, pipe)
    pipe.flush()


def main() -> None:
    """Try the points that arrive on stdin; only trials are written to the output, whatever else is printed."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    compared: ComparedJob = pickle.loads(pickle.load(sys.stdin.buffer))  # noqa: S301 (what the run that started us wrote)
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            _send(answers, try_point(compared, pickle.load(sys.stdin.buffer)))  # noqa: S301


if __name__ == "__main__":
    main()
