"""What is published of a column, in the step `columns`: transformations of columns that stay, pseudonyms of others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indistinct.errors import ParameterError
from indistinct.figures import number, plural
from indistinct.hierarchy import Hierarchy, hierarchy_from_json
from indistinct.recoding.columns import spell_bounds
from indistinct.recoding.transformations import CLEARED, PERIODS, Transformation
from indistinct.release.pseudonyms.making import Pseudonym
from indistinct.schema import Role
from indistinct.settings import NUMBER, settings_of
from indistinct.web import parts
from indistinct.web.deciding import (
    DROPPED,
    KEPT,
    path_in,
    with_importance,
    with_pseudonym,
    with_transformation,
)
from indistinct.web.files import allowed_path
from indistinct.web.frame import Screen
from indistinct.web.tasks.columns import check_key, check_transformed

OF_COLUMN = settings_of("columns")
NUMBERS = tuple(key for key, each in OF_COLUMN.items() if each.kind is NUMBER)
CLEAR = {"all": "nothing: every cell is missing", "presence": "only whether there was a value"}
WAYS = {
    "": "unmodified",
    "numbers": "rounded or bounded",
    "truncate": "the month, quarter or year",
    "level": "a level of its hierarchy",
    "clear": "cleared",
}
INSTEAD = {"": "nothing: it is dropped", "random": "random numbers", "key": "pseudonyms under a key"}
IMPORTANCE = {
    "0.3": "less than others",
    "1": "as much as others",
    "3": "more than others",
    "10": "much more than others",
}
FIRST: dict[str, Any] = {"truncate": "month", "level": 1, "clear": "all"}
"""What a way begins with."""
BY_TYPE = {"number": "numbers", "date": "truncate"}


def draw_publishing(screen: Screen, column: Mapping[str, Any], key: str) -> None:
    """Draw the masking of a column, or the attribute weight of a quasi-identifier."""
    name = column["name"]
    role = screen.policy.schema.role(name)
    if role in KEPT:
        way = way_of(screen.policy.transformations.get(name))
        with parts.details("What is published", screen.choices, name=f"publish-{key}", start=bool(way)):
            _transformation(screen, column, key)
    elif role is Role.QUASI:
        with parts.details("How much it matters", screen.choices, name=f"matters-{key}"):
            _weight(screen, name, key)
    elif role in DROPPED:
        with parts.details("What replaces it", screen.choices, name=f"instead-{key}", start=False):
            _pseudonym(screen, name, key)


def _weight(screen: Screen, name: str, key: str) -> None:
    """Draw the attribute weight of a quasi-identifier, and a link to its level bounds."""
    now = screen.policy.importance.of(name)

    def take(value: str) -> None:
        screen.change(with_importance(screen.policy, name, float(value)))

    screen.choice(
        "Importance",
        {**IMPORTANCE, **({} if f"{now:g}" in IMPORTANCE else {f"{now:g}": f"{now:g} times as much as others"})},
        f"{now:g}",
        take,
        name=f"importance-{key}",
        hint="A search rather makes columns coarser that matter less.",
    )
    with parts.tag("p", classes="hint"):
        bounds = dict(screen.policy.levels.bounds).get(name)
        sentence = "" if bounds is None else f"It is published on levels {spell_bounds(bounds)}. "
        parts.tag("span", f"{sentence}Between which levels it may be published is said in ")
        parts.link("hierarchies", "/hierarchies")


def way_of(transformation: Transformation | None) -> str:
    """Return the kind of masking of a column, as the page names it.

    >>> way_of(Transformation(round=10, top=90))
    'numbers'
    """
    options = {} if transformation is None else transformation.options()
    return next(("numbers" if option in NUMBERS else option for option in options), "")


def ways_for(kind: str, hierarchy: Hierarchy | None) -> dict[str, str]:
    """Return the kinds of masking that are possible for a column type.

    >>> list(ways_for("number", None))
    ['', 'numbers', 'clear']
    """
    own = BY_TYPE.get(kind)
    possible = ("", *([own] if own else []), *(["level"] if hierarchy is not None else []), "clear")
    return {way: WAYS[way] for way in possible}


def _transformation(screen: Screen, column: Mapping[str, Any], key: str) -> None:
    """Draw the choice of masking of a column."""
    name, errors, chosen = column["name"], screen.errors, screen.choices.setdefault("ways", {})
    given, hierarchy = screen.policy.transformations.get(name), _hierarchy(screen, column)
    way = chosen.get(name, way_of(given))
    at = f"way-{key}"
    parts.choice(
        "Publish",
        ways_for(column["type"], hierarchy),
        way,
        screen.on(lambda value: _choose_way(screen, column, value), at=at),
        name=at,
        error=errors.get(at),
    )
    options = {} if given is None else given.options()
    match way:
        case "numbers":
            for option in NUMBERS:
                _number(screen, column, f"{option}-{key}", option, options)
        case "truncate" | "clear":
            choices = {word: f"the first day of its {word}" for word in PERIODS} if way == "truncate" else CLEAR
            value = str(options.get(way)) if way == "truncate" else str(given.clear if given else CLEARED[0])
            name_of = f"{way}-{key}"
            act = screen.on(lambda value: _transform(screen, column, {way: value}), at=name_of)
            parts.choice("What stays", choices, value, act, name=name_of, error=errors.get(name_of))
        case "level":
            _number(screen, column, f"level-{key}", "level", options)
    counted = screen.choices.get("counted", {}).get((name, given))
    if given is not None and counted is not None:
        parts.say(f"{plural(counted['before'], 'value')} before, {number(counted['after'])} after.", kind="hint")


def _hierarchy(screen: Screen, column: Mapping[str, Any]) -> Hierarchy | None:
    """Return the hierarchy of a column: the one that was chosen, or the one that was suggested."""
    chosen = screen.policy.hierarchies.get(column["name"])
    if chosen is not None or column["hierarchy"] is None:
        return chosen
    return hierarchy_from_json(column["hierarchy"], base=Path())


def _number(screen: Screen, column: Mapping[str, Any], at: str, option: str, options: Mapping[str, Any]) -> None:
    """Draw the field of a number of masking."""

    def act(value: str) -> Any:
        others = {key: each for key, each in options.items() if key != option}
        return _transform(screen, column, others | ({option: parse_number(value, option)} if value.strip() else {}))

    value = "" if options.get(option) is None else str(options[option])
    name, label = column["name"], OF_COLUMN[option].label or option
    screen.field(
        label,
        value,
        act,
        name=at,
        about=f"{name}: {label.lower()}",
        part=lambda policy: (policy.schema.role(name), policy.transformations.get(name)),
        hint=OF_COLUMN[option].help,
        inputmode="numeric" if option == "level" else "decimal",
        autocomplete="off",
    )


def parse_number(text: str, option: str) -> float:
    """Return the number in a field; raise `ParameterError` if there is none."""
    try:
        return int(text) if option == "level" else float(text)
    except ValueError:
        raise ParameterError("this must be a number", hint="such as 10") from None


async def _choose_way(screen: Screen, column: Mapping[str, Any], way: str) -> None:
    """Choose how a column is published; numbers are entered afterwards."""
    name = column["name"]
    screen.choices["ways"][name] = way
    if way in ("", "numbers"):
        screen.change(with_transformation(screen.policy, name, None))
    else:
        await _transform(screen, column, {way: FIRST[way]})


async def _transform(screen: Screen, column: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Transform a column, if its values can be; with no option it is published unmodified."""
    name = column["name"]
    given = Transformation(**options) if options else None
    hierarchy = _hierarchy(screen, column) if given is not None and given.level is not None else None
    policy = with_transformation(screen.policy, name, given, hierarchy=hierarchy)
    if given is not None:
        counted = await screen.session.ask(check_transformed, policy, name)
        screen.choices.setdefault("counted", {})[name, given] = counted
    screen.change(policy)
    screen.choices["ways"][name] = way_of(given) or screen.choices["ways"].get(name, "")


def _pseudonym(screen: Screen, name: str, key: str) -> None:
    """Draw the choice between dropping an identifier and publishing pseudonyms."""
    given, chosen = screen.policy.pseudonyms.get(name), screen.choices.setdefault("instead", {})
    now = "" if given is None else "random" if given.random else "key" if given.key is not None else "environment"
    way, at, at_key = chosen.get(name, now), f"pseudonym-{key}", f"key-{key}"
    options = {
        **INSTEAD,
        **({"environment": f"pseudonyms under the key in {given.environment}"} if given and given.environment else {}),
    }

    def choose(value: str) -> None:
        chosen[name] = value
        if value != "environment":
            made = Pseudonym(random=True) if value == "random" else None
            screen.change(with_pseudonym(screen.policy, name, made))

    async def enter(value: str) -> None:
        path = allowed_path(screen.session, value)
        await screen.session.ask(check_key, path)
        written = path_in(screen.policy, path, private=screen.session.folder)
        screen.change(with_pseudonym(screen.policy, name, Pseudonym(key=written)))

    screen.choice("Publish", options, way, choose, name=at)
    if way == "random":
        parts.say("The same value has the same number inside one release, and another one in the next.", kind="hint")
    if way == "key":
        screen.field(
            "File of the key",
            "" if given is None or given.key is None else str(given.key),
            enter,
            name=at_key,
            about=f"{name}: file of the key",
            part=lambda policy: (policy.schema.role(name), policy.pseudonyms.get(name)),
            hint=f"Inside {screen.session.settings.folder}. A person with the key can turn every pseudonym back.",
        )
