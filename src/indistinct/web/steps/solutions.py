"""All solutions of a lattice: the Pareto front, the lattice, a ranking, and one solution to look at and choose."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from indistinct.algorithms.full_domain.node import ChosenNode, spell_node
from indistinct.exploration.explore import Exploration, Row
from indistinct.figures import number, percent, plural
from indistinct.metrics import SHARES
from indistinct.web import parts
from indistinct.web.following import take_change
from indistinct.web.frame import Screen
from indistinct.web.front import Spot, draw_front
from indistinct.web.language import Own
from indistinct.web.parameters import parse_whole
from indistinct.web.picking import Entry, Pick, first_of, lattice, pages, pickable, table_html
from indistinct.web.tasks.exploring import MAX_NODES, Explored, arrow, explore_all, explored_job, levels_in_words

EXPLORED = "exploration"
"""Under this name a session keeps the lattice of its job."""
SOME_ROWS = "Some rows, before → after"
MOST, METRIC, LOOKED, EVERY, FIRST = "most-nodes", "metric", "looked", "every-node", "nodes-page"
ON_PAGE = 15
# The longest front that is listed whole.
MAX_NODES_LISTED = 40


async def draw_lattice_view(screen: Screen) -> None:
    """Draw how to compute all solutions and, once they are there, what they are."""
    policy, session = screen.policy, screen.session
    parts.say(
        "Every combination of levels is tried: each column unmodified, or one of the coarser levels of its hierarchy "
        "for all its values. See what each costs, and which risk it leaves."
    )
    if policy.model is None:
        parts.notice(
            "Nothing is asked of the release yet.", hint="Choose what must hold: then solutions can be judged."
        )
        parts.link("Go to privacy", "/privacy", classes="main")
        return
    _bare_columns(screen)
    explored: Explored | None = session.result(EXPLORED)
    screen.field(
        "Largest number of solutions",
        str(screen.choices.get(MOST, MAX_NODES)),
        lambda value: screen.choices.__setitem__(MOST, parse_whole(value, what="the number of solutions")),
        name=MOST,
        action=MOST,
        inputmode="numeric",
        autocomplete="off",
        hint="More are refused, because they take long. Fewer levels or columns make fewer solutions.",
    )
    with parts.tag("div", classes="actions"):
        screen.button(
            "Compute all solutions" if explored is None else "Compute all solutions again",
            lambda: begin_exploring(screen),
            name="explore-all",
            disabled=screen.cannot_begin(MOST),
            at=MOST,
        )
    if explored is not None:
        _draw_found(screen, explored)


def _bare_columns(screen: Screen) -> None:
    """Say which columns have no hierarchy, and where to give them one."""
    bare = [name for name in screen.policy.schema.quasi if name not in screen.policy.used_hierarchies]
    if bare:
        parts.notice(
            f"Without a hierarchy: {', '.join(bare)}. Such a column is published unmodified, or not at all.",
            kind="warning",
            hint="With a hierarchy there are solutions in between.",
        )
        parts.link("Give them hierarchies", "/hierarchies")


def begin_exploring(screen: Screen) -> None:
    """Start computing all solutions of the current job."""
    session, policy = screen.session, screen.policy
    most = screen.choices.get(MOST, MAX_NODES)

    def then(explored: Explored) -> None:
        session.keep(EXPLORED, explored, rests_on=explored_job(policy))

    session.begin("Computing all solutions", explore_all, policy, most, then=then, action=MOST)


def _is_fresh(screen: Screen) -> bool:
    return screen.session.is_fresh(EXPLORED, explored_job(screen.policy))


def _draw_found(screen: Screen, explored: Explored) -> None:
    """Draw the lattice of solutions: best trade-offs, ranking and picture."""
    all_nodes = explored.lattice
    if not _is_fresh(screen):
        parts.notice("The job was changed since: these solutions are those of before.", kind="warning")
    satisfied = int(all_nodes.satisfied.sum())
    words = f"{plural(len(all_nodes), 'solution')}, {satisfied:,} of which satisfy the privacy guarantee"
    parts.heading(words, level=3)
    parts.say(
        f"The privacy guarantee is {all_nodes.model}, with at most {all_nodes.suppression:,} of {all_nodes.rows:,} "
        f"{all_nodes.unit} suppressed."
    )
    if not satisfied:
        least = int(all_nodes.suppressed_rows.min())
        parts.notice(
            f"No solution satisfies the privacy guarantee. The one that needs least leaves out {least:,} of "
            f"{all_nodes.rows:,} {all_nodes.unit}.",
            kind="warning",
            hint="Allow more rows to be suppressed in the step Privacy, or give columns coarser levels.",
        )
    metric = _metric(screen, explored)
    if satisfied:
        _draw_front(screen, explored, metric)
    _draw_looked(screen, explored, metric)
    _draw_ranking(screen, all_nodes, metric, held=satisfied)
    _draw_lattice(screen, explored)


def _metric(screen: Screen, explored: Explored) -> str:
    """Draw the metrics to choose from, and return the chosen one."""
    names = list(explored.lattice.metrics)
    chosen = screen.choices.get(METRIC, names[0])
    chosen = chosen if chosen in names else names[0]
    if len(names) > 1:
        screen.choice(
            "What a solution costs", names, chosen, lambda value: screen.choices.__setitem__(METRIC, value), name=METRIC
        )
    return chosen


def _look(screen: Screen) -> Callable[..., Awaitable[None]]:
    """Return the handler that shows a node."""

    def look(node: str) -> None:
        screen.choices[LOOKED] = tuple(int(level) for level in node.split(","))

    return screen.on(look, at="looked-solution")


def _draw_front(screen: Screen, explored: Explored, metric: str) -> None:
    """Draw the Pareto front of risk and a metric."""
    front = explored.fronts[metric]
    parts.heading("The best trade-offs", level=3)
    parts.say(
        f"Of these, none is beaten in {metric} and risk together. Look at one: click its point, or go to it with the "
        "Tab key and press Enter."
    )
    looked = screen.choices.get(LOOKED)
    spots = [
        Spot(
            row["risk"],
            row[metric],
            spell_node(row["node"]),
            in_words(explored.lattice, row, metric),
            row["node"] == looked,
        )
        for row in front
    ]
    better = "lower" if explored.lattice.goals[metric] == "min" else "higher"
    picture = draw_front(spots, explored.places[metric], cost=metric, better=better, share=metric in SHARES)
    pickable(picture, _look(screen), name="lattice-front", classes="plot")
    _node_table(screen, explored.lattice, front[:MAX_NODES_LISTED], "The best trade-offs", name="front-table")


def in_words(exploration: Exploration, row: Row, metric: str) -> str:
    """Describe a solution in a sentence: its levels, its risk and its cost."""
    risk = f"highest risk {percent(row['risk'])}, {metric} {spell_metric(metric, row[metric])}"
    return (
        f"{levels_in_words(exploration, row['node'])}: {risk}, {row['suppressed_rows']:,} {exploration.unit} suppressed"
    )


def spell_metric(metric: str, value: float) -> str:
    """Return the value of a metric as people read it: a loss is a share.

    >>> spell_metric("loss", 0.559037), spell_metric("discernibility", 12231918.0)
    ('55.9 %', '12,231,918')
    """
    return percent(value) if metric in SHARES else number(value)


def _node_table(screen: Screen, exploration: Exploration, rows: Sequence[Row], caption: str, *, name: str) -> None:
    """Draw a table of nodes."""
    counts = ("suppressed", "classes", "smallest", "highest risk", *map(Own, exploration.metrics))
    entries: list[list[Entry]] = [
        [
            Own(spell_node(row["node"])),
            levels_in_words(exploration, row["node"]),
            "yes" if row["satisfied"] else "no",
            *(f"{row[key]:,}" for key in ("suppressed_rows", "classes", "smallest_class")),
            percent(row["risk"]) if row["smallest_class"] else "–",
            *(spell_metric(metric, row[metric]) for metric in exploration.metrics),
            Pick("Look", spell_node(row["node"]), f"Look at solution {spell_node(row['node'])}"),
        ]
        for row in rows
    ]
    looked = screen.choices.get(LOOKED)
    marked = [index for index, row in enumerate(rows) if row["node"] == looked]
    headings = ("levels", "coarser than the table", "satisfied", *counts, "look")
    markup = table_html(caption, headings, entries, right=counts, marked=marked)
    pickable(markup, _look(screen), name=name)


def _draw_ranking(screen: Screen, exploration: Exploration, metric: str, *, held: int) -> None:
    """Draw all nodes ranked by a metric."""
    parts.heading("Every solution", level=3)
    every = bool(screen.choices.get(EVERY)) or not held
    if held < len(exploration) and held:
        screen.tick(
            "Also those that do not keep the promise",
            every,
            lambda value: screen.choices.__setitem__(EVERY, bool(value)),
            name=EVERY,
        )
    of = len(exploration) if every else held
    first = first_of(screen, FIRST, of=of, step=ON_PAGE)
    rows = exploration.ranked(metric, first=first, most=min(ON_PAGE, of - first))
    _node_table(screen, exploration, rows, f"The best {metric} first", name="nodes-table")
    pages(screen, FIRST, of=of, step=ON_PAGE, what="Solutions")
    with parts.tag("details"):
        parts.tag("summary", "What the levels mean")
        parts.table(
            "Levels of each column",
            ("column", "levels"),
            [
                (Own(column), "; ".join(f"{level}: {words}" for level, words in enumerate(meanings)))
                for column, meanings in zip(exploration.columns, exploration.meanings, strict=True)
            ],
        )


def _draw_lattice(screen: Screen, explored: Explored) -> None:
    """Draw the picture of the lattice."""
    parts.heading("All solutions in one picture, from the finest to the coarsest (the lattice)", level=3)
    if explored.picture is None:
        parts.say(f"A picture of {len(explored.lattice):,} solutions cannot be read: the list above has all of them.")
        return
    parts.say("Lines go from a solution to those one step coarser. Click a box to look at it.")
    lattice(explored.picture, _look(screen), name="lattice")


def _draw_looked(screen: Screen, explored: Explored, metric: str) -> None:
    """Draw the solution that is looked at: what it publishes, what it costs, some rows, and how to choose it."""
    node, all_nodes = screen.choices.get(LOOKED), explored.lattice
    if (
        node is None
        or len(node) != len(all_nodes.heights)
        or any(level > height for level, height in zip(node, all_nodes.heights, strict=True))
    ):
        return
    row = all_nodes.node(node)
    with parts.tag(
        "section", classes="card", id="looked-solution", tabindex="-1", aria_label="The solution you look at"
    ):
        parts.heading(f"Solution {spell_node(node)}", level=3)
        _facts(all_nodes, row)
        samples = explored.samples
        parts.table(
            SOME_ROWS,
            [Own(name) for name in all_nodes.columns],
            [
                [
                    Own(arrow(samples.before[name][index], samples.after[name][level][index]))
                    for name, level in zip(all_nodes.columns, node, strict=True)
                ]
                for index in range(len(samples.before[all_nodes.columns[0]]))
            ],
        )
        screen.problem("choose-node")
        if not row["satisfied"]:
            parts.notice("This solution does not keep the promise, so it cannot be chosen.", kind="warning")
        with parts.tag("div", classes="actions"):
            screen.button(
                "Choose this solution",
                lambda: choose(screen, node),
                name="choose-node",
                disabled=not row["satisfied"] or screen.cannot_begin() or not _is_fresh(screen),
            )


def _facts(exploration: Exploration, row: Row) -> None:
    """Draw the facts about a node."""
    levels = zip(exploration.columns, exploration.meanings, row["node"], strict=True)
    facts = [
        *((Own(column), meanings[level]) for column, meanings, level in levels),
        ("satisfies the guarantee", "yes" if row["satisfied"] else "no"),
        ("suppressed", f"{row['suppressed_rows']:,} of {exploration.rows:,} {exploration.unit}"),
        ("classes", f"{row['classes']:,}"),
        ("smallest class", f"{row['smallest_class']:,} {exploration.unit}"),
        ("highest risk", percent(row["risk"]) if row["smallest_class"] else "–"),
        *((Own(metric), spell_metric(metric, row[metric])) for metric in exploration.metrics),
    ]
    with parts.tag("dl", classes="facts"):
        for name, words in facts:
            with parts.tag("div"):
                parts.tag("dt", name)
                parts.tag("dd", words)


def choose(screen: Screen, node: tuple[int, ...]) -> None:
    """Take a node for the algorithm of the job, and publish by it."""
    take_change(screen, replace(screen.policy, algorithm=ChosenNode(node)))
