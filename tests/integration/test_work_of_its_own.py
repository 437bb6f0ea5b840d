"""Work in a process of its own: it tells how far it is, stops at once, and dies without harm."""

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from indistinct.job.policy import Input, Policy
from indistinct.schema import Schema
from indistinct.web.sessions import ConflictError, Sessions, Settings
from indistinct.web.worker import StoppedError, TaskError, Worker
from references import page_tasks as tasks
from references.page_server import PATIENCE


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sessions")
    opened = Sessions(folder, Settings(folder, 10**6))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def session(sessions):
    return sessions.open()[1]


async def until(is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.02)


def test_tasks_answer_one_after_another(session):
    async def ask():
        return await asyncio.gather(session.ask(tasks.add, 1, other=2), session.ask(tasks.add, 3))

    assert asyncio.run(ask()) == [3, 3]


def test_what_is_kept_stays_between_tasks_and_the_oldest_goes(session):
    async def ask():
        return [await session.ask(tasks.keep, ("table", name)) for name in "abac"]

    (first, _), _, (again, _), (_, kept) = asyncio.run(ask())
    assert first == again
    assert kept == [("table", "b"), ("table", "c")]


@pytest.mark.parametrize("ends", ["cancelled by the steward", "cancelled with the server"])
def test_progress_is_told_and_a_stop_does_not_wait(session, ends):
    async def run():
        work = session.begin("Waiting", tasks.tell, then=lambda _found: pytest.fail("it was stopped"))
        assert session.working
        with pytest.raises(TaskError, match="Waiting still runs"):
            session.begin("Another", tasks.add, 1, then=print)
        await until(lambda: session.progress.share == 0.5)
        assert (session.progress.stage, session.progress.rows) == ("reading", "7 of 9 rows")
        began = time.monotonic()
        if ends == "cancelled by the steward":
            session.cancel()
            await until(lambda: not session.working)
            assert isinstance(work.error, StoppedError)
            assert session.stopped
        else:
            work.handle.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work.handle
        return began

    # Leaving the loop waits for its threads: none may wait for the work.
    began = asyncio.run(run())
    assert time.monotonic() - began < 600  # the task itself would take a quarter of an hour
    assert not session.working


def test_a_stop_before_the_work_began_holds(session):
    async def run():
        work = session.begin("Waiting", tasks.tell, then=print)
        session.cancel()
        await work.handle
        return work

    assert isinstance(asyncio.run(run()).error, StoppedError)


def test_after_a_stop_the_next_task_runs(session):
    async def run():
        found = []
        work = session.begin("Waiting", tasks.tell, then=print)
        await until(lambda: session.progress.stage)
        session.cancel()
        await work.handle
        await session.begin("Adding", tasks.add, 1, then=found.append, options={"other": 4}).handle
        return found, session.work.error

    assert asyncio.run(run()) == ([5], None)


def test_a_process_that_dies_is_told_and_started_again(session):
    async def run():
        with pytest.raises(TaskError, match="ended before it was done") as caught:
            await session.ask(tasks.die)
        return caught.value, await session.ask(tasks.add, 1)

    error, found = asyncio.run(run())
    assert not isinstance(error, StoppedError)
    assert found == 1
    assert "memory" in error.message


def test_a_process_that_was_killed_between_tasks_is_started_again(session):
    async def run():
        psutil.Process(await session.ask(tasks.number_of_process)).kill()
        await asyncio.sleep(0.2)
        return await session.ask(tasks.add, 2)

    assert asyncio.run(run()) == 2


def test_errors_of_the_library_come_in_its_words_and_others_without_any(sessions, capfd):
    _, session = sessions.open()  # a new process writes to where this test looks

    async def run():
        told = []
        for task in (tasks.explain, tasks.quote):
            with pytest.raises(TaskError) as caught:
                await session.ask(task)
            told.append(caught.value)
        assert await session.ask(tasks.quote_in_a_thread) == "done"
        assert await session.ask(tasks.warn) == "done"
        return told

    explained, quoted = asyncio.run(run())
    assert (explained.message, explained.hint, explained.kind) == ("this is no table", "give another one", "InputError")
    assert "unexpected ValueError" in quoted.message
    assert tasks.CELL not in repr(vars(quoted)) + repr(vars(explained))
    said = capfd.readouterr().err
    assert tasks.CELL not in said
    assert "ValueError in references.page_tasks.quote, line" in said


def test_what_a_task_found_may_be_refused_by_whoever_asked(session):
    def then(_found):
        raise TaskError("not this one")

    async def run():
        work = session.begin("Adding", tasks.add, 1, then=then)
        await work.handle
        return work

    work = asyncio.run(run())
    assert (work.done, work.error.message) == (True, "not this one")


def test_sessions_have_processes_of_their_own(sessions, session):
    _, other = sessions.open()

    async def run():
        mine, theirs = await asyncio.gather(session.ask(tasks.number_of_process), other.ask(tasks.number_of_process))
        work = session.begin("Waiting", tasks.tell, then=print)
        await until(lambda: session.progress.stage)
        assert await other.ask(tasks.add, 1) == 1  # nobody waits for somebody else
        assert await session.ask(tasks.add, 1) == 1  # and what a page shows does not wait for a search
        assert not other.working
        session.cancel()
        await work.handle
        return mine, theirs

    mine, theirs = asyncio.run(run())
    assert mine != theirs
    folder = other.folder
    assert folder.is_dir()
    other.close()
    assert not folder.exists()
    assert not psutil.pid_exists(theirs)


def test_a_tab_that_saw_an_older_job_cannot_overwrite_a_newer_one(sessions):
    _, session = sessions.open()
    one, other = (
        Policy(input=Input(path), schema=Schema(quasi=("age",)), models=()) for path in ("one.csv", "other.csv")
    )
    seen = session.version
    session.change(one, seen=seen)
    with pytest.raises(ConflictError, match="another tab"):
        session.change(other, seen=seen)
    assert session.policy == one
    assert not session.can_undo
    session.change(other, seen=session.version)
    session.undo()
    assert session.policy == one


def test_who_no_longer_waits_ends_neither_the_process_nor_what_it_does(sessions):
    _, session = sessions.open()

    async def run():
        before = await session.ask(tasks.number_of_process)
        waits = asyncio.create_task(session.ask(tasks.slow, 0.3))
        await asyncio.sleep(0.1)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        return before, await session.ask(tasks.number_of_process)

    before, after = asyncio.run(run())
    assert before == after


@pytest.mark.skipif(not hasattr(os, "nice"), reason="no such thing here")
def test_only_polite_work_stands_back(session):
    async def run():
        found = []
        for polite in (False, True, True, False):
            await session.begin("Looking", tasks.niceness, then=found.append, polite=polite).handle
        return found

    usual = os.nice(0)
    assert asyncio.run(run()) == [usual, min(19, usual + 10), min(19, usual + 10), usual]


def test_a_process_gets_ready_before_its_first_task_and_in_the_same_thread(tmp_path):
    """What one thread has half imported is enough for another that draws to stumble over it."""
    worker = Worker([tmp_path], tasks.prepare_slowly)
    try:
        assert asyncio.run(worker.run(tasks.prepared)) == [True]
    finally:
        worker.stop()


def test_nothing_imports_pandas_while_a_process_draws(session):
    pytest.importorskip("altair")
    assert asyncio.run(session.ask(tasks.draw_a_picture)) == (True, False)


def test_steps_are_imported_by_one_thread_at_a_time(monkeypatch):
    from indistinct.web import steps

    at_once, most = [], []

    def load(_name):
        at_once.append(1)
        most.append(len(at_once))
        time.sleep(0.01)
        at_once.pop()
        return "module"

    monkeypatch.setattr(steps, "import_module", load)
    monkeypatch.setattr(steps, "LOADED", {})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(steps._load, steps.MODULES.values()))
    assert max(most) == 1
    assert set(steps.LOADED) == set(steps.MODULES.values())
