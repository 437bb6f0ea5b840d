"""Work in a process of its own: tasks one after another, with progress, and a stop that does not wait.

A task is a function at the top of a module; it gets a `Desk`, which keeps opened tables and says how far the work is,
and plain values. What it raises comes back as a `TaskError`, in the words of the library and without any cell.
"""

import asyncio
import contextlib
import functools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from indistinct.errors import Feasible, IndistinctError, InfeasibleError
from indistinct.machine.arrow_alone import keep_arrow_from_pandas
from indistinct.machine.memory import is_memory, out_of_memory
from indistinct.machine.stages import watch_stages
from indistinct.tables.addresses import fence_reading
from indistinct.web.logs import LOG, quiet_logs

Task = Callable[..., Any]
SPAWN = multiprocessing.get_context("spawn")
# Seconds between two words about progress that is no news.
SECONDS_BETWEEN_REPORTS = 0.1
# How far a patient process lowers its priority.
NICENESS = 10


class TaskError(Exception):
    """What went wrong in a task: a message, what to do, the name of the library's error, and what is feasible instead.

    `feasible` is None unless a search found that no release can satisfy the guarantee.
    """

    def __init__(
        self, message: str, *, hint: str | None = None, kind: str = "Error", feasible: Feasible | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.hint, self.kind, self.feasible = message, hint, kind, feasible


class StoppedError(TaskError):
    """The work was stopped by its caller."""

    def __init__(self, message: str = "the work was stopped") -> None:
        super().__init__(message)


def task_error(error: BaseException) -> TaskError:
    """Return an error as one that may be shown: the words of the library, and of others only their kind."""
    if isinstance(error, TaskError):
        return error
    if is_memory(error):
        error = out_of_memory("this step")
    if isinstance(error, IndistinctError):
        feasible = error.feasible if isinstance(error, InfeasibleError) else None
        return TaskError(error.message, hint=error.hint, kind=type(error).__name__, feasible=feasible)
    LOG.error(error)
    return TaskError(
        f"an unexpected {type(error).__name__} in this step; its text is not shown, because it may quote a value",
        hint="the same job on the command line may tell more",
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task is: a share from 0 to 1, the stage that it is in, and rows that the stage has passed."""

    share: float = 0.0
    stage: str = ""
    rows: str = ""


@dataclass(slots=True)
class Desk:
    """What a process keeps between its tasks, and how a task says how far it is."""

    tell: Callable[[Progress], None] = lambda _progress: None
    kept: dict[Any, Any] = field(default_factory=dict)
    progress: Progress = Progress()

    def report(self, share: float) -> None:
        """Say which share of the task is done."""
        self.progress = Progress(share, self.progress.stage, self.progress.rows)
        self.tell(self.progress)

    def enter(self, stage: str, rows: str = "") -> None:
        """Say which stage the task is in."""
        self.progress = Progress(self.progress.share, stage, rows)
        self.tell(self.progress)

    def goes_on(self, stage: str, rows: str) -> None:
        """Report a stage, or the progress of the current one."""
        self.enter(stage or self.progress.stage, rows)

    def keep(self, key: Any, make: Callable[[], Any], *, most: int = 2) -> Any:
        """Return a cached value, made on first use; the oldest value of its kind may be removed."""
        if key not in self.kept:
            made = make()
            alike = [each for each in self.kept if each[0] == key[0]]
            for old in alike[: max(0, len(alike) - most + 1)]:
                del self.kept[old]
            self.kept[key] = made
        return self.kept[key]


class Worker:
    """A process that runs tasks for one steward. It is started by its first task, and again after a stop."""

    def __init__(self, folders: Sequence[Path], prepare: Callable[[], None] | None = None) -> None:
        """Create a worker whose tasks read in some folders; its process first runs `prepare`."""
        self._folders, self._prepare = folders, prepare
        self._polite = False
        self._process: Any = None
        self._pipe: Any = None
        self._turn = asyncio.Lock()
        self._stopped = False
        self.progress: Progress | None = None

    def start(self) -> None:
        """Start the process, so that the first task need not wait for it."""
        if self._process is not None and self._process.is_alive():
            return
        self._pipe, theirs = SPAWN.Pipe()
        given = (theirs, self._folders, self._prepare)
        self._process = SPAWN.Process(target=_serve, args=given, name="indistinct-page")
        self._process.start()
        self._polite = False
        theirs.close()

    async def run(self, task: Task, *arguments: Any, **options: Any) -> Any:
        """Run a task and return its result; tasks run one at a time."""
        return await self._run(task, arguments, options)

    async def run_politely(self, task: Task, *arguments: Any, **options: Any) -> Any:
        """Run a task at low priority and return its result, so that pages respond during a search."""
        return await self._run(task, arguments, options, polite=True)

    async def _run(self, task: Task, arguments: Any, options: Any, *, polite: bool = False) -> Any:
        """Run a task when it is its turn; the task goes on if the caller no longer waits."""
        await self._turn.acquire()
        talk = asyncio.get_running_loop().create_task(self._talk((task, arguments, options), polite=polite))
        talk.add_done_callback(lambda _talk: self._turn.release())
        # A page that is drawn anew no longer waits for what it asked; the process goes on, and keeps its tables.
        return await asyncio.shield(talk)

    async def _talk(self, request: Any, *, polite: bool) -> Any:
        """Send a request to a process of the right priority, and return its answer."""
        self._stopped, self.progress = False, Progress()
        try:
            if self._polite and not polite:  # the caller waits for this task, so its process runs at full speed
                self.stop()
            self.start()
            if polite and not self._polite:
                await asyncio.to_thread(self._converse, (stand_back, (), {}))
                self._polite = True
            return await asyncio.to_thread(self._converse, request)
        except asyncio.CancelledError:  # the server ends, and its thread must not wait for the work
            self.stop()
            raise
        finally:
            self.progress = None

    def _converse(self, request: Any) -> Any:
        """Send a request and wait for the answer; progress is kept meanwhile."""
        pipe, process = self._pipe, self._process
        try:
            pipe.send(request)
            while True:
                ready = wait([pipe, process.sentinel], timeout=SECONDS_BETWEEN_REPORTS)
                if self._stopped or (ready and pipe not in ready):
                    raise EOFError
                if not ready:
                    continue
                kind, value = pipe.recv()
                if kind == "progress":
                    self.progress = value
                elif kind == "done":
                    return value
                else:
                    raise TaskError(**value)
        except (EOFError, OSError):
            if self._stopped:
                self._process = None
                threading.Thread(target=process.join, daemon=True).start()
                raise StoppedError from None
            self.stop()
            raise TaskError(
                "the work ended before it was done, which happens when there is not enough memory",
                hint="close other programs, or give the table fewer columns or rows",
            ) from None

    def cancel(self) -> None:
        """Stop the running task at once, without waiting for the process to free its memory."""
        self._stopped, process = True, self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.join()


def stand_back(_desk: Desk) -> None:
    """Let others go first from now on. A process cannot take that back."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)


def _serve(pipe: Connection, folders: Sequence[Path], prepare: Callable[[], None] | None) -> None:
    """Run tasks until the pipe is closed."""
    quiet_logs()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt of the server ends this process with it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # No two threads import: a module that is half there is enough for Altair to stumble over it.
    keep_arrow_from_pandas()
    if prepare is not None:
        prepare()
    turn, reported = threading.Lock(), [(0.0, Progress())]

    def tell(progress: Progress) -> None:
        now = time.monotonic()
        with turn:  # threads of a search report at the same time
            then, last = reported[0]
            news = progress.stage != last.stage or abs(progress.share - last.share) >= 0.01
            if news or now - then >= SECONDS_BETWEEN_REPORTS:
                reported[0] = now, progress
                pipe.send(("progress", progress))

    desk = Desk(tell=tell)
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt), watch_stages(desk.goes_on), fence_reading(*folders):
        while True:
            task, arguments, options = pipe.recv()
            desk.progress = Progress()
            answer = _answer(functools.partial(task, desk, *arguments, **options))
            with turn:
                pipe.send(answer)


def _answer(run: Callable[[], Any]) -> tuple[str, Any]:
    """Run a task; return its result, or its error without cell values."""
    try:
        return "done", run()
    except Exception as error:  # noqa: BLE001 (whatever it says may quote a cell)
        failure = task_error(error)
        return "failed", {
            "message": failure.message,
            "hint": failure.hint,
            "kind": failure.kind,
            "feasible": failure.feasible,
        }


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
    os._exit(1)
