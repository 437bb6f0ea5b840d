"""What a steward decided and what was found, for as long as the server runs: nothing of it is in the browser.

The job is one `Policy`, so that whatever is decided here can be written down and run without the page. What was found
is kept with what it rests on: a change makes it old, and leaves the rest unmodified. What was decided is saved for
another day; results end with the session, which ends when it was not used for a while.
"""

import asyncio
import contextlib
import importlib
import inspect
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from indistinct.document.catalogue import ENGLISH
from indistinct.drawing.columns import bars_of_numbers, draw_bars
from indistinct.errors import MissingExtraError
from indistinct.job.policy import Output, Policy, Statement
from indistinct.job.policy.value import AnalysisPlan
from indistinct.web.background import Background, Chore
from indistinct.web.saving import Shelf, new_key
from indistinct.web.tables_job import TablesJob
from indistinct.web.worker import Progress, StoppedError, Task, TaskError, Worker, task_error

# Number of changes that can be undone.
MAX_CHANGES_REMEMBERED = 100
QUICK, LONG, BEHIND = "quick", "long", "behind"
LOOKED = ("inspection", "notes", "starter", "form", "tables-look")
"""The keys of findings of a first look at a table, which are restored when the steward returns to it."""
OUTCOMES = ("release", "risk", "attacks", "analyses", "solutions", "prepared")
"""The keys of findings of a search and what followed from it, which are restored when a change is undone."""
KEPT_RELEASES = 3
"""Number of changes back for which the files of a release are kept."""
SAVED = ("answers", "risk-choices", "keeps-rows")
"""The keys of decisions outside the policy, which are saved with it."""
# Seconds after a change until it is saved; several changes are saved together.
SAVE_DELAY_S = 1.0
IN_THE_WAY = "correct the field, or take back what was typed with Undo"
# Upper limit of browsers per server, because each has its own processes.
MAX_SESSIONS = 24
# Seconds after which a session without an open tab makes room for another one; a tab may lose its connection for less.
LEFT = 45.0
TASKS = ("looking", "columns", "hierarchies", "classes")
"""The tasks that answer quickly."""


class ConflictError(TaskError):
    """Another tab changed the same job meanwhile."""

    def __init__(self) -> None:
        """Make the error with its one message."""
        super().__init__(
            "this was changed in another tab meanwhile; what you see now is the newest state",
            hint="look at it, and make the change again if it is still wanted",
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server allows: the folder that paths may lead to, how large an upload may be, and whether it is a demo.

    Jobs are saved on the `shelf`. Pages are in `language`, or in that of the browser where it is None. A session that
    was not used for `idle` seconds ends.
    """

    folder: Path
    largest_upload: int
    demo: bool = False
    shelf: Shelf = field(default_factory=lambda: Shelf(None))
    idle: float = 4 * 3600.0
    language: str | None = None


def job_of(policy: Policy | None) -> Policy | None:
    """Return the part of a policy that a search depends on: without statements, analyses and output."""
    if policy is None:
        return None
    return replace(policy, about=Statement(), reasons={}, analysis=AnalysisPlan(), output=Output())


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task found, and what it rests on."""

    rests_on: Any
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """A job before a change: its policy or its tables, what was found of it, and the key under which it is saved."""

    policy: Policy | None
    tables: TablesJob | None
    name: str
    found: dict[str, TaskResult]
    key: str
    decided: bool


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """What was typed into a field and cannot be taken, with the reason; until it is settled, nothing runs by the job.

    `step` and `field` are its position, `label` is what the steward calls it, `text` what was typed. It is settled
    when the field takes something else, and when what the field is about, a `part` of the job, becomes another one.
    Where `action` is named, the field is about that alone, and not about the job.
    """

    step: str
    field: str
    label: str
    text: Any
    error: TaskError
    part: Callable[[Any], Any] = lambda _job: None
    action: str = ""


@dataclass(slots=True)
class Work:
    """A long task: what it is called, whether it is done, and how it ended.

    What goes wrong is shown at the field `at` of a `step`, where both are known.
    """

    name: str
    step: str = ""
    at: str = ""
    error: TaskError | None = None
    done: bool = False
    stopped: bool = False
    handle: asyncio.Task[None] | None = None


class Session:
    """One steward: a private folder, the job and its history, what was found, and three processes.

    The quick one answers what a page shows, the long one searches, and one does in the `background` what follows from a
    release. Every change has a number; a tab that saw an older one cannot overwrite a newer one. `save` is called after
    changes. Jobs that were saved before are shown to the `first` who opens a server.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        *,
        save: Callable[["Session"], None] = lambda _session: None,
        first: bool = False,
    ) -> None:
        self.folder, self.settings, self.first = folder, settings, first
        self.key = new_key()
        """Under which key the job is saved; each table that is opened has its own."""
        self.decided = False
        """Whether something was changed since the table was opened."""
        self.used = time.monotonic()
        self.language = settings.language
        """The language of its pages, which the steward can change; None is that of the browser."""
        self.shown_in = settings.language or ENGLISH
        """The language of the page that was drawn last; reports for recipients are in it."""
        self.tabs = 0
        """How many tabs are open."""
        self.uploads = 0
        """How many uploads are running."""
        self._save, self._saving = save, False
        self.name = ""
        self.policy: Policy | None = None
        self.tables: TablesJob | None = None
        """The job where it is about several tables of the same people; there is no `policy` then."""
        self.version = 0
        self.ended = False
        self.work: Work | None = None
        self._before: list[Before] = []
        self._found: dict[str, TaskResult] = {}
        self._refusals: dict[Any, tuple[Refusal, Any]] = {}
        folders = (settings.folder, folder)
        self._workers = {QUICK: Worker(folders, get_ready), LONG: Worker(folders), BEHIND: Worker(folders)}
        self.background = Background(self._workers[BEHIND], self._keep_outcome, self.touch)

    def start(self) -> None:
        """Start the process that answers quickly, before it is asked."""
        self._workers[QUICK].start()

    # The job

    def change(
        self, policy: Policy, *, seen: int | None = None, name: str | None = None, key: str | None = None
    ) -> None:
        """Replace the policy; `seen` is the version on which the change was based.

        With a `key` it is the job of another table: the one before is saved, and this one under its own key.
        """
        self._put(policy, None, seen=seen, name=name, key=key)

    def change_tables(
        self, tables: TablesJob, *, seen: int | None = None, name: str | None = None, key: str | None = None
    ) -> None:
        """Replace the job on several tables, as `change` does."""
        self._put(None, tables, seen=seen, name=name, key=key)

    def _put(
        self, policy: Policy | None, tables: TablesJob | None, *, seen: int | None, name: str | None, key: str | None
    ) -> None:
        """Replace policy and tables of the session, keep the state before for undo, and save soon."""
        if seen is not None and seen != self.version:
            raise ConflictError
        same = policy == self.policy and tables == self.tables
        if same and name in (None, self.name) and key in (None, self.key):
            return
        if key is not None and key != self.key:
            self.save()
        results = {each: self._found[each] for each in (*LOOKED, *OUTCOMES, *SAVED) if each in self._found}
        before = Before(self.policy, self.tables, self.name, results, self.key, decided=self.decided)
        self._before = [*self._before[-MAX_CHANGES_REMEMBERED + 1 :], before]
        self.decided = key is None
        self.key = key or self.key
        self.policy, self.tables, self.name = policy, tables, self.name if name is None else name
        self._forget_failure()
        self.touch()
        self.save_soon()

    def require_job(self) -> Policy:
        """Return the job; raise before a table is open."""
        if self.policy is None:
            raise TaskError("nothing is open", hint="open a table first")
        return self.policy

    def require_tables(self) -> TablesJob:
        """Return the job on several tables; raise where there is none."""
        if self.tables is None:
            raise TaskError("no job on several tables is open", hint="open their files together first")
        return self.tables

    @property
    def is_open(self) -> bool:
        """Whether a table, or several, are open."""
        return self.policy is not None or self.tables is not None

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to take back, or something in a field that could not be taken."""
        return bool(self.refusals()) or (
            bool(self._before) and (self._before[-1].policy is not None or self._before[-1].tables is not None)
        )

    def undo(self) -> None:
        """Undo the last change; an invalid text in a field counts as one."""
        if self.refusals():
            self._refusals.popitem()
            self.touch()
        elif self.can_undo:
            before = self._before.pop()
            if before.key != self.key:  # another table
                self.save()
                self.key = before.key
                for name in SAVED:
                    self._found.pop(name, None)
                self._found |= {name: each for name, each in before.found.items() if name in SAVED}
            self.policy, self.tables, results = before.policy, before.tables, before.found
            self.name, self.decided = before.name, before.decided
            kept = {name: each for name, each in results.items() if name not in SAVED}
            self._found |= {
                name: each for name, each in kept.items() if name not in OUTCOMES or self._is_there(results)
            }
            self._forget_failure()
            self.touch()
            self.save_soon()

    def _is_there(self, results: dict[str, TaskResult]) -> bool:
        """Return whether the files of a release are still there."""
        return "release" in results and bool(results["release"].value["files"]["table"].is_file())

    def kept_releases(self) -> set[Path]:
        """Return the folders of the releases that can be restored: the current one, and some earlier ones."""
        results = [self._found, *(each.found for each in self._before[-KEPT_RELEASES:])]
        return {each["release"].value["files"]["table"].parent for each in results if "release" in each}

    def _forget_failure(self) -> None:
        """Forget how the last task failed: what it failed for was changed."""
        if self.work is not None and self.work.done:
            self.work = None

    def touch(self) -> None:
        """Increase the version, so that tabs redraw."""
        self.version += 1

    def save_soon(self) -> None:
        """Save what was decided in a moment, with what is decided until then."""
        if self._saving:
            return
        with suppress(RuntimeError):  # without a loop nothing waits for it
            asyncio.get_running_loop().call_later(SAVE_DELAY_S, self.save)
            self._saving = True

    def save(self) -> None:
        """Save what was decided; a disk that cannot take it does not end the work."""
        self._saving = False
        with suppress(OSError):
            self._save(self)

    def use(self) -> None:
        """Record that the session is in use."""
        self.used = time.monotonic()

    @property
    def idle(self) -> float:
        """The seconds since the session was last used; 0 while a task runs."""
        return 0.0 if self.working or self.background.running else time.monotonic() - self.used

    @contextlib.contextmanager
    def open_tab(self) -> Iterator[None]:
        """Count a tab while it is open."""
        self.tabs += 1
        try:
            yield
        finally:
            self.tabs -= 1
            self.use()

    # What could not be taken

    def refuse(self, key: Any, refusal: Refusal) -> None:
        """Keep what a field could not take, under a key that no other field has."""
        self._refusals.pop(key, None)
        self._refusals[key] = refusal, self._part_of(refusal)
        self.touch()

    def refusal(self, key: Any) -> Refusal | None:
        """Return the invalid text of a field with its error, None if the field is valid."""
        self._settle()
        return self._refusals[key][0] if key in self._refusals else None

    def refusals(self, action: str = "") -> list[Refusal]:
        """Return the invalid fields of the job, and those of an action."""
        self._settle()
        return [each for each, _ in self._refusals.values() if each.action in ("", action)]

    def settle(self, key: Any) -> None:
        """Forget what a field could not take: it took something else, or is left as it was."""
        if self._refusals.pop(key, None) is not None:
            self.touch()

    def settle_all(self) -> None:
        """Leave every field as it was before something was typed that it could not take."""
        self._refusals.clear()
        self.touch()

    def require_valid(self, action: str = "") -> None:
        """Raise if a field is invalid, so that nothing runs with its old value."""
        left = self.refusals(action)
        if left:
            raise TaskError(f"{left[0].label} is not valid: {left[0].error.message}", hint=IN_THE_WAY)

    def _settle(self) -> None:
        """Forget what was typed about a part of the job that became another one."""
        self._refusals = {key: (each, was) for key, (each, was) in self._refusals.items() if self._part_of(each) == was}

    def _part_of(self, refusal: Refusal) -> Any:
        if self.tables is not None:
            return refusal.part(self.tables)
        return None if self.policy is None else (self.policy.source, refusal.part(self.policy))

    # What was found

    def keep(self, name: str, value: Any, *, rests_on: Any = None) -> None:
        """Store a result under a name with the inputs it depends on."""
        self._found[name] = TaskResult(rests_on, value)
        self.touch()
        if name in SAVED:
            self.save_soon()

    def _keep_outcome(self, chore: Chore, value: Any) -> None:
        self.keep(chore.name, value, rests_on=chore.rests_on)

    def result(self, name: str) -> Any:
        """Return the result stored under a name, None if there is none."""
        return self._found[name].value if name in self._found else None

    def rests_on(self, name: str) -> Any:
        """Return the inputs of the stored result of a name, None if there is no result."""
        return self._found[name].rests_on if name in self._found else None

    def is_fresh(self, name: str, rests_on: Any) -> bool:
        """Return whether a stored result still has the same inputs."""
        return name in self._found and bool(self._found[name].rests_on == rests_on)

    def forget(self, *names: str) -> None:
        """Forget what was found under some names, all if none is named."""
        for name in names or tuple(self._found):
            self._found.pop(name, None)
        self.touch()

    # Work

    async def ask(self, task: Task, *arguments: Any, **options: Any) -> Any:
        """Run a quick task and return its result."""
        return await self._workers[QUICK].run(task, *arguments, **options)

    def begin(
        self,
        name: str,
        task: Task,
        *arguments: Any,
        then: Callable[[Any], Any],
        lastly: Callable[[], None] = lambda: None,
        options: Any = None,
        at: tuple[str, str] = ("", ""),
        polite: bool = True,
        action: str | None = "",
    ) -> Work:
        """Begin a long task and return at once; `then` gets what it returns, and is waited for. One runs at a time.

        `lastly` tidies up, however the task ended: also where it was stopped. `at` is the step and the field where an
        error is shown. A task that is not `polite` runs at full speed, because a person waits for it.
        It does not begin while a field of the job, or of its `action`, could not take its text; where that is None, the
        task does not go by the job.
        """
        if action is not None:
            self.require_valid(action)
        self.require_rest()
        work = self.work = Work(name, *at)

        async def run() -> None:
            try:
                if work.stopped:  # before it began
                    raise StoppedError
                worker = self._workers[LONG]
                run_it = worker.run_politely if polite else worker.run
                result = await run_it(task, *arguments, **(options or {}))
                more = then(result)
                if inspect.isawaitable(more):
                    await more
            except Exception as error:  # noqa: BLE001 (it is shown, without what it may quote)
                work.error = task_error(error)
            finally:
                lastly()
                work.done = True
                self.touch()

        work.handle = asyncio.get_running_loop().create_task(run())
        self.touch()
        return work

    def require_rest(self) -> None:
        """Raise while a long task runs."""
        if self.work is not None and not self.work.done:
            raise TaskError(f"{self.work.name} still runs", hint="wait until it is done, or stop it")

    @property
    def working(self) -> bool:
        """Whether a long task runs."""
        return self.work is not None and not self.work.done

    @property
    def progress(self) -> Progress:
        """How far the long task is."""
        return self._workers[LONG].progress or Progress()

    @property
    def stopped(self) -> bool:
        """Whether the last long task was stopped by the steward."""
        return self.work is not None and isinstance(self.work.error, StoppedError)

    def cancel(self) -> None:
        """Stop the long task at once."""
        if self.work is not None and self.working:
            self.work.stopped = True
            self._workers[LONG].cancel()

    def close(self) -> None:
        """Save the decisions, end the processes and delete the session's folder; open tabs are notified."""
        self.ended = True
        self.touch()
        if self._saving:
            self.save()
        self.background.close()
        for worker in self._workers.values():
            worker.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Sessions:
    """All stewards of a server, by a secret that only their browser has."""

    def __init__(
        self, folder: Path, settings: Settings, *, save: Callable[[Session], None] = lambda _session: None
    ) -> None:
        self._folder, self._settings, self._save = folder, settings, save
        self._by_secret: dict[str, Session] = {}
        self._opened = 0

    def make_room(self) -> bool:
        """Return whether there is room for one more; the one that was left longest ago ends for it."""
        if len(self._by_secret) < MAX_SESSIONS:
            return True
        left = {secret: each.idle for secret, each in self._by_secret.items() if not each.tabs and each.idle > LEFT}
        if left:
            self._end(max(left, key=left.__getitem__))
        return bool(left)

    def open(self) -> tuple[str, Session]:
        """Return a new session and its secret."""
        folder = self._folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        session = Session(folder, self._settings, save=self._save, first=not self._opened)
        self._opened += 1
        secret = secrets.token_urlsafe(32)
        self._by_secret[secret] = session
        session.start()
        return secret, session

    def of(self, secret: str | None) -> Session | None:
        """Return the session of a secret, if there is one."""
        return None if secret is None else self._by_secret.get(secret)

    def end_idle(self) -> None:
        """End the sessions that were not used for a while; their decisions are saved."""
        for secret, session in list(self._by_secret.items()):
            if session.idle > self._settings.idle:
                self._end(secret)

    def _end(self, secret: str) -> None:
        """Save a session and end it."""
        session = self._by_secret.pop(secret)
        session.save()
        session.close()

    def close(self) -> None:
        """End all sessions."""
        for session in self._by_secret.values():
            session.close()
        self._by_secret.clear()


@contextlib.contextmanager
def sessions_in(
    folder: Path, settings: Settings, *, save: Callable[[Session], None] = lambda _session: None
) -> Iterator[Sessions]:
    """Give the sessions of a server; they end with it. `save` keeps what was decided in one."""
    sessions = Sessions(folder, settings, save=save)
    try:
        yield sessions
    finally:
        sessions.close()


def get_ready() -> None:
    """Load what quick tasks need, and draw a first picture, which takes longest, without showing it."""
    for name in TASKS:
        importlib.import_module(f"indistinct.web.tasks.{name}")
    with suppress(ImportError, MissingExtraError):
        draw_bars("", bars_of_numbers(np.arange(3.0), np.ones(3, dtype=np.int64)))
