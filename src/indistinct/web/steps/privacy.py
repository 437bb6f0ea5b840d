"""The step `privacy`: which models must hold, in plain words, and how many rows may be suppressed for it."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from indistinct.errors import ParameterError
from indistinct.evaluation.assess.profiles import PROFILES, Profile, limits_in_words, parse_profile
from indistinct.figures import number
from indistinct.job.policy import Policy
from indistinct.job.policy.value import relative_path
from indistinct.models import Model
from indistinct.models.base import MODEL_GROUPS
from indistinct.models.registry import EVERY_MODEL
from indistinct.models.words import promise_for_one, words_of
from indistinct.parameters import labels_of, starts_of
from indistinct.suppression_limit import UNITS, Budget, parse_budget
from indistinct.text_form import arguments_of
from indistinct.web import parts
from indistinct.web.deciding import models_for
from indistinct.web.files import allowed_path
from indistinct.web.findings import find_against_profile, find_in_columns
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.parameter_fields import build_draft, draw_fields, draw_value
from indistinct.web.parameters import FieldError, default_texts, form_fields, write_text
from indistinct.web.sessions import Session
from indistinct.web.standing import INSPECTED, STARTER
from indistinct.web.steps.opening import WHO
from indistinct.web.steps.verdict_box import draw_findings
from indistinct.web.worker import TaskError

TO_SEARCH = "Go on to search"
NEW = "new"
"""Under this name a tab keeps the model that it is about to add, and what its form holds."""


async def draw(screen: Screen) -> None:
    """Draw the guarantee, the models with their fields, profiles, and suppression."""
    _promise(screen.policy)
    with parts.tag("div", classes="actions"):
        parts.link(TO_SEARCH, "/search", classes="main")
    _profiles(screen)
    _models(screen)
    _add(screen)
    _population(screen)
    _suppression(screen)
    _over_time(screen)


def members_of(session: Session) -> tuple[int | None, str]:
    """Return the number of members if it is known, and their unit: people if there is a person ID, else rows."""
    looked = session.result(INSPECTED) or {}
    by_person = session.policy is not None and bool(session.policy.schema.person)
    return (looked.get("people"), "people") if by_person else (looked.get("rows"), "rows")


def _promise(policy: Policy) -> None:
    """Draw what the guarantees mean for one person."""
    own = policy.algorithm.promise()
    models = (*policy.models, *(() if own is None else own.parts()))
    with parts.tag("section", classes="card promise", id="promise", aria_label="What is promised to each person"):
        parts.heading("What this means for one person", level=3)
        if not models:
            parts.notice("Nothing is promised yet.", kind="warning", hint="Add a promise, or use a profile, below.")
        for model in models:
            parts.say(promise_for_one(model, policy.schema))
        if not policy.schema.quasi:
            parts.notice(
                "No column is one that others may know, so there is nothing to recode.",
                kind="warning",
                hint="Give such columns the role quasi-identifier in the step columns.",
            )


# Models


def _models(screen: Screen) -> None:
    """Draw the models of the policy with their fields."""
    policy = screen.policy
    parts.heading("What must hold")
    looked, starter = screen.session.result(INSPECTED), screen.session.result(STARTER)
    against = find_against_profile(policy, models_asked(policy, looked or {}))
    draw_findings(screen, [*against, *find_in_columns(policy, looked, starter)], name="decide")
    with parts.tag("div", classes="cards promises"):
        for index, model in enumerate(policy.models):
            words = words_of(type(model))
            with parts.tag("section", classes="card", id=f"model-{index}"):
                parts.heading(words.title, level=3)
                parts.say(words.about, kind="hint")
                _needs(model, policy)
                draw_value(
                    screen,
                    model,
                    _putting(screen, index),
                    prefix=f"model-{index}",
                    labels=labels_of(type(model)),
                    title=words.title,
                    part=functools.partial(_model_at, index),
                    check=lambda made: check_model(made, screen.session),
                )
                screen.button(
                    "Remove",
                    lambda at=index: _remove(screen, at),
                    name=f"remove-{index}",
                    label=f"Remove: {words.title}",
                    at="add-model",
                )


def models_asked(policy: Policy, looked: Mapping[str, Any]) -> tuple[Model, ...]:
    """Return the models of the chosen profile; none without a profile."""
    named = policy.about.profile
    return () if named is None or not looked else models_for(parse_profile(named), policy, looked)


def _model_at(index: int, policy: Policy) -> tuple[Model, ...]:
    return policy.models[index : index + 1]


def _needs(model: Model, policy: Policy) -> None:
    """Draw what a model still needs: a sensitive column, or a population."""
    column = arguments_of(model).get("sensitive")
    if isinstance(column, str) and column not in policy.schema.sensitive:
        parts.notice(
            f"{column} is not sensitive any more.",
            kind="warning",
            hint="Choose another column, remove this model, or give the column its role in the step columns.",
        )
    if model.needs_population and policy.input.population is None:
        parts.notice("A table of the population is needed.", kind="warning", hint="Name it below.")


def _putting(screen: Screen, index: int) -> Callable[[Model], None]:
    """Return the function that replaces one model of the policy."""

    def put(model: Model) -> None:
        models = screen.policy.models
        screen.change(replace(screen.policy, models=(*models[:index], model, *models[index + 1 :])))

    return put


def _remove(screen: Screen, index: int) -> None:
    """Remove a model."""
    models = screen.policy.models
    screen.change(replace(screen.policy, models=(*models[:index], *models[index + 1 :])))


def check_model(model: Model, session: Session) -> None:
    """Raise `FieldError` where it is plain before any search that a table cannot satisfy a model."""
    looked, (members, unit) = session.result(INSPECTED) or {}, members_of(session)
    distinct = distinct_values(looked)
    arguments = arguments_of(model)
    asked, column = arguments.get("l"), arguments.get("sensitive", "")
    columns = (column,) if isinstance(column, str) else column
    for name in columns:
        if asked is not None and name in distinct and asked > distinct[name]:
            raise FieldError(
                "l",
                f"{name} has {number(distinct[name])} different values, so that l cannot be {number(asked)}",
                hint=f"choose an l of at most {number(distinct[name])}",
            )
    asked = arguments.get("k")
    if asked is not None and model.smallest == asked and members is not None and asked > members:
        raise FieldError(
            "k", f"k = {asked:,}, but the table has {members:,} {unit}", hint=f"choose a k of at most {members:,}"
        )


def distinct_values(looked: Mapping[str, Any]) -> dict[str, int]:
    """Return how many values each column has, by what a first look found."""
    return {each["name"]: each["distinct"] for each in looked.get("columns", ())}


def _add(screen: Screen) -> None:
    """Draw the choice of another model to add."""
    adding: dict[str, Any] = screen.choices.setdefault(NEW, {"name": "", "texts": {}})
    screen.choice(
        "Add another privacy guarantee",
        {"": "choose …", **models_by_group()},
        adding["name"],
        lambda name: _begin(screen, name),
        name="add-model",
    )
    if adding["name"]:
        _form(screen, adding)


@functools.cache
def models_by_group() -> dict[str, dict[str, str]]:
    """Return all models by what they protect from: names with what is shown for them."""
    grouped: dict[str, dict[str, str]] = {group: {} for group in MODEL_GROUPS}
    for name, kind in EVERY_MODEL.builtin.items():
        words = words_of(kind)
        grouped[words.group][name] = words.title
    added = {each.name: each.name for each in EVERY_MODEL.extensions() if each.kind is not None}
    return {**grouped, "Of other packages": added} if added else grouped


def _begin(screen: Screen, name: str) -> None:
    """Show the form of a model, with what it usually begins with."""
    texts: dict[str, Any] = {}
    if name:
        kind = EVERY_MODEL[name]
        texts = {**default_texts(kind), **starts_of(kind)}
        for each in form_fields(kind, screen.policy.schema):
            if each.form == "choice" and each.needed and each.choices:
                texts.setdefault(each.name, each.choices[0])
    screen.choices[NEW] = {"name": name, "texts": texts}


def _form(screen: Screen, adding: dict[str, Any]) -> None:
    """Draw the fields of a model to add."""
    kind, schema = EVERY_MODEL[adding["name"]], screen.policy.schema
    words, wanted = words_of(kind), form_fields(kind, schema)
    with parts.tag("section", classes="card", id=NEW):
        parts.heading(words.title, level=3)
        parts.say(words.about)
        if any(each.name == "sensitive" and not each.choices for each in wanted):
            parts.notice(
                "No column is sensitive, so there is nothing that it could protect.",
                kind="warning",
                hint="Give the column that must not be learned the role sensitive in the step columns.",
            )
            parts.link("Go to columns", "/columns")
            return

        def write(name: str, text: Any) -> None:
            adding["texts"] = write_text(adding["texts"], name, text)

        draw_fields(screen, wanted, adding["texts"], write, prefix=NEW, labels=labels_of(kind))
        if NEW in screen.errors:
            parts.problem(screen.errors[NEW])
        with parts.tag("div", classes="actions"):
            screen.button("Add it", lambda: _add_model(screen, kind), name="add", at=NEW)
            screen.button("Leave it", lambda: _begin(screen, ""), name="leave", at="add-model")


def _add_model(screen: Screen, kind: type[Model]) -> None:
    """Add the model in the form to the policy, or show at its field why it cannot be added."""
    made = build_draft(screen, kind, screen.choices[NEW]["texts"], screen.policy.schema, prefix=NEW)
    if made is None:
        return
    try:
        check_model(made, screen.session)
    except FieldError as error:
        screen.errors[f"{NEW}-{error.field}"] = error
        return
    if made in screen.policy.models:
        raise TaskError("this is asked for already", hint="change its figures above")
    screen.change(replace(screen.policy, models=(*screen.policy.models, made)))
    screen.choices[NEW] = {"name": "", "texts": {}}


# Population


def _population(screen: Screen) -> None:
    """Draw the field for a population if a model needs one."""
    policy = screen.policy
    if policy.input.population is None and not any(each.needs_population for each in policy.models):
        return
    parts.heading("The population")
    parts.say("A table of everybody from whom this one was drawn, with the same columns that others may know.")
    now = policy.input.population
    screen.field(
        "Path of its file",
        "" if now is None else str(now),
        lambda given: _set_population(screen, given),
        name="population",
        about="Path of the population's file",
        part=lambda policy: (policy.input.population, any(each.needs_population for each in policy.models)),
        hint=f"Inside {screen.session.settings.folder}. It is read as the table is. Empty means none.",
    )


def _set_population(screen: Screen, given: str) -> None:
    """Set the path of the population."""
    policy, path = screen.policy, None
    if given.strip():
        population = allowed_path(screen.session, given)
        if not population.is_file():
            raise TaskError("there is no file at this path", hint="check its name; a path begins in that folder")
        path = relative_path(population, policy.base)
    screen.change(replace(policy, input=replace(policy.input, population=path)))


# Suppression


def _suppression(screen: Screen) -> None:
    """Draw the suppression limit."""
    policy = screen.policy
    parts.heading("Suppression")
    screen.field(
        "Suppression limit: how many rows or people may be suppressed",
        spell_budget(policy.suppression),
        lambda given: _set_suppression(screen, given),
        name="suppression",
        part=lambda policy: policy.suppression,
        hint=suppression_in_words(policy.suppression, *members_of(screen.session)),
        autocomplete="off",
    )


def suppression_in_words(budget: Budget, members: int | None, unit: str) -> str:
    """Describe a suppression limit in words.

    >>> suppression_in_words(Budget(0.02), 5000, "rows")
    '2 %: at most 100 of 5,000 rows may be suppressed. Suppressing outliers keeps others detailed.'
    """
    if not budget:
        return (
            f"0: all {unit} are published. Write 2 % for two in a hundred, 4 {unit} for a number of them, or 1/50: "
            "others then stay more detailed."
        )
    if budget.unit not in (None, unit):
        return f"{budget.words}: but {unit} are counted here. Say {Budget(budget.amount, UNITS[unit])}, or a per cent."
    much = "" if members is None else f"at most {budget.allows(members):,} of {members:,} {unit} may be suppressed. "
    return f"{budget.words}: {much}Suppressing outliers keeps others detailed."


def spell_budget(budget: Budget) -> str:
    """Return the text of a suppression limit for its field: a percentage, or a number of rows or people.

    >>> spell_budget(Budget(0.025)), spell_budget(Budget(4, "rows"))
    ('2.5 %', '4 rows')
    """
    if not isinstance(budget.amount, float):
        return str(budget)
    return f"{float(Fraction(str(budget.amount)) * 100):g} %" if budget else "0"


def budget_of(text: str) -> Budget:
    """Return the suppression limit that a field contains: a bare number is a percentage.

    >>> budget_of("2.5 %"), budget_of("4 rows")
    (Budget(amount=0.025, unit=None), Budget(amount=4, unit='rows'))
    """
    plain = text.replace("%", "").strip().replace(",", ".")
    if "/" in plain or plain.endswith(tuple(UNITS)):
        try:
            return parse_budget(plain)
        except ParameterError as error:
            raise TaskError("this is neither a share nor a number of rows or people", hint=error.hint) from None
    try:
        per_cent = Fraction(plain)
    except (ValueError, ZeroDivisionError):
        raise TaskError("this is not a number", hint="a per cent from 0 to 100, such as 2, or 4 rows") from None
    if not 0 <= per_cent <= 100:
        raise TaskError("it must be from 0 to 100", hint="2 means two in a hundred")
    return Budget(float(per_cent / 100))


def _set_suppression(screen: Screen, given: str) -> None:
    screen.change(replace(screen.policy, suppression=budget_of(given or "0")))


# Releases over time


def _over_time(screen: Screen) -> None:
    """Draw the ledger of earlier releases, and the columns that are re-measured."""
    policy, session = screen.policy, screen.session
    ledger = policy.output.ledger
    with parts.details("Earlier releases about the same people", screen.choices, name="over-time", start=bool(ledger)):
        screen.field(
            "Ledger",
            "" if ledger is None else str(ledger),
            lambda given: _set_ledger(screen, given),
            name="ledger",
            part=lambda policy: policy.output.ledger,
            hint=f"A file inside {session.settings.folder} that remembers releases of the same people; each new one is "
            "compared with it. Empty means none.",
        )
        kept = (*policy.schema.sensitive, *policy.schema.insensitive)
        if ledger is not None and kept:
            with parts.tag("fieldset", id="fresh", tabindex="-1"):
                parts.tag("legend", "Columns that are measured anew for every release")
                for index, name in enumerate(kept):
                    screen.tick(
                        Own(name),
                        name in policy.fresh,
                        lambda value, name=name: _set_fresh(screen, name, bool(value)),
                        name=f"fresh-{index}",
                    )
                parts.say("A weight may be, a diagnosis is not. You answer for it.", kind="hint")
        if ledger is not None:
            parts.say(
                "Next month's table is published alike with the recoding of this one: indistinct apply, where "
                "--hold-back leaves out people whom two releases together would show.",
                kind="hint",
            )


def _set_ledger(screen: Screen, given: str) -> None:
    """Set the path of the ledger."""
    policy, path = screen.policy, None
    if given.strip():
        path = relative_path(allowed_path(screen.session, given), policy.base)
    fresh = policy.fresh if path is not None else ()
    screen.change(replace(policy, output=replace(policy.output, ledger=path), fresh=fresh))


def _set_fresh(screen: Screen, name: str, wanted: bool) -> None:
    policy = screen.policy
    kept = (*policy.schema.sensitive, *policy.schema.insensitive)
    named = [each for each in kept if (each in policy.fresh and each != name) or (each == name and wanted)]
    screen.change(replace(policy, fresh=tuple(named)))


# Profiles


def hold_against(screen: Screen, name: str | None) -> None:
    """Hold the release against a profile, or against none; what is asked of it stays."""
    policy = screen.policy
    screen.change(replace(policy, about=replace(policy.about, profile=name)))


def _profiles(screen: Screen) -> None:
    """Draw the profiles."""
    parts.heading("Who gets it")
    parts.say("A profile takes the place of all guarantees below. Undo brings them back.", kind="hint")
    with parts.tag("div", classes="cards"):
        for name, kind in PROFILES.items():
            _profile(screen, name, kind())


def _profile(screen: Screen, name: str, profile: Profile) -> None:
    """Draw a profile with its models, and a button to use it."""
    policy, looked = screen.policy, screen.session.result(INSPECTED) or {}
    models = models_for(profile, policy, looked)
    is_chosen = policy.about.profile == name
    with parts.tag("section", classes="card profile chosen" if is_chosen else "card profile"):
        title, about = WHO.get(name, (name.capitalize(), (profile.__doc__ or "").strip().partition("\n")[0]))
        parts.heading(f"{title} ({name}){': chosen' if is_chosen else ''}", level=3)
        parts.say(about)
        with parts.details("What it asks, and who says so", screen.choices, name=f"limits-{name}"):
            with parts.tag("ul"):
                for what, limit, source in limits_in_words(profile):
                    with parts.tag("li"):
                        parts.tag("span", f"{what}: at most {limit} ")
                        parts.tag("span", f"({source})" if source else "", classes="hint")
            parts.say("It comes to:")
            with parts.tag("ul"):
                for model in models:
                    parts.tag("li", promise_for_one(model, policy.schema))
        if models != policy.models or not is_chosen:
            screen.button("Use this profile", _taking(screen, name, models), name=f"profile-{name}")
        screen.problem(f"profile-{name}")


def _taking(screen: Screen, name: str, models: tuple[Model, ...]) -> Callable[[], None]:
    """Return the handler that replaces the models by those of a profile."""

    def take() -> None:
        for model in models:
            check_model(model, screen.session)
        about = replace(screen.policy.about, profile=name)
        screen.change(replace(screen.policy, models=models, about=about))

    return take
