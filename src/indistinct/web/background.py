"""Work in the background: chores run one after another in a separate process while the steward continues.

A chore is identified by its name and its inputs. A second request for the same chore finds it running; a chore that is
no longer needed is stopped.
"""

import asyncio
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indistinct.web.worker import Progress, StoppedError, Task, TaskError, Worker, task_error

# From this share on, what has passed tells how long the rest takes.
MIN_SHARE_FOR_TIME_LEFT = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Chore:
    """Something to find: under which name it is kept, what it rests on, and about how many seconds it takes.

    `later` is asked for more options when its turn comes, which rest on what chores before it found.
    """

    name: str
    title: str
    rests_on: Any
    task: Task
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 1.0
    later: Callable[[], Mapping[str, Any]] = dict

    def is_same(self, other: "Chore") -> bool:
        """Return whether another chore would find the same."""
        return self.name == other.name and bool(self.rests_on == other.rests_on)


def remove_other_folders(folder: Path, kept: Collection[Path]) -> None:
    """Remove the folders in a folder of releases that no result leads to."""
    for each in folder.glob("*"):
        if each not in kept:
            shutil.rmtree(each, ignore_errors=True)


class Background:
    """Chores of one session: the one that runs, those that wait, and those that failed or were stopped."""

    def __init__(self, worker: Worker, keep: Callable[[Chore, Any], None], touch: Callable[[], None]) -> None:
        self._worker, self._keep, self._touch = worker, keep, touch
        self.running: Chore | None = None
        self.waiting: tuple[Chore, ...] = ()
        self._ended: dict[str, tuple[Chore, TaskError]] = {}
        self._since = 0.0
        self._handle: asyncio.Task[None] | None = None

    def want(self, chores: Sequence[Chore]) -> None:
        """Do these chores and no others; what failed, or was stopped, is not tried again for the same."""
        left = [each for each in chores if self.error_of(each) is None]
        running = self.running
        if running is not None and not any(running.is_same(each) for each in left):
            self._worker.cancel()
        self.waiting = tuple(each for each in left if running is None or not running.is_same(each))
        if self.waiting and (self._handle is None or self._handle.done()):
            self._handle = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        """Run the waiting chores one after the other, and keep their results."""
        while self.waiting:
            self.running, *rest = self.waiting
            chore, self.waiting, self._since = self.running, tuple(rest), time.monotonic()
            self._touch()
            try:
                result = await self._worker.run_politely(chore.task, *chore.arguments, **chore.options, **chore.later())
                self._keep(chore, result)
            except StoppedError:
                pass
            except Exception as error:  # noqa: BLE001 (it is shown, without what it may quote)
                self._ended[chore.name] = chore, task_error(error)
            finally:
                self.running = None
                self._touch()

    def stop(self, name: str) -> None:
        """Stop a chore, and do not begin it again for the same."""
        for chore in (*([self.running] if self.running else []), *self.waiting):
            if chore.name == name:
                self._ended[name] = chore, StoppedError(f"{chore.title}: stopped")
        self.waiting = tuple(each for each in self.waiting if each.name != name)
        if self.running is not None and self.running.name == name:
            self._worker.cancel()
        self._touch()

    def retry(self, name: str) -> None:
        """Forget how a chore ended, so that it can be wanted again."""
        self._ended.pop(name, None)
        self._touch()

    def error_of(self, chore: Chore) -> TaskError | None:
        """Return the error of a chore, or that it was stopped; None if it did not fail."""
        return self.error_under(chore.name, chore.rests_on)

    def error_under(self, name: str, rests_on: Any) -> TaskError | None:
        """Return the error of the named chore for these inputs, or that it was stopped; None if it did not fail."""
        ended = self._ended.get(name)
        return ended[1] if ended is not None and ended[0].rests_on == rests_on else None

    @property
    def progress(self) -> Progress:
        """How far the running chore is."""
        return self._worker.progress or Progress()

    def seconds_left(self, name: str) -> float | None:
        """Return the approximate seconds until a chore is done; None if it is not running."""
        if self.running is None:
            return None
        passed, share = time.monotonic() - self._since, self.progress.share
        whole = passed / share if share > MIN_SHARE_FOR_TIME_LEFT else max(self.running.seconds, passed * 1.2)
        left = max(whole - passed, 0.0)
        for chore in (self.running, *self.waiting):
            if chore is not self.running:
                left += chore.seconds
            if chore.name == name:
                return left
        return None

    def close(self) -> None:
        """Stop everything."""
        self.waiting = ()
        self._worker.stop()


def about_seconds(seconds: float) -> str:
    """Return a rounded duration in words.

    >>> about_seconds(0.4), about_seconds(17), about_seconds(95)
    ('a moment', 'about 15 seconds', 'about 2 minutes')
    """
    if seconds < 3:
        return "a moment"
    if seconds < 55:
        return f"about {max(5, round(seconds / 5) * 5)} seconds"
    return f"about {round(seconds / 60)} minute{'' if round(seconds / 60) == 1 else 's'}"
