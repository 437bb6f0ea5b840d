"""Steps of the page drawn without a server or a browser, in a language; what they wait for is done at once."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from nicegui import Client, core, ui

from indistinct.document.translation import Translation
from indistinct.web import parts
from indistinct.web.background import Background, Chore
from indistinct.web.frame import Places, Screen
from indistinct.web.language import speak
from indistinct.web.sessions import Session
from indistinct.web.steps import STEPS
from indistinct.web.worker import Desk, TaskError


def work_at_once(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> None:
    """Let sessions do quick tasks and chores in this process, at once and each chore once."""
    done: list[Chore] = []

    async def ask(_session: Session, task: Any, *arguments: Any, **options: Any) -> Any:
        return task(desk, *arguments, **options)

    def want(background: Background, chores: list[Chore]) -> None:
        for chore in chores:
            if not any(each.is_same(chore) for each in done):
                done.append(chore)
                background._keep(chore, chore.task(desk, *chore.arguments, **chore.options, **chore.later()))

    monkeypatch.setattr(Session, "ask", ask)
    monkeypatch.setattr(Background, "want", want)


def draw_step(
    session: Session, step: str, errors: dict[str, TaskError] | None = None, choices: dict[str, Any] | None = None
) -> tuple[Client, Translation]:
    """Draw a step of a session, with what comes later by itself; return the page, and what translated it."""

    async def draw() -> tuple[Client, Translation]:
        before, core.loop = core.loop, asyncio.get_running_loop()
        try:
            client = Client(ui.page("/"))
            spoken = speak(client, session.language or "en")
            with client:
                places = Places(*(parts.tag("div") for _ in range(6)))
                screen = Screen(session, next(each for each in STEPS if each.name == step), STEPS, places)
                screen.errors = dict(errors or {})
                screen.choices |= choices or {}
                await screen.draw()
                for timer in [each for each in client.elements.values() if isinstance(each, ui.timer)]:
                    assert timer.callback is not None
                    await timer.callback()
            return client, spoken
        finally:
            core.loop = before

    return asyncio.run(draw())


def texts_of(client: Client) -> Iterator[str]:
    """Yield every text of a page."""
    for element in client.elements.values():
        if isinstance(text := getattr(element, "text", None) or getattr(element, "content", None), str):
            yield text
