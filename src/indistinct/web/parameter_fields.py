"""The fields of a model or an algorithm; typed values stay until they are valid together, with errors next to them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from indistinct.job.policy import Policy
from indistinct.schema import Schema
from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.parameters import FieldError, FormField, Texts, build_value, form_fields, texts_of, write_text
from indistinct.web.sessions import Refusal
from indistinct.web.worker import TaskError

T = TypeVar("T")
Labels = Mapping[str, tuple[str, str]]


def draw_value(
    screen: Screen,
    value: T,
    put: Callable[[T], None],
    *,
    prefix: str,
    labels: Labels,
    title: str,
    part: Callable[[Policy], Any],
    check: Callable[[T], None] = lambda _made: None,
) -> None:
    """Draw the fields of a value; a valid change replaces it.

    Fields that only make sense together wait for each other, with the error next to them; until then nothing runs by
    the value, which is a `part` of the job that the steward knows by a `title`.
    """
    key, schema = (screen.step.name, prefix), screen.policy.schema
    latest = value

    def read_typed() -> dict[str, Any]:
        refused = screen.session.refusal(key)
        return {} if refused is None else refused.text

    async def changed(name: str, text: Any) -> None:
        # A box may be ticked before the one before it is drawn: each changes the latest texts.
        typed = read_typed()
        before = {**texts_of(latest), **typed}
        written = write_text(before, name, text)
        texts = {each: now for each, now in written.items() if each in typed or now != before[each]}

        def take() -> None:
            nonlocal latest
            made = build_value(type(value), written, schema=schema, kept=latest)
            check(made)
            put(made)
            latest = made

        def refusal(error: TaskError) -> Refusal:
            at = (error.field if isinstance(error, FieldError) else "") or name
            label = f"{title}: {labels.get(at, (at, ''))[0]}"
            return Refusal(screen.step.name, f"{prefix}-{at}", label, texts, error, part)

        with suppress(FieldError):  # it is shown at the field that it is about
            await screen.taking(take, key, refusal)

    refused = screen.session.refusal(key)
    if refused is not None:
        screen.errors.setdefault(refused.field, refused.error)
    field_texts = {**texts_of(value), **read_typed()}
    draw_fields(screen, form_fields(type(value), schema), field_texts, changed, prefix=prefix, labels=labels)


def draw_fields(
    screen: Screen,
    parameters: tuple[FormField, ...],
    texts: Texts,
    changed: Callable[[str, Any], Any],
    *,
    prefix: str,
    labels: Labels,
) -> None:
    """Draw a field for each parameter; `changed` gets its name and what it holds now, or a function that changes it."""
    for each in parameters:
        name = f"{prefix}-{each.name}"
        label, hint = labels.get(each.name, (each.name.replace("_", " ").capitalize(), ""))
        error, now = screen.errors.get(name), texts.get(each.name, "")
        set_to = screen.on(lambda value, key=each.name: changed(key, value), at=name)
        if each.form == "flag":
            parts.tick(label, now is True, set_to, name=name, hint=hint, error=error)
        elif each.form == "choice":
            options = tuple(dict.fromkeys((*each.choices, *([str(now)] if now else []))))
            empty = {"": "none"} if not each.needed and each.choices[:1] == ("",) else {}
            parts.choice(
                label,
                {**dict(zip(options, map(Own, options), strict=True)), **empty},
                str(now),
                set_to,
                name=name,
                hint=hint,
                error=error,
            )
        elif each.form == "columns":
            _ticks(each, label, hint, now, set_to, name=name, error=error)
        elif each.form == "sets":
            _sets(each, label, hint, now, set_to, name=name, error=error)
        else:
            mode = "decimal" if each.form == "number" else None
            parts.field(label, str(now), set_to, name=name, hint=hint, error=error, inputmode=mode, autocomplete="off")


def _ticks(
    parameter: FormField,
    label: str,
    hint: str,
    now: Any,
    set_to: Callable[..., Any],
    *,
    name: str,
    error: TaskError | None,
) -> None:
    """Draw a box to tick for each column."""
    chosen = tuple(now or ())
    with parts.tag("fieldset", id=name, tabindex="-1"):
        parts.tag("legend", label)
        for index, column in enumerate(parameter.choices):
            parts.tick(
                Own(column),
                column in chosen,
                lambda on, column=column: set_to(lambda now: tick_column(parameter.choices, now, column, on=on)),
                name=f"{name}-{index}",
            )
        if not parameter.choices:
            parts.say("There is no column for it.", kind="hint")
        if hint:
            parts.say(hint, kind="hint")
        if error:
            parts.problem(error, at=name)


def _sets(
    parameter: FormField,
    label: str,
    hint: str,
    now: Any,
    set_to: Callable[..., Any],
    *,
    name: str,
    error: TaskError | None,
) -> None:
    """Draw sets of columns, each with a box for each column, and an empty one that becomes another set."""
    sets = tuple(map(tuple, now or ()))
    # A column that has another role now can still be taken out.
    columns = tuple(dict.fromkeys((*parameter.choices, *(column for each in sets for column in each))))
    with parts.tag("fieldset", id=name, tabindex="-1"):
        parts.tag("legend", label)
        if hint:
            parts.say(hint, kind="hint")
        for index, chosen in enumerate((*sets, ())):
            with parts.tag("fieldset", classes="set"):
                parts.tag("legend", f"Set {index + 1}" if chosen else "Another set" if sets else "A set")
                for position, column in enumerate(columns):

                    def take(on: bool, index: int = index, column: str = column) -> Any:
                        return set_to(lambda now: tick_in_set(columns, now, index, column, on=on))

                    parts.tick(Own(column), column in chosen, take, name=f"{name}-{index}-{position}")
        if error:
            parts.problem(error, at=name)


def tick_column(columns: Sequence[str], chosen: Sequence[str], column: str, *, on: bool) -> tuple[str, ...]:
    """Return chosen columns, in order, when one is ticked or not.

    >>> tick_column(["age", "sex", "zip"], ("zip",), "age", on=True)
    ('age', 'zip')
    """
    return tuple(each for each in columns if (on if each == column else each in chosen))


def tick_in_set(
    columns: Sequence[str], sets: Sequence[Sequence[str]], index: int, column: str, *, on: bool
) -> tuple[tuple[str, ...], ...]:
    """Return sets of columns when a column of one is ticked or not; one that becomes empty goes.

    >>> tick_in_set(["age", "sex"], (("age",),), 0, "sex", on=True)
    (('age', 'sex'),)
    """
    padded = [*map(tuple, sets), *([()] if index >= len(sets) else [])]
    at = min(index, len(padded) - 1)
    padded[at] = tick_column(columns, padded[at], column, on=on)
    return tuple(each for each in padded if each)


def build_draft(screen: Screen, kind: type[T], draft: Texts, schema: Schema, *, prefix: str) -> T | None:
    """Build a value from a whole form, None if a field has an error."""
    try:
        return build_value(kind, draft, schema=schema)
    except FieldError as error:
        screen.errors[f"{prefix}-{error.field}" if error.field else prefix] = error
        return None
