"""The fields of a model or an algorithm: what is typed stays until it makes sense together, and errors stand at it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from indistinct.job.policy import Policy
from indistinct.schema import Schema
from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.parameters import FieldError, Parameter, Texts, build_value, parameters_of, texts_of
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
    """Draw the fields of a value; a change that makes sense, and passes a check, is put in its place.

    Fields that only make sense together wait for each other, with the error beside them; until then nothing runs by
    the value, which is a `part` of the job that the steward knows by a `title`.
    """
    key, schema = (screen.step.name, prefix), screen.policy.schema
    refused = screen.session.refusal(key)
    typed: dict[str, Any] = {} if refused is None else refused.text

    async def changed(name: str, text: Any) -> None:
        texts = {**typed, name: text}

        def take() -> None:
            made = build_value(type(value), {**texts_of(value), **texts}, schema=schema, kept=value)
            check(made)
            put(made)

        def refusal(error: TaskError) -> Refusal:
            at = (error.field if isinstance(error, FieldError) else "") or name
            told = f"{title}: {labels.get(at, (at, ''))[0]}"
            return Refusal(screen.step.name, f"{prefix}-{at}", told, texts, error, part)

        with suppress(FieldError):  # it is shown at the field that it is about
            await screen.taking(take, key, refusal)

    if refused is not None:
        screen.errors.setdefault(refused.field, refused.error)
    shown = {**texts_of(value), **typed}
    draw_fields(screen, parameters_of(type(value), schema), shown, changed, prefix=prefix, labels=labels)


def draw_fields(
    screen: Screen,
    parameters: tuple[Parameter, ...],
    shown: Texts,
    changed: Callable[[str, Any], Any],
    *,
    prefix: str,
    labels: Labels,
) -> None:
    """Draw a field for each parameter; `changed` gets its name and what it holds now."""
    for each in parameters:
        name = f"{prefix}-{each.name}"
        label, hint = labels.get(each.name, (each.name.replace("_", " ").capitalize(), ""))
        error, now = screen.errors.get(name), shown.get(each.name, "")
        set_to = screen.on(lambda value, key=each.name: changed(key, value), at=name)
        if each.form == "flag":
            parts.tick(label, now is True, set_to, name=name, hint=hint, error=error)
        elif each.form == "choice":
            options = tuple(dict.fromkeys((*each.choices, *([str(now)] if now else []))))
            empty = {"": "none"} if not each.needed and each.choices[:1] == ("",) else {}
            parts.choice(
                label, {**{key: key for key in options}, **empty}, str(now), set_to, name=name, hint=hint, error=error
            )
        elif each.form == "columns":
            _ticks(each, label, hint, now, set_to, name=name, error=error)
        else:
            mode = "decimal" if each.form == "number" else None
            parts.field(label, str(now), set_to, name=name, hint=hint, error=error, inputmode=mode, autocomplete="off")


def _ticks(
    parameter: Parameter,
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
        for place, column in enumerate(parameter.choices):
            others = tuple(each for each in chosen if each != column)
            with_it = tuple(each for each in parameter.choices if each in (*others, column))
            parts.tick(
                column,
                column in chosen,
                lambda on, off=others, whole=with_it: set_to(whole if on else off),
                name=f"{name}-{place}",
            )
        if not parameter.choices:
            parts.say("There is no column for it.", kind="hint")
        if hint:
            parts.say(hint, kind="hint")
        if error:
            parts.problem(error, at=name)


def build_draft(screen: Screen, kind: type[T], draft: Texts, schema: Schema, *, prefix: str) -> T | None:
    """Return what a whole form spells, None where an error stands at one of its fields now."""
    try:
        return build_value(kind, draft, schema=schema)
    except FieldError as error:
        screen.errors[f"{prefix}-{error.field}" if error.field else prefix] = error
        return None
