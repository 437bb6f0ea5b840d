"""The step `columns`: what each column is like, its role with the reason, and which columns single people out."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from indistinct.figures import number, percent, plural
from indistinct.inspection.roles import IN_DOUBT
from indistinct.job.policy import Policy
from indistinct.models.k_anonymity import sizes_asked
from indistinct.schema import Role
from indistinct.web import parts
from indistinct.web.blocks import draw_list
from indistinct.web.deciding import (
    find_differences,
    names_of,
    with_reason,
    with_role,
    with_suggestions,
)
from indistinct.web.findings import find_in_columns
from indistinct.web.following import begin_search
from indistinct.web.frame import Screen
from indistinct.web.language import Own, shown_value
from indistinct.web.standing import INSPECTED, STARTER
from indistinct.web.steps.column_publishing import draw_publishing
from indistinct.web.steps.verdict_box import draw_findings
from indistinct.web.tasks.columns import UniquenessCounts, pictures, standing_out
from indistinct.web.worker import TaskError

SHOWN, MAX_LISTED = 24, 30
"""Columns that are shown together."""
SAMPLES, LONGEST_SAMPLE = 3, 24
"""Values of a column that its line shows, and letters of each."""
USUAL_K = 5
DOUBT = (
    "Neither name nor values say for certain what these are, or you changed them. In doubt a column counts as known to "
    "others, which is safer. Is one of them rather what must not be learnt, such as a diagnosis? Then say so."
)
MEANING = {
    Role.IDENTIFIER: "points at a person: dropped",
    Role.PERSON: "identifies people who have several rows: dropped, and people are counted",
    Role.QUASI: "others may know it: made coarser until no person can be singled out",
    Role.SENSITIVE: "must not be learned about a person: published unmodified, and protected by a promise",
    Role.INSENSITIVE: "neither: published unmodified",
}

CALLED = {Role.QUASI: "quasi-identifier"}
"""How a role is called where its own word is none."""
# What a list of roles shows; it is narrow.
SHORT = {
    Role.IDENTIFIER: "points at a person",
    Role.PERSON: "identifies people",
    Role.QUASI: "others may know it",
    Role.SENSITIVE: "must not be learnt",
    Role.INSENSITIVE: "neither",
}


def describe_role(role: Role, *, suggested: bool = False) -> str:
    """Return a role with what it means in a few words.

    >>> describe_role(Role.QUASI, suggested=True)
    'quasi-identifier: others may know it (suggested)'
    """
    return f"{CALLED.get(role, role)}: {SHORT[role]}{' (suggested)' if suggested else ''}"


async def draw(screen: Screen) -> None:
    """Draw open decisions, the columns with their roles, and the risk of the roles together."""
    looked, policy = screen.session.result(INSPECTED), screen.policy
    names = names_of(looked)
    _summary(screen, looked)
    draw_findings(screen, find_in_columns(policy, looked, screen.session.result(STARTER)), name="decide")
    if policy.schema.quasi:
        parts.heading("Who can be singled out now")
        _standing(screen)
    with parts.details("What the roles mean", screen.choices, name="roles-mean"):
        parts.table(
            "Roles", ["role", "what it means"], [(CALLED.get(role, str(role)), text) for role, text in MEANING.items()]
        )
    doubtful = [each for each in looked["columns"] if is_doubtful(each, policy)]
    others = [each for each in looked["columns"] if each not in doubtful]
    ordered, ids = [*doubtful, *others], ids_of(names)
    first = min(screen.choices.get("first", 0), (len(names) - 1) // SHOWN * SHOWN)
    boxes: dict[str, Any] = {}
    for title, some in (("Look at these first", doubtful), ("The others" if doubtful else "Columns", others)):
        visible = [each for each in ordered[first : first + SHOWN] if each in some]
        if visible:
            parts.heading(title)
            if some is doubtful:
                parts.say(DOUBT, kind="hint")
            with parts.tag("div", classes="lines"):
                for column in visible:
                    _line(screen, column, ids[column["name"]], looked, boxes)
    if len(names) > SHOWN:
        _pages(screen, first, len(names))
    with parts.details("Which columns single people out together", screen.choices, name="together"):
        _combinations(looked, policy)
    with parts.tag("div", classes="actions"):
        _link_to_hierarchies()
    _draw_pictures(screen, boxes)


def _link_to_hierarchies() -> None:
    parts.link("Go on to hierarchies", "/hierarchies", classes="button")


def is_doubtful(column: Mapping[str, Any], policy: Policy) -> bool:
    """Return whether a column needs a look: its role is a guess, was changed, or leaves it pointing at rows.

    What was looked at, and has a reason, is settled.
    """
    name = column["name"]
    if name in policy.reasons:
        return False
    return column["reason"].startswith(IN_DOUBT) or policy.schema.role(name) != column["role"]


def ids_of(names: Sequence[str]) -> dict[str, str]:
    """Return a valid, unique element ID for each column.

    >>> ids_of(["age", "date of birth", "date-of-birth"])
    {'age': 'age', 'date of birth': 'date-of-birth', 'date-of-birth': 'date-of-birth-2'}
    """
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for index, name in enumerate(names):
        plain = re.sub(r"[^0-9A-Za-z_]+", "-", name).strip("-") or "column"
        key = plain
        while key in taken:
            key, index = f"{plain}-{index}", index + 1  # noqa: PLW2901 (another column may be called so)
        ids[name] = key
        taken.add(key)
    return ids


def _summary(screen: Screen, looked: Mapping[str, Any]) -> None:
    """Draw how many roles differ from the suggestions, with a button to accept them."""
    policy = screen.policy
    others = find_differences(policy, looked)
    count = len(looked["columns"])
    if others:
        parts.say(f"{plural(len(others), 'role differs', 'roles differ')} from what is suggested: {', '.join(others)}.")
    else:
        parts.say(f"All {count} roles are as suggested. A suggestion is where to begin: you decide.")
    with parts.tag("div", classes="actions"):
        screen.button(
            "Find a release",
            lambda: _find(screen),
            name="find",
            main=True,
            disabled=screen.cannot_begin() or not policy.schema.quasi,
        )
        if others:
            screen.button("Accept all suggestions", lambda: _accept(screen), name="accept")
        _link_to_hierarchies()
    screen.problem("find")
    screen.problem("accept")
    if not policy.schema.quasi:
        parts.notice(
            "No column is a quasi-identifier: there is nothing that a search could make coarser.",
            kind="warning",
            hint="Give that role to each column that others may know about a person, such as age or place.",
        )


def _find(screen: Screen) -> None:
    """Search with the current roles, and show what is found."""
    begin_search(screen.session)
    ui.navigate.to("/search")


def _accept(screen: Screen) -> None:
    """Give every column its suggested role."""
    session = screen.session
    looked, starter = session.result(INSPECTED), session.result(STARTER)
    screen.change(with_suggestions(screen.policy, looked=looked, starter=starter))


def _standing(screen: Screen) -> None:
    """Draw the number of uniques, once it is counted."""
    policy = screen.policy
    asked = max(sizes_asked(policy.models), default=USUAL_K)
    counted, quasi = screen.choices.setdefault("standing", {}), policy.schema.quasi
    about = (policy.source, repr(policy.input.reading), tuple(quasi), tuple(policy.schema.person), asked)
    box = parts.tag("div", classes="counted", aria_live="polite")

    def show() -> None:
        box.clear()
        with box:
            _risk(counted[about], quasi)

    async def count() -> None:
        try:
            counted[about] = await screen.session.ask(standing_out, policy, k=asked)
            if not box.is_deleted:
                show()
        except TaskError as error:
            if not box.is_deleted:
                box.clear()
                with box:
                    parts.problem(error)

    if about in counted:
        show()
        return
    with box:
        parts.say("counting …", kind="hint")
    ui.timer(0.01, count, once=True)


def _risk(counts: UniquenessCounts, quasi: Sequence[str]) -> None:
    """Draw the number of uniques under the current roles."""
    share = counts.alone / counts.members if counts.members else 0.0
    risk_words = f"An attacker who knows {_together(quasi)} of a person finds "
    if counts.alone:
        risk_words += (
            f"{percent(share)} of the {counts.unit} alone: {number(counts.alone)} of {number(counts.members)}."
        )
    else:
        risk_words += f"none alone: each shares these values with {counts.smallest - 1:,} others or more."
    with parts.tag("div", classes="standing", id="standing"):
        parts.tag("meter", min=0, max=1, value=share, aria_label=f"share of {counts.unit} that are unique")
        parts.say(risk_words)
    few = f"{percent(counts.few / counts.members if counts.members else 0.0)} of the {counts.unit}"
    parts.say(
        f"{few} are in classes of fewer than {counts.k}; there are {plural(counts.classes, 'class', 'classes')}. "
        "A search makes these columns coarser until this ends.",
        kind="hint",
    )


def _together(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _line(
    screen: Screen, column: Mapping[str, Any], key: str, looked: Mapping[str, Any], places: dict[str, Any]
) -> None:
    """Draw a column as one line with its role; opened, it shows the details."""
    name, policy = column["name"], screen.policy
    role, suggested = policy.schema.role(name), Role(column["role"])
    opened = screen.choices.setdefault("unfolded", set())
    with parts.tag("section", classes="line", aria_labelledby=f"column-{key}"):
        with parts.tag("div", classes="line-head"):
            turn = screen.on(lambda: opened.symmetric_difference_update({name}), at=f"column-{key}")
            box = parts.button(Own(name), turn, name=f"column-{key}")
            box.classes("unfolds")
            box.props["aria-expanded"] = "true" if name in opened else "false"
            with parts.tag("div", classes="short"):
                samples = sample_values(column)
                if samples:
                    parts.tag("span", Own(samples), classes="samples")
                parts.tag("span", describe_column(column, looked["rows"]), classes="hint")
                warning = warn_of_values(column, role)
                if warning:
                    parts.tag("span", warning, classes="badge bad")
            screen.choice(
                f"Role of {name}",
                {each.value: describe_role(each, suggested=each is suggested) for each in Role},
                role.value,
                lambda value: _decide(screen, name, value),
                name=f"role-{key}",
                hidden_label=True,
            )
            if role is not suggested:
                parts.tag("span", f"suggested: {CALLED.get(suggested, suggested)}", classes="badge")
        if name in opened:
            with parts.tag("div", classes="line-body"):
                places[name] = _column(screen, column, key, role, suggested)


def describe_column(column: Mapping[str, Any], rows: int) -> str:
    """Return the type of a column, how many values it has, and why its role is suggested."""
    reason = column["reason"]
    return f"{count_values(column, rows)}. {reason[:1].upper()}{reason[1:]}."


def count_values(column: Mapping[str, Any], rows: int) -> str:
    """Return the type of a column, how many values it has, and how many are missing."""
    missing = f", {percent(column['missing'] / rows)} missing" if column["missing"] else ""
    return f"{column['type']}, {plural(column['distinct'], 'value')}{missing}"


def sample_values(column: Mapping[str, Any]) -> str:
    """Return three values of a column, the most frequent first; long ones are cut.

    >>> sample_values({"frequent": [{"value": "AOK", "rows": 9}, {"value": "TK", "rows": 4}]})
    'AOK · TK'
    """
    values = [shown_value(str(each["value"]), column.get("type", "")) for each in column["frequent"][:SAMPLES]]
    texts = [" ".join(each.split()) for each in values]
    return " · ".join(text if len(text) <= LONGEST_SAMPLE else f"{text[:LONGEST_SAMPLE]}…" for text in texts)


def warn_of_values(column: Mapping[str, Any], role: Role) -> str:
    """Return a warning if values of a published column look identifying, else an empty text.

    >>> names = {"points_at": {"quasi": "", "other": "names of people, most of them frequent ones"}}
    >>> warn_of_values(names, Role.SENSITIVE), warn_of_values(names, Role.IDENTIFIER)
    ('names of people', '')
    """
    if role in (Role.IDENTIFIER, Role.PERSON):
        return ""
    warning: str = column["points_at"]["quasi" if role is Role.QUASI else "other"]
    return warning.partition(",")[0]


def _column(screen: Screen, column: Mapping[str, Any], key: str, role: Role, suggested: Role) -> Any:
    """Draw the profile of a column: role, figures, findings and labels; return the place for its picture."""
    name, policy = column["name"], screen.policy
    if column.get("label"):
        parts.say(Own(column["label"]))
    box = parts.tag("div", classes="column-picture")
    with box:
        _picture(screen, name)
    meaning = MEANING[role]
    if name in policy.transformations:
        meaning = meaning.replace("published unmodified", "published changed, as said below")
    parts.say(f"{meaning.capitalize()}.")
    figure = "" if column["figure"] in column["reason"] else f" ({column['figure']})"
    parts.say(f"Suggested {CALLED.get(suggested, suggested)}: {column['reason']}{figure}.", kind="hint")
    parts.say(f"{percent(column['unique_share'])} of the rows have a value that is there once.", kind="hint")
    for finding in column["findings"]:
        parts.say(f"{finding}.", kind="hint")
    if column.get("value_labels"):
        with parts.details(f"{plural(column['labelled_codes'], 'labelled code')}", screen.choices, name=f"codes-{key}"):
            draw_list([Own(f"{code} = {label}") for code, label in list(column["value_labels"].items())[:MAX_LISTED]])
            if column["labelled_codes"] > MAX_LISTED:
                parts.say(f"and {column['labelled_codes'] - MAX_LISTED:,} more", kind="hint")
    _why(screen, name, key, role is not suggested)
    draw_publishing(screen, column, key)
    return box


def _why(screen: Screen, name: str, key: str, differs: bool) -> None:
    """Draw why the column has its role, and a field for a reason."""
    reason = screen.policy.reasons.get(name, "")
    with parts.details("Why this role", screen.choices, name=f"why-{key}", start=bool(reason) or differs):
        screen.field(
            "Reason",
            reason,
            lambda value: screen.change(with_reason(screen.policy, name, value)),
            name=f"reason-{key}",
            about=f"{name}: reason",
            part=lambda policy: policy.reasons.get(name),
            hint="It is in the policy and in the report.",
        )


def _decide(screen: Screen, name: str, value: str) -> None:
    """Change the role of a column."""
    looked, starter = screen.session.result(INSPECTED), screen.session.result(STARTER)
    screen.change(with_role(screen.policy, name, Role(value), looked=looked, starter=starter))


def _pages(screen: Screen, first: int, count: int) -> None:
    """Draw the buttons to other columns."""
    last = min(first + SHOWN, count)
    with parts.tag("div", classes="actions"):
        for text, name, to, off in (
            ("Previous columns", "columns-back", max(0, first - SHOWN), first == 0),
            ("Next columns", "columns-on", last, last >= count),
        ):
            turn = screen.on(lambda to=to: screen.choices.update(first=to), at=name)
            parts.button(text, turn, name=name, disabled=off)
        parts.tag("span", f"columns {first + 1:,} to {last:,} of {count:,}")


# Pictures


def _picture(screen: Screen, name: str) -> None:
    """Draw the picture of a column, if there is one."""
    drawn = _pictures_of(screen).get(name)
    if drawn:
        parts.picture(drawn, values=True)
    elif drawn == "":
        parts.say("Every value is there once: nothing to draw.", kind="hint")


def _pictures_of(screen: Screen) -> dict[str, str]:
    """Return the pictures that this tab has of the table under its current reading."""
    about = (screen.policy.source, screen.policy.input.reading)
    if screen.choices.get("pictures of") != about:
        screen.choices |= {"pictures of": about, "pictures": {}}
    drawn: dict[str, str] = screen.choices["pictures"]
    return drawn


def _draw_pictures(screen: Screen, places: Mapping[str, Any]) -> None:
    """Let pictures that are not there yet come after the rest, one at a time: a click waits for one at most."""
    drawn = _pictures_of(screen)
    wanted = [name for name in places if name not in drawn]

    async def fill() -> None:
        for name in wanted:
            if places[name].is_deleted:  # the step was drawn anew, and draws what is left
                return
            if name not in drawn:
                try:
                    drawn.update(await screen.session.ask(pictures, screen.policy, [name]))
                except TaskError as error:
                    drawn[name] = ""
                    if not places[name].is_deleted:
                        with places[name]:
                            parts.problem(error)
                    return
            if places[name].is_deleted:
                return
            with places[name]:
                _picture(screen, name)

    if wanted:
        ui.timer(0.01, fill, once=True)


# Combinations


def _combinations(looked: Mapping[str, Any], policy: Any) -> None:
    """Draw which few columns together single people out, and what the roles do about it."""
    combinations = looked["combinations"]
    if not combinations["sets"]:
        parts.say(f"No {combinations['size']} columns together single anybody out.")
        return
    parts.say(
        f"Sets of up to {combinations['size']} columns, as the table is; each is needed for some of the "
        f"{combinations['unit']}. A set is protected when all of its columns are quasi-identifiers, or one of them is "
        "dropped."
    )
    with (
        parts.tag("div", classes="wide", role="region", tabindex="0", aria_label="Sets of columns"),
        parts.tag("table", id="combinations"),
    ):
        parts.tag("caption", f"Columns that single out most {combinations['unit']}")
        with parts.tag("thead"), parts.tag("tr"):
            for text, kind in (("columns", ""), ("alone", "number"), ("share", "number"), ("", ""), ("the roles", "")):
                parts.tag("th", text, classes=kind, scope="col")
        with parts.tag("tbody"):
            for each in sorted(combinations["sets"], key=lambda each: -each["unique_share"]):
                _set(each, policy, combinations["unit"])
    for note in combinations["notes"]:
        parts.say(f"{note[:1].upper()}{note[1:]}.", kind="hint")


def _set(each: Mapping[str, Any], policy: Any, unit: str) -> None:
    """Draw a row of the table of column sets."""
    with parts.tag("tr"):
        parts.tag("th", Own(" + ".join(each["columns"])), scope="row")
        parts.tag("td", number(each["unique"]), classes="number")
        parts.tag("td", percent(each["unique_share"]), classes="number")
        with parts.tag("td"):
            parts.tag("meter", min=0, max=1, value=each["unique_share"], aria_label=f"share of {unit}")
        text, kind = protection(each["columns"], policy)
        parts.tag("td", text, classes=kind)


def protection(columns: Sequence[str], policy: Any) -> tuple[str, str]:
    """Return how the roles protect a set of unique columns, and whether that is good."""
    schema = policy.schema
    dropped = [name for name in columns if name in schema.hidden]
    if dropped:
        return f"{_together(dropped)} {'is' if len(dropped) == 1 else 'are'} dropped", "good"
    as_is = [name for name in columns if name not in schema.quasi]
    if not as_is:
        return "made coarser together", "good"
    changed = [name for name in as_is if name in policy.transformations]
    if changed == as_is:
        return f"{_together(as_is)} published transformed", ""
    return f"{_together([name for name in as_is if name not in changed])} published unmodified", "warn"
