"""A grid of algorithms and sizes of k: the result of each, for comparison."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from indistinct.algorithms.registry import parse_algorithm
from indistinct.figures import number, percent
from indistinct.job.policy import Policy
from indistinct.models.k_anonymity import sizes_asked, with_size
from indistinct.text_form import spell
from indistinct.web import parts
from indistinct.web.following import take_change
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.parameters import parse_whole
from indistinct.web.picking import Entry, Pick, pickable, table_html
from indistinct.web.steps.solutions import spell_metric
from indistinct.web.tasks.exploring import AlgorithmGrid, compare_grid, explored_job, plain_trials
from indistinct.web.worker import TaskError

COMPARED = "grid"
"""Under this name a session keeps what algorithms gave for several k."""
SIZES, TICKED = "grid-k", "grid-algorithms"
OFFERED = {
    "mondrian": "Ranges that fit parts of the table (mondrian)",
    "mondrian:choose=loss": "The same by loss: slower, keeps more (mondrian:choose=loss)",
    "single-dimensional": "Ranges that are the same for everybody (single-dimensional)",
    "top-down": "Groups along hierarchies (top-down)",
    "two-level": "Each lifted as far as needed: slower, keeps more (two-level)",
    "datafly": "Levels, quickly (datafly)",
    "optimal": "The best choice of one level for each column (optimal)",
    "auto": "What loses least of several (auto)",
}
BEGIN_WITH = ("mondrian", "datafly", "optimal")
# More releases than this are not compared at once.
MAX_POINTS = 30


async def draw_grid(screen: Screen) -> None:
    """Draw the choice of algorithms and sizes, and the results of a comparison."""
    session = screen.session
    parts.say(
        "Each algorithm makes a release for each k. It is measured and thrown away: only figures stay. On a large "
        "table this takes its time, and you can stop it."
    )
    ticked = chosen_algorithms(screen)
    with parts.tag("fieldset", classes="ticks", id=TICKED):
        parts.tag("legend", "Algorithms")
        for spec, words in offer_algorithms(screen.policy).items():
            name = f"grid-{spec.replace(':', '-').replace('=', '-')}"
            parts.tick(words, spec in ticked, _ticking(screen, spec), name=name)
    screen.problem(TICKED)
    screen.field(
        "Sizes of the smallest group (k)",
        screen.choices.get(SIZES, begin_sizes(screen.policy)),
        lambda value: _set_sizes(screen, value),
        name=SIZES,
        action=SIZES,
        hint="Several, with commas between them: 2, 5, 10. Whatever else was asked for stays.",
    )
    with parts.tag("div", classes="actions"):
        grid: AlgorithmGrid | None = session.result(COMPARED)
        screen.button(
            "Compare",
            lambda: begin_comparing(screen),
            name="compare",
            disabled=screen.cannot_begin(SIZES),
            at=SIZES,
        )
    if grid is not None:
        _draw_found(screen, grid)


def offer_algorithms(policy: Policy) -> dict[str, str]:
    """Return the algorithms that can be compared, with that of the job among them, and what they do."""
    own = policy.algorithm
    spec = spell(own)
    if own.traits.keeps_values or own.name == "node" or spec in OFFERED:
        return OFFERED
    return {**OFFERED, spec: f"{spec}: as set in this job"}


def begin_sizes(policy: Policy) -> str:
    """Return the sizes of k to begin with: that of the job, and some around it.

    >>> from indistinct.job.policy import Input
    >>> from indistinct.models import KAnonymity
    >>> from indistinct.schema import Schema
    >>> from pathlib import Path
    >>> begin_sizes(Policy(Input(Path("a.csv")), Schema(quasi=["age"]), (KAnonymity(11),)))
    '2, 5, 11, 20'
    """
    return ", ".join(str(k) for k in sorted({2, 5, *(sizes_asked(policy.models) or [10]), 20}))


def chosen_algorithms(screen: Screen) -> tuple[str, ...]:
    """Return the ticked algorithms, in the order of the list."""
    chosen = screen.choices.get(TICKED, BEGIN_WITH)
    return tuple(spec for spec in offer_algorithms(screen.policy) if spec in chosen)


def _ticking(screen: Screen, spec: str) -> Callable[[Any], None]:
    """Return the handler of an algorithm's checkbox."""

    def tick(value: Any) -> None:
        others = [each for each in chosen_algorithms(screen) if each != spec]
        screen.choices[TICKED] = [*others, spec] if value else others

    return tick


def sizes_of(text: str) -> tuple[int, ...]:
    """Return the sizes of k that a text contains, ascending; raise for anything else.

    >>> sizes_of("10, 2 5")
    (2, 5, 10)
    """
    sizes = {parse_whole(each, what="k") for each in text.replace(",", " ").replace(";", " ").split()}
    if not sizes:
        raise TaskError("name at least one k", hint="for example 2, 5, 10")
    return tuple(sorted(sizes))


def _set_sizes(screen: Screen, text: str) -> None:
    sizes_of(text)
    screen.choices[SIZES] = text


def begin_comparing(screen: Screen) -> None:
    """Begin to compare what is ticked."""
    session, policy, algorithms = screen.session, screen.policy, chosen_algorithms(screen)
    sizes = sizes_of(screen.choices.get(SIZES, begin_sizes(policy)))
    if not algorithms:
        raise TaskError("tick at least one algorithm")
    if len(sizes) * len(algorithms) > MAX_POINTS:
        raise TaskError(
            f"{len(algorithms)} algorithms with {len(sizes)} sizes of k are {len(sizes) * len(algorithms)} releases",
            hint=f"compare at most {MAX_POINTS} at once",
        )

    def then(grid: AlgorithmGrid) -> None:
        session.keep(COMPARED, grid, rests_on=grid_job(policy))

    session.begin("Comparing algorithms", compare_grid, policy, algorithms, sizes, then=then, action=SIZES)


def grid_job(policy: Policy) -> Policy | None:
    """Return the part of a policy that a comparison depends on: without k and the algorithm."""
    return explored_job(replace(policy, models=with_size(policy.models, 2), metrics=()))


def _draw_found(screen: Screen, grid: AlgorithmGrid) -> None:
    """Draw the results of the comparison as a table."""
    fresh = screen.session.is_fresh(COMPARED, grid_job(screen.policy))
    if not fresh:
        parts.notice("The job was changed since: these figures are those of before.", kind="warning")
    trials = plain_trials(grid)
    metrics = list(grid.comparison.metrics)
    counts = ("k", "suppressed", "classes", "smallest", "highest risk", *map(Own, metrics), "seconds")
    rows: list[list[Entry]] = []
    for index, trial in enumerate(trials):
        done = trial["state"] == "done"
        rows.append(
            [
                Own(trial["algorithm"]),
                str(trial["k"]),
                *(number(trial[key]) if done else "–" for key in ("suppressed", "classes", "smallest")),
                percent(trial["highest"]) if done and trial["highest"] is not None else "–",
                *(spell_metric(name, trial[name]) if trial[name] is not None else "–" for name in metrics),
                f"{trial['seconds']:.1f}",
                Pick(
                    "Choose",
                    str(index),
                    f"Choose {trial['algorithm']} with k = {trial['k']}",
                    not fresh or screen.cannot_begin(),
                )
                if done
                else f"{trial['state']}: {trial['reason']}",
            ]
        )
    best = [index for index, trial in enumerate(trials) if trial["best"]]
    markup = table_html("What each would give", ("algorithm", *counts, "choose"), rows, right=counts, marked=best)
    with parts.tag("section", id="grid", tabindex="-1", aria_label="What algorithms would give"):
        pickable(markup, screen.on(lambda place: choose(screen, grid, int(place)), at="grid"), name="grid-table")
        screen.problem("grid")
        parts.say(f"Marked: no other one is better in both {metrics[0]} and highest risk.", kind="hint")
        for name in ("sweep", "risk-and-utility"):
            if name in grid.pictures:
                parts.picture(grid.pictures[name])


def choose(screen: Screen, grid: AlgorithmGrid, index: int) -> None:
    """Take an algorithm and a k for the job, and publish by them."""
    trial, policy = plain_trials(grid)[index], screen.policy
    if trial["state"] != "done" or not screen.session.is_fresh(COMPARED, grid_job(policy)):
        raise TaskError("this was compared for another job", hint="compare again")
    models = with_size(policy.models, trial["k"])
    take_change(screen, replace(policy, algorithm=parse_algorithm(trial["algorithm"]), models=models))
