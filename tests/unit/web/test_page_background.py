"""Chores that follow by themselves: one after another, once for the same, and stopped when nobody wants them."""

import asyncio
import time

import pytest

from indistinct.web.background import Background, Chore
from indistinct.web.patience import patient_receive
from indistinct.web.worker import Progress, StoppedError, TaskError


class Hands:
    """A worker that does what it is told when it is let."""

    def __init__(self):
        self.begun, self.progress, self._let = [], None, None

    async def run_politely(self, task, *arguments, **options):
        self.begun.append((task, arguments, options))
        self._let = asyncio.get_running_loop().create_future()
        return await self._let

    def let(self, value):
        self._let.set_result(value)

    def fail(self, error):
        self._let.set_exception(error)

    def cancel(self):
        self.fail(StoppedError("the work was stopped"))

    def stop(self):
        pass


def background_of(hands):
    kept = {}
    return Background(hands, lambda chore, value: kept.__setitem__(chore.name, value), lambda: None), kept


def chore(name, rests_on=1, **more):
    return Chore(name, name.capitalize(), rests_on, f"task {name}", **more)


async def turns():
    for _ in range(5):
        await asyncio.sleep(0)


def test_chores_are_done_in_their_order_and_once_for_the_same():
    async def live():
        hands = Hands()
        background, kept = background_of(hands)
        background.want([chore("risk"), chore("reports", later=lambda: {"attacks": kept.get("risk")})])
        await turns()
        background.want([chore("risk"), chore("reports", later=lambda: {"attacks": kept.get("risk")})])
        await turns()
        assert [each[0] for each in hands.begun] == ["task risk"]
        hands.let("found")
        await turns()
        assert hands.begun[1] == ("task reports", (), {"attacks": "found"})
        hands.let("written")
        await turns()
        assert kept == {"risk": "found", "reports": "written"}
        assert background.running is None

    asyncio.run(live())


def test_a_chore_that_nobody_wants_any_more_is_stopped_for_the_next():
    async def live():
        hands = Hands()
        background, kept = background_of(hands)
        background.want([chore("risk", rests_on="old")])
        await turns()
        background.want([chore("risk", rests_on="new")])
        await turns()
        assert len(hands.begun) == 2
        hands.let("of the new")
        await turns()
        assert kept == {"risk": "of the new"}

    asyncio.run(live())


def test_what_failed_or_was_stopped_is_not_tried_again_for_the_same_unless_somebody_asks():
    async def live():
        hands = Hands()
        background, _ = background_of(hands)
        background.want([chore("risk"), chore("attacks")])
        await turns()
        hands.fail(TaskError("too large"))
        await turns()
        background.stop("attacks")
        await turns()
        background.want([chore("risk"), chore("attacks")])
        await turns()
        assert len(hands.begun) == 2
        assert background.error_of(chore("risk")).message == "too large"
        assert isinstance(background.error_of(chore("attacks")), StoppedError)
        assert background.error_of(chore("risk", rests_on=2)) is None
        background.retry("risk")
        background.want([chore("risk")])
        await turns()
        assert len(hands.begun) == 3

    asyncio.run(live())


def test_how_long_it_takes_is_told_by_what_has_passed(monkeypatch):
    async def live():
        hands = Hands()
        background, _ = background_of(hands)
        background.want([chore("risk", seconds=4.0), chore("reports", seconds=10.0)])
        await turns()
        began = background._since
        monkeypatch.setattr(time, "monotonic", lambda: began + 1)
        assert background.seconds_left("reports") == pytest.approx(3 + 10)
        hands.progress = Progress(0.5)
        assert background.seconds_left("risk") == pytest.approx(1)
        assert background.seconds_left("nothing") is None

    asyncio.run(live())


def test_a_body_that_does_not_go_on_is_a_connection_that_is_gone():
    async def live():
        messages = [{"type": "http.request", "body": b"a", "more_body": True}]

        async def receive():
            if messages:
                return messages.pop()
            await asyncio.sleep(60)
            return {}

        slow = patient_receive(receive, seconds=0.01)
        assert (await slow())["body"] == b"a"
        assert await slow() == {"type": "http.disconnect"}

    asyncio.run(live())


def test_whoever_waits_for_the_end_of_a_whole_request_waits_as_long_as_it_takes():
    async def live():
        messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"a", "more_body": False}]

        async def receive():
            message = messages.pop()
            await asyncio.sleep(0.05 if message["type"] == "http.disconnect" else 0)
            return message

        patient = patient_receive(receive, seconds=0.01)
        assert (await patient())["body"] == b"a"
        assert await patient() == {"type": "http.disconnect"}
        assert messages == []

    asyncio.run(live())
