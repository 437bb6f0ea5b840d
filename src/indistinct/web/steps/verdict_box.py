"""The verdict on a release, the same on every step: a sentence, open lines with remedies, and the rest."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from indistinct.evaluation.verdict import Verdict
from indistinct.evaluation.verdict_line import sentence_of, words_of
from indistinct.figures import plural
from indistinct.web import parts
from indistinct.web.background import Chore, about_seconds
from indistinct.web.blocks import draw_list
from indistinct.web.findings import PageFinding, find_in_verdict
from indistinct.web.following import chores_for, follow, fresh_release, take_change
from indistinct.web.frame import Screen
from indistinct.web.sessions import Session
from indistinct.web.standing import INSPECTED, RELEASED, RISK, STARTER, check_release, key_of_risk
from indistinct.web.tasks.treatments import Treatments
from indistinct.web.worker import StoppedError

WHO_COULD = "Who could be found"
NO_RELEASE = "There is no release yet."
OLD_RELEASE = "The job was changed since the last search, so that its release is not what the job says."


def draw_verdict(screen: Screen, made: Any, *, short: bool = False) -> Verdict:
    """Draw the verdict on a release, and what is still being found about it; return it.

    Where it is `short`, what is open is drawn folded.
    """
    session = screen.session
    follow(session)
    verdict = check_release(session, made)
    with parts.tag("section", classes=f"verdict {verdict.tone}", id="verdict", aria_label="Verdict"):
        parts.tag("p", verdict.sentence, classes="sentence", role="status")
        looked, starter = session.result(INSPECTED), session.result(STARTER)
        findings = find_in_verdict(verdict, screen.policy, looked, starter, treatments=_treatments(session, made))
        if short and findings:
            title = f"{plural(verdict.to_decide, 'thing')} to decide"
            with parts.details(title, screen.choices, name="to-decide"):
                draw_findings(screen, findings, name="verdict")
        else:
            draw_findings(screen, findings, name="verdict")
        draw_looked_at(screen, verdict)
    draw_chores(screen, made)
    return verdict


def draw_looked_at(screen: Screen, verdict: Verdict) -> None:
    """Draw the lines that are not open, folded."""
    with parts.details("What was looked at", screen.choices, name="looked-at"):
        draw_list(list(settled_lines(verdict)))


def _treatments(session: Session, made: Any) -> Treatments | None:
    """Return the treatments found by the risk assessment, None if it is outdated."""
    risk = session.result(RISK) if session.is_fresh(RISK, key_of_risk(session, made)) else None
    return None if risk is None else risk["treatments"]


def settled_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the lines without a problem in words; unfinished ones are marked as being checked."""
    for line in verdict.lines:
        if line.state == "not checked" and verdict.running:
            yield f"being checked: {'attacks' if line.kind == 'attack' else words_of(line)}"
        elif not line.open:
            yield sentence_of(line)


def link_to_release() -> None:
    """Draw the way to the release."""
    parts.link("Go on to the release", "/release", classes="main")


def release_of(screen: Screen) -> Any:
    """Return the current release; without one, or if it is outdated, draw that and return None."""
    made = fresh_release(screen.session)
    if made is not None:
        return made
    say_no_release(old=screen.session.result(RELEASED) is not None)
    return None


def say_no_release(*, old: bool) -> None:
    """Draw that there is no release, or that it is outdated (`old`), with a link to the search."""
    if old:
        parts.notice(OLD_RELEASE, kind="warning", hint="Search again, or take the change back with Undo.")
    else:
        parts.notice(NO_RELEASE, hint="Search for one first.")
    parts.link("Go to search", "/search", classes="main")


def draw_findings(screen: Screen, findings: Sequence[PageFinding], *, name: str) -> None:
    """Draw findings under each other, each with its buttons; a click changes the job, and Undo takes it back."""
    if not findings:
        return
    with parts.tag("ul", classes="findings"):
        for index, finding in enumerate(findings):
            with parts.tag("li", classes=finding.tone):
                parts.tag("span", finding.words)
                if finding.remedies:
                    with parts.tag("div", classes="actions"):
                        for number, remedy in enumerate(finding.remedies):
                            at = f"{name}-{index}-{number}"
                            take = screen.on(lambda policy=remedy.policy: take_change(screen, policy), at=name)
                            parts.button(remedy.words, take, name=at, disabled=screen.cannot_begin())
    screen.problem(name)


def draw_chores(screen: Screen, made: Any) -> None:
    """Draw the running computations on a release, with time left and a button to stop."""
    session = screen.session
    wanted = [each for each in chores_for(session, made) if not session.is_fresh(each.name, each.rests_on)]
    draw_chore_lines(screen, wanted, begin=lambda: follow(session))


def draw_chore_lines(screen: Screen, chores: Sequence[Chore], *, begin: Callable[[], None]) -> None:
    """Draw chores that are not done: how long each takes, or how it ended; `begin` begins those that were stopped."""
    background = screen.session.background
    lines: list[tuple[str, str, str]] = []
    for chore in chores:
        error = background.error_of(chore)
        if isinstance(error, StoppedError):
            lines.append((chore.name, f"{chore.title}: stopped.", "again"))
        elif error is not None:
            lines.append((chore.name, f"{chore.title} could not be found: {error.message}.", "again"))
        elif (left := background.seconds_left(chore.name)) is not None:
            lines.append((chore.name, f"{chore.title}: {about_seconds(left)}.", "stop"))
    if not lines:
        return
    with parts.tag("div", classes="chores", id="chores", role="group", aria_label="What follows by itself"):
        parts.say("Computed in the background:", kind="hint")
        with parts.tag("ul"):
            for name, words, act in lines:
                with parts.tag("li"):
                    parts.tag("span", f"{words} ")
                    if act == "stop":
                        parts.button("Stop", screen.on(lambda n=name: background.stop(n)), name=f"stop-{name}")
                    else:
                        retry = screen.on(lambda n=name: _again(screen, n, begin))
                        parts.button("Try again", retry, name=f"again-{name}")


def _again(screen: Screen, name: str, begin: Callable[[], None]) -> None:
    """Run a failed chore again."""
    screen.session.background.retry(name)
    begin()
