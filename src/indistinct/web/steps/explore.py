"""The step `explore`: one picture of solutions from safer to finer, rows before and after, and an expert's views."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nicegui.element import Element

from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.algorithms.registry import parse_algorithm
from indistinct.document.html import escape
from indistinct.figures import percent, plural
from indistinct.models.k_anonymity import sizes_asked, with_size
from indistinct.web import parts
from indistinct.web.following import SOLUTIONS, take_change
from indistinct.web.frame import Screen
from indistinct.web.front import Spot, draw_front
from indistinct.web.language import Own, translate
from indistinct.web.picking import fold_set, pickable, table_html
from indistinct.web.steps.algorithm_grid import draw_grid
from indistinct.web.steps.before_after import draw_column, draw_comparison, draw_rows
from indistinct.web.steps.solutions import SOME_ROWS, draw_lattice_view
from indistinct.web.steps.verdict_box import draw_verdict, link_to_release, release_of
from indistinct.web.tasks.exploring import LEFT_OUT, ShownSolution, Solutions, arrow, key_of_solutions

PLACE, EXPERT = "solution-place", "expert"
TITLE = "From safer to finer"
NOTHING_BETWEEN = "There is nothing between safer and finer for this release: change what must hold, or search anew."
SPEAK = "it.setAttribute('aria-valuetext', JSON.parse(it.dataset.words)[it.value]);"
MOVED = f"(e) => {{ const it = e.target; {SPEAK} emit(it.value); }}"
MOVE = f"{{ const it = document.getElementById('solution-slider'); if (it) {{ it.value = %d; {SPEAK} }} }}"
"""What the browser does when the slider is moved, and to move it to the place of a point that was picked."""


async def draw(screen: Screen) -> None:
    """Draw solutions from safer to finer, and what became of rows and columns in the release."""
    made = release_of(screen)
    if made is None:
        return
    draw_verdict(screen, made, short=True)
    solutions: Solutions | None = screen.session.result(SOLUTIONS)
    fresh = screen.session.is_fresh(SOLUTIONS, key_of_solutions(screen.policy, made))
    with parts.tag("div", classes="beside"):
        with parts.tag("div"):
            if fresh and solutions is not None and len(solutions.solutions) > 1:
                panel = _draw_solutions(screen, solutions)
            else:
                panel = None
                parts.heading(TITLE)
                parts.say(NOTHING_BETWEEN if fresh else "Other solutions are being found.")
        with parts.tag("div", id="columns"):
            parts.heading("Your release, column by column")
            draw_column(screen)
    if panel is not None:
        panel()
    with parts.tag("div", classes="actions"):
        link_to_release()
        parts.link("What remains of the risk", "/risk", classes="button")
    parts.heading("Rows before and after")
    await draw_rows(screen)
    await _unfold(screen, EXPERT, "Expert: all levels, the lattice, algorithms side by side", _draw_expert)


async def _unfold(screen: Screen, name: str, title: str, draw_it: Callable[[Screen], Any]) -> None:
    """Draw a part that is made once it is opened."""
    opened = bool(screen.choices.get(name))
    with parts.tag("div", classes="actions unfold"):
        turn = screen.on(lambda: screen.choices.__setitem__(name, not opened), at=name)
        box = parts.button(title, turn, name=name)
        box.props["aria-expanded"] = "true" if opened else "false"
    if opened:
        await draw_it(screen)


async def _draw_expert(screen: Screen) -> None:
    await draw_lattice_view(screen)
    draw_comparison(screen)
    parts.heading("Algorithms and k, side by side", level=3)
    await draw_grid(screen)


# From safer to finer


def _draw_solutions(screen: Screen, solutions: Solutions) -> Callable[[], None]:
    """Draw the picture with a slider under it; return what draws the solution that is looked at, which follows them."""
    of, title = len(solutions.solutions), TITLE
    position = place_looked_at(screen.choices, solutions)
    parts.heading(title)
    parts.say("Each point is a release that was already found. Move the slider, or pick a point, and look below.",
              kind="hint")  # fmt: skip
    boxes: list[tuple[Element, Callable[..., None]]] = []
    with parts.tag("section", id="solutions", tabindex="-1", aria_label="Solutions from safer to finer"):
        boxes.append((parts.tag("div"), _draw_picture))
        with parts.tag("div", classes="slider"):
            parts.tag("span", "safer", aria_hidden="true")
            # Markup: an element of the framework gets the value of the first drawing back at each update.
            slider = parts.html(slider_html(solutions, position, label=title), name="span")
            parts.tag("span", "finer", aria_hidden="true")

    def show(at: int, *, picked: bool = True) -> None:
        at = max(0, min(at, of - 1))
        screen.choices[PLACE] = solutions, at
        if picked and not slider.is_deleted:
            slider.client.run_javascript(MOVE % at)
        for box, draw_it in boxes:
            if not box.is_deleted:
                box.clear()
                with box:
                    draw_it(screen, solutions, at, show)

    def draw_panel() -> None:
        boxes.append((parts.tag("div", id="solution", aria_live="polite"), _draw_panel))
        show(position, picked=False)

    slider.on("input", lambda event: show(int(event.args), picked=False), js_handler=MOVED, throttle=0.06)
    return draw_panel


def place_looked_at(choices: Mapping[str, Any], solutions: Solutions) -> int:
    """Return the place of the solution that is looked at; of solutions that are new, that of the published one."""
    looked, position = choices.get(PLACE, (None, 0))
    middle = len(solutions.solutions) // 2
    return int(position) if looked is solutions else solutions.own if solutions.own is not None else middle


def slider_html(solutions: Solutions, index: int, *, label: str) -> str:
    """Return the slider as markup; it says in words which solution it is at, wherever it is moved to."""
    words = [translate(solution_in_words(each, solutions.unit)) for each in solutions.solutions]
    return (
        f'<input type="range" id="solution-slider" min="0" max="{len(words) - 1}" value="{index}" '
        f'aria-label="{escape(translate(label))}" aria-valuetext="{escape(words[index])}" '
        f'data-words="{escape(json.dumps(words))}">'
    )


def _draw_picture(_screen: Screen, solutions: Solutions, at: int, show: Callable[[int], None]) -> None:
    """Draw the picture of solutions by risk and loss."""
    spots = [
        Spot(each.risk, each.loss, str(index), solution_in_words(each, solutions.unit), index == at, each.own)
        for index, each in enumerate(solutions.solutions)
    ]
    picture = draw_front(spots, solutions.others, cost="detail lost", share=True)

    def pick(value: str) -> None:
        show(int(value))

    pickable(picture, pick, name="front", classes="plot")


def _draw_panel(screen: Screen, solutions: Solutions, at: int, _show: Callable[[int], None]) -> None:
    """Draw the chosen solution compared with the release."""
    chosen, own = solutions.solutions[at], None if solutions.own is None else solutions.solutions[solutions.own]
    with parts.tag("div", classes="card"):
        parts.tag("p", compare_in_words(chosen, own, solutions.unit), classes="sentence")
        warning = _weaker(screen, solutions, chosen)
        if warning:
            parts.notice(warning, kind="warning")
        rows = [show_row(one, two) for one, two in zip(solutions.before, chosen.after, strict=True)]
        parts.html(
            table_html(SOME_ROWS, [Own(each) for each in solutions.columns], [[*map(fold_set, row)] for row in rows]),
            classes="cells",
        )
        if not chosen.own:
            more = own is not None and chosen.loss > own.loss
            text = "Take this one, although it loses more" if more else "Take this one"
            with parts.tag("div", classes="actions"):
                take = screen.on(lambda: take_change(screen, with_solution(screen.policy, chosen)), at="take-solution")
                parts.button(text, take, name="take-solution", disabled=screen.cannot_begin())
            screen.problem("take-solution")


def show_row(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the cells of a row before and after; a suppressed row is marked once.

    >>> show_row(["88", "male"], ["80-89", "male"]), show_row(["88", "male"], ["suppressed", ""])
    (['88 → 80-89', 'male'], ['88 → suppressed', 'male'])
    """
    if len(before) != len(after):
        return [*after, *[""] * (len(before) - len(after))]
    gone = after[0] == LEFT_OUT and not any(after[1:])
    return [
        one if gone and index else arrow(one, two) for index, (one, two) in enumerate(zip(before, after, strict=True))
    ]


def with_solution(policy: Any, solution: ShownSolution) -> Any:
    """Return a policy that publishes a solution: its levels, or its k by the algorithm that found it."""
    if solution.node is not None:
        return replace(policy, algorithm=ChosenNode(solution.node))
    models = with_size(policy.models, solution.size)
    return replace(policy, models=models, algorithm=parse_algorithm(solution.algorithm))


def _weaker(screen: Screen, solutions: Solutions, chosen: ShownSolution) -> str:
    """Return a warning if a solution guarantees less than was requested."""
    asked = max(sizes_asked(screen.policy.models), default=0)
    if solutions.kind != "sizes" or chosen.size >= asked:
        return ""
    profile = screen.policy.about.profile
    by = f", which the profile {profile} asks for" if profile else ""
    return f"It guarantees less than was asked so far: classes of {chosen.size} instead of {asked}{by}."


def solution_in_words(solution: ShownSolution, unit: str) -> str:
    """Describe a solution and its cost in a sentence."""
    gone = f"{plural(solution.left_out, 'row')} suppressed" if solution.left_out else ""
    if gone and unit == "people":
        gone = f"{plural(solution.left_out, 'person', 'people')} with suppressed rows"
    figures = [
        f"{percent(solution.loss)} of detail lost",
        f"highest risk {percent(solution.risk)}",
        *([gone] if gone else []),
    ]
    words = f"{solution.words[:1].upper()}{solution.words[1:]}"
    return f"{words}: {', '.join(figures)}"


def compare_in_words(solution: ShownSolution, own: ShownSolution | None, unit: str) -> str:
    """Return a solution in words, compared with the published one.

    >>> one, two = (ShownSolution(f"classes of at least {k}", k, 1 / k, k / 100, 0, 9, ()) for k in (10, 20))
    >>> compare_in_words(two, one, "rows")
    'Classes of at least 20: 20 % of detail lost, highest risk 5 %. Your release loses 10 %, with a risk of 10 %.'
    """
    words = f"{solution_in_words(solution, unit)}."
    if solution.own:
        return f"Your release. {words}"
    if own is None:
        return words
    return f"{words} Your release loses {percent(own.loss)}, with a risk of {percent(own.risk)}."
