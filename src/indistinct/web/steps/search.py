"""The step `search`: an algorithm, how far it is, and what it found."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import EVERY_ALGORITHM
from indistinct.models.words import promise_for_one
from indistinct.parameters import labels_of, starts_of
from indistinct.web import parts
from indistinct.web.algorithm_words import algorithms_by_kind, obstacles, words_of_algorithm
from indistinct.web.blocks import draw_asked
from indistinct.web.findings import find_in_names
from indistinct.web.following import SEARCHING, begin_search, promises_nothing
from indistinct.web.frame import Screen
from indistinct.web.language import name_list
from indistinct.web.parameter_fields import draw_value
from indistinct.web.parameters import build_value, default_texts, form_fields
from indistinct.web.sessions import job_of
from indistinct.web.standing import INSPECTED, RELEASED, STARTER
from indistinct.web.steps.analyses import draw_analyses
from indistinct.web.steps.before_after import draw_most_changed
from indistinct.web.steps.found_release import draw_release
from indistinct.web.steps.privacy import members_of, suppression_in_words
from indistinct.web.steps.remedies import remedies_for
from indistinct.web.steps.verdict_box import draw_findings, draw_verdict, link_to_release


async def draw(screen: Screen) -> None:
    """Draw the result of the last search, and the choice of an algorithm."""
    session, made = screen.session, screen.session.result(RELEASED)
    fresh = made is not None and session.is_fresh(RELEASED, job_of(session.policy))
    if fresh:
        draw_verdict(screen, made)
        with parts.tag("div", classes="actions"):
            link_to_release()
            parts.link("Compare with other solutions", "/explore", classes="button")
        draw_most_changed(screen, made)
        draw_analyses(screen, made)
        draw_release(made)
        wrong = "search" in screen.errors or screen.session.refusal((screen.step.name, "algorithm")) is not None
        with parts.details("Search in another way", screen.choices, name="another-way", start=bool(wrong)):
            _draw_search(screen, fresh=True)
        return
    if made is not None:
        parts.notice("Something was changed since this search.", kind="warning", hint="Search again for a new release.")
    _draw_request(screen)
    _draw_search(screen, fresh=False)
    if made is not None:
        draw_release(made)


def _draw_request(screen: Screen) -> None:
    """Draw the request of a search in words, with links to the steps that change it."""
    policy = screen.policy
    own = policy.algorithm.promise()
    models = (*policy.models, *(() if own is None else own.parts()))
    suppressed = suppression_in_words(policy.suppression, *members_of(screen.session)).partition(". ")[0]
    requests = [
        ("Made coarser", [name_list(policy.schema.quasi) if policy.schema.quasi else "no column"], "columns"),
        ("What must hold", [promise_for_one(each, policy.schema) for each in models] or ["nothing"], "privacy"),
        ("Suppression limit", [suppressed], "privacy"),
    ]
    draw_asked(requests)


def _draw_search(screen: Screen, *, fresh: bool) -> None:
    """Draw the choice of an algorithm, what prevents its use, and the button that begins."""
    session = screen.session
    _algorithm(screen)
    empty = promises_nothing(screen.policy)
    if empty:
        parts.notice("Nothing is promised yet, so there is nothing to search for.", kind="warning")
        parts.link("Say what must hold, in privacy", "/privacy", classes="main")
    cannot, notes = ([], []) if empty else obstacles(screen.policy.algorithm, screen.policy)
    looked, starter = session.result(INSPECTED), session.result(STARTER)
    draw_findings(screen, find_in_names(screen.policy, looked, starter), name="names")
    for each in notes:
        parts.say(f"{each}.", kind="hint")
    for each in cannot:
        parts.notice(each, kind="warning", hint="Choose another algorithm, or change what must hold.")
    with parts.tag("div", classes="actions"):
        screen.button(
            "Search again" if fresh else "Search",
            lambda: begin_search(session),
            main=not fresh and not empty,
            name="search",
            disabled=screen.cannot_begin("search") or empty,
        )
    screen.problem("search")
    _remedies(screen)


def _algorithm(screen: Screen) -> None:
    """Draw the choice of an algorithm and its parameters."""
    algorithm = screen.policy.algorithm
    words = words_of_algorithm(type(algorithm))
    screen.choice(
        "How to search",
        algorithms_by_kind(),
        algorithm.name,
        lambda name: _choose(screen, name),
        name="algorithm",
        hint=f"{words.about} (The algorithm {algorithm.name}.)",
    )
    if not form_fields(type(algorithm), screen.policy.schema):
        return
    opened = screen.choices.get("settings", False) or screen.session.refusal((screen.step.name, "algorithm"))
    with parts.details("Expert: settings of this algorithm", screen.choices, name="settings", start=bool(opened)):
        draw_value(
            screen,
            algorithm,
            _putting(screen),
            prefix="algorithm",
            labels=labels_of(type(algorithm)),
            title=f"Algorithm {algorithm.name}",
            part=lambda policy: policy.algorithm,
        )


def _choose(screen: Screen, name: str) -> None:
    """Change the algorithm."""
    if name == screen.policy.algorithm.name:
        return
    kind = EVERY_ALGORITHM[name]
    texts = {**default_texts(kind), **starts_of(kind)}
    _putting(screen)(build_value(kind, texts, schema=screen.policy.schema))


def _putting(screen: Screen) -> Callable[[Algorithm], None]:
    return lambda algorithm: screen.change(replace(screen.policy, algorithm=algorithm))


def _remedies(screen: Screen) -> None:
    """Offer what would let a search find something that found nothing."""
    work = screen.session.work
    if work is None or work.name != SEARCHING or work.error is None or screen.session.working:
        return
    for index, each in enumerate(remedies_for(work.error, screen.policy)):

        def take(policy: Any = each.policy) -> None:
            screen.session.require_valid()
            screen.change(policy)
            begin_search(screen.session)

        with parts.tag("div", classes="actions"):
            parts.button(f"{each.words}, and search again", screen.on(take), name=f"remedy-{index}")
