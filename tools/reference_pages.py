"""The reference pages, written from what algorithms, models, metrics and commands declare about themselves.

    python -m tools.reference_pages docs/reference            writes the pages
    python -m tools.reference_pages docs/reference --check    fails if they differ from the code

Nothing is typed in twice: names, parameters, traits and sentences come from the registry and the docstrings.
"""

import argparse
import ast
import inspect
import json
import re
import sys
import textwrap
import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from typer.main import get_command

import indistinct
from indistinct.algorithms.base import ONE_COLUMN, Algorithm, AlgorithmTraits
from indistinct.algorithms.registry import ALGORITHMS
from indistinct.as_json import AsJson
from indistinct.cli import app
from indistinct.cli.json_schemas import SCHEMAS, schema_of
from indistinct.cli.listing import parameters
from indistinct.engines import MEANINGS, every_engine
from indistinct.errors import IndistinctError
from indistinct.evaluation.attack.registry import ATTACKS
from indistinct.hierarchy import KINDS, Hierarchy, HierarchyKind
from indistinct.machine.arguments import required_fields
from indistinct.metrics import BETTER, METRICS, Metric
from indistinct.metrics.queries.workload import Workload
from indistinct.models import Model, ModelTraits
from indistinct.models.registry import MODELS, parse_model
from indistinct.parameters import parameters_of
from indistinct.recoding.columns import Importance, NumericForm, NumericForms
from indistinct.recoding.kinds import Recoding
from indistinct.release.published import Published
from indistinct.release.writing.formats import FORMATS
from indistinct.samples import GENERATORS
from indistinct.settings import SETTINGS, TABLES, Setting, settings_of
from indistinct.tables.several import ARROW, DELIMITED, PARQUET
from indistinct.testing.checks import MODEL_EXAMPLES
from indistinct.text_form import spell
from indistinct_papers import REPRODUCTIONS
from indistinct_papers.command import app as papers
from indistinct_papers.examples import ADULT_EXAMPLE, reproduce_examples
from tools.python_names import PUBLIC, grouped_names, page_of

NOTE = "<!-- Written by `make docs` from the code; change the code, not this page. -->"
SOURCE = Path(vars(indistinct)["__file__"]).parent
# What replaces the parts of an error message that a run fills in.
FILLED_IN = "…"
PARAMETER_COLUMNS = ("parameter", "meaning", "value", "default")
# An alternative that depends on the run is one of a few texts.
EITHER = " / "
# A function that returns more texts than this is shown by the first of them.
MAX_ALTERNATIVES = 3
# Signs that Markdown or HTML would read as marks.
MARKS = re.compile(r"([\\`*_\[\]])")


def pages() -> dict[str, str]:
    """Return every reference page: file name to text."""
    written = "is written `name:key=value,key=value`"
    alike = "on the command line, in a policy and in Python alike; the keys are its parameters."
    return {
        "README.md": _index_page(),
        "algorithms.md": _registered_page("Algorithms", f"An algorithm {written}, {alike}", ALGORITHMS),
        "attacks.md": _attacks_page(),
        "command-line.md": _command_line_page(),
        "errors.md": _errors_page(),
        "errors-by-message.md": _messages_page(),
        "hierarchies.md": _hierarchies_page(),
        "metrics.md": _metrics_page(),
        "policy.md": _policy_page(),
        "models.md": _registered_page("Models", f"A model {written}; `&` between two asks for both.", MODELS),
        "support-matrix.md": _support_page(),
        "worked-examples.md": _examples_page(),
        **_python_pages(),
        **{f"schemas/{name}.json": json.dumps(schema_of(name), indent=2) + "\n" for name in SCHEMAS},
    }


def drift(folder: Path) -> list[str]:
    """Return the names of pages that differ from the code, are absent, or have no place in the folder."""
    wanted = pages()
    files = sorted([*folder.glob("*.md"), *folder.glob("python/*.md"), *folder.glob("schemas/*.json")])
    present = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}
    return sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))


def variants(kind: type[Algorithm]) -> tuple[Algorithm, ...]:
    """Return an algorithm as it is by default, once with each of its switches set, and by each way of its search.

    What it needs is 2. What is for one column alone is left out: the matrix is about any table.
    """
    needed = dict.fromkeys(required_fields(kind), 2)
    switches = [f for f in fields(kind) if f.default is False and ONE_COLUMN not in f.metadata]  # type: ignore[arg-type]
    ways = [f for f in fields(kind) if f.name == "search"]  # type: ignore[arg-type]
    others = [{f.name: way} for f in ways for way in get_args(get_type_hints(kind)[f.name]) if way != f.default]
    return (kind(**needed), *(kind(**needed, **set_) for set_ in [*({f.name: True} for f in switches), *others]))


def _index_page() -> str:
    names = ", ".join
    entries = [
        ("[Algorithms](algorithms.md)", names(ALGORITHMS)),
        ("[Models](models.md)", names(MODELS)),
        ("[Metrics](metrics.md)", names(METRICS)),
        ("[Attacks](attacks.md)", names(ATTACKS)),
        ("[Support matrix](support-matrix.md)", "what each of them promises and needs"),
        ("[Hierarchies](hierarchies.md)", names(KINDS)),
        ("[Policy](policy.md)", "every key, with its flag and its parameter in Python"),
        ("[Command line](command-line.md)", names(name for name, _ in _commands())),
        ("[Python](python/README.md)", "a page for every public name"),
        ("[Errors](errors.md)", "every error with its exit code"),
        ("[Errors by message](errors-by-message.md)", "every error message, and what to do about it"),
        ("[Worked examples](worked-examples.md)", "the tables of five documents, made again"),
    ]
    return _page(
        "Reference",
        f"Version {indistinct.__version__}. These pages are written from the code by `make docs`.",
        _table(("page", "holds"), entries),
    )


def _policy_page() -> str:
    """Return the keys of a policy, table by table, and the flags that a policy has no key for."""
    parts = [
        "A policy is a job in one TOML file; paths in it are relative to the file. Each table below lists its keys, "
        "the flag that sets the same on the command line, and the parameter in Python. "
        "[Policies](../guides/policies.md) has examples; [several tables](../guides/several-tables.md) has the keys of "
        "a policy about several tables."
    ]
    for table in TABLES:
        title = "[columns], for each column" if table == "columns" else f"[{table}]"
        parts += [f"## {title}", _table(SETTING_COLUMNS, [_setting_row(each) for each in settings_of(table).values()])]
    others = [each for each in SETTINGS if each.key is None]
    rows = [row[1:] for row in map(_setting_row, others)]
    parts += ["## On the command line and in Python only", _table(SETTING_COLUMNS[1:], rows)]
    return _page("Policy", *parts)


SETTING_COLUMNS = ("key", "value", "meaning", "flag", "Python")


def _setting_row(setting: Setting) -> tuple[str, str, str, str, str]:
    function, _, parameter = (setting.python or "").partition(".")
    return (
        f"`{setting.own_key}`",
        _choices_of(setting) or setting.kind.words,
        setting.flag_help.removesuffix(" Repeatable.") if setting.key is None else setting.policy_help,
        f"`{setting.option}`" if setting.flag else "",
        f"`ind.{function}({parameter}=…)`" if function else "",
    )


def _choices_of(setting: Setting) -> str:
    """Return the words among which a text is chosen; empty where any text will do."""
    words = (setting.metavar or "").split("|")
    return (
        " or ".join(f'`"{each}"`' for each in words) if all(each.islower() and each.isalpha() for each in words) else ""
    )


def _registered_page(title: str, introduction: str, kinds: Mapping[str, type[Any]]) -> str:
    parts = [introduction]
    for name, kind in kinds.items():
        parts += [*_entry(name, kind), f"Theory: [{name}](../theory/{name}.md)"]
    return _page(title, *parts)


def _metrics_page() -> str:
    parts = [
        "`ind.measure(release)` gives every metric that needs no parameter of its own, such as "
        '`ind.measure(release)["gcp"]`; name others in its second argument: `ind.measure(release, ["loss", "iloss"])`. '
        "[Theory](../theory/metrics.md) has the definitions.",
        "To compare releases read `gcp` first: the mean width of published values. A metric is *monotone* if merging "
        "classes never gives a better value, which searches use to skip what cannot be better.",
    ]
    rows = [(f"`{name}`", kind.meaning, BETTER[kind.goal], _range(kind.bounds)) for name, kind in METRICS.items()]
    parts += [_table(("metric", "what it is", "better", "values"), rows)]
    for name, kind in METRICS.items():
        told = f"{BETTER[kind.goal].capitalize()} is better. Values: {_range(kind.bounds)}. "
        parts += [*_entry(name, kind), f"{told}Monotone: {_yes(kind.monotone)}."]
    return _page("Metrics", *parts)


def _attacks_page() -> str:
    parts = [
        "An attack is written `name:key=value,key=value` for `indistinct attack` and `indistinct.attack` alike; `all` "
        "runs every one that applies. [Theory](../theory/attacks.md) has the definitions."
    ]
    for name, kind in ATTACKS.items():
        parts += [*_entry(name, kind), f"Needs: {', '.join(kind.needs)}." if kind.needs else ""]
    return _page("Attacks", *parts)


def _examples_page() -> str:
    made = reproduce_examples(REPRODUCTIONS["examples"].sizes, lambda share: None)
    # What depends on a table that is not part of the package stands on no page.
    examples = [example for example in made.examples if example.name != ADULT_EXAMPLE]
    summary = [
        (example.document, example.name, "as printed" if example.equal else "differs", _literal([example.erratum])[0])
        for example in examples
    ]
    parts = [
        "Every numbered table of five documents that can be made, made again by `indistinct reproduce examples` and "
        "shown next to the printed rows, which are on the left. Ours is made from the corrected table; rows that "
        "differ have a ≠ between them, and a sentence says why. Published rows are in random order, each is shown next "
        f"to the row that it is. {ADULT_EXAMPLE} of the thesis needs Adult and is in the command's output alone.",
        made.source,
        _table(("document", "table", "", "erratum"), summary),
    ]
    for example in examples:
        parts += [
            f"## {example.document}: {example.name}",
            f"Ours: {example.made}.",
            _table((*example.headings, "≠", *example.headings), [_literal(row) for row in example.rows()]),
            *_literal([example.erratum]),
        ]
    return _page("Worked examples", *parts)


def _literal(row: Sequence[str]) -> list[str]:
    """Return cells whose stars and brackets are no markup."""
    return [re.sub(r"([*\[\]<>_])", r"\\\1", cell) for cell in row]


def _support_page() -> str:
    every = [one for kind in ALGORITHMS.values() for one in variants(kind)]
    algorithms = [(f"[`{spell(one)}`](../theory/{one.name}.md)", *_declared(one.traits)) for one in every]
    searched = {name: parse_model(MODEL_EXAMPLES[name][0]) for name in MODELS}
    models = [
        (f"[`{name}`](../theory/{name}.md)", *_declared(model.traits), ", ".join(_naming_columns(model)) or "none")
        for name, model in searched.items()
    ]
    metrics = [
        (f"`{name}`", kind.goal, *map(_end, kind.bounds), _mark(kind.monotone)) for name, kind in METRICS.items()
    ]
    together = [(f"`{spell(one)}`", *(support(one, model) for model in searched.values())) for one in every]
    engines = [
        (f"`{kind}`", told, *(_mark(kind in each.supports) for each in every_engine().values()))
        for kind, told in MEANINGS.items()
    ]
    reads = ", ".join((*DELIMITED, *(f"{suffix}.gz" for suffix in DELIMITED), *PARQUET, *ARROW))
    files = [
        ("read", reads),
        ("read, frames", "pandas, polars, Arrow, and whatever speaks Arrow's PyCapsule interface"),
        ("written", ", ".join(FORMATS)),
        ("generated tables", ", ".join(GENERATORS)),
    ]
    return _page(
        "Support matrix",
        "What algorithms, models and engines declare in the code and tests check. A dash means no.",
        "## Algorithms",
        _doc(AlgorithmTraits),
        _table(("algorithm", *(f.name for f in fields(AlgorithmTraits))), algorithms),
        "## Models",
        _doc(ModelTraits),
        _table(("model", *(f.name for f in fields(ModelTraits)), "parameters that name columns"), models),
        "## Which algorithm searches for which model",
        _table(("algorithm", *(f"`{name}`" for name in searched)), together),
        "`without suppression`: it refuses the model where rows may be suppressed. `verified`: it does not search for "
        "the model, but nothing is published that does not satisfy it.",
        "## Which engine publishes which recodings",
        _table(("recoding", "says", *(f"`{name}`" for name in every_engine())), engines),
        "What no engine of a name publishes is refused before the search, with the engines that can.",
        "## Metrics",
        _table(("metric", "goal", "from", "to", "monotone"), metrics),
        "## Files and frames",
        _table(("", "formats"), files),
    )


def support(algorithm: Algorithm, model: Model) -> str:
    """Return whether an algorithm searches for a model, as both declare it.

    >>> from indistinct.algorithms.full_domain.samarati import Samarati
    >>> support(Samarati(), parse_model("t-closeness:sensitive=disease,t=0.2"))
    'without suppression'
    """
    if algorithm.refusal(model, suppression=False) is not None:
        return "no"
    if algorithm.traits.own_promise:
        return "verified"
    return "yes" if algorithm.refusal(model, suppression=True) is None else "without suppression"


def _naming_columns(model: Any) -> list[str]:
    return [f.name for f in fields(model) if any(getattr(model, f.name) in (key, *key) for key in model.keys)]


def _declared(traits: Any) -> list[str]:
    return [_mark(getattr(traits, f.name)) for f in fields(traits)]


def _range(bounds: tuple[float | None, float | None]) -> str:
    low, high = bounds
    return f"{_end(low)} or more" if high is None else f"{_end(low)} to {_end(high)}"


def _end(bound: float | None) -> str:
    return "open" if bound is None else f"{bound:g}"


def _hierarchies_page() -> str:
    parts = ["How to choose one, and how its labels look: [hierarchies](../concepts/hierarchies.md)."]
    for key, kind in KINDS.items():
        builder = getattr(Hierarchy, kind.builder)
        own = {*kind.options, *(field.name for field in fields(kind.kind)[:1])}  # type: ignore[arg-type]
        declared = [
            (f"`{name}`", f"{each.label}. {each.meaning}")
            for name, each in parameters_of(kind.kind).items()
            if name in own
        ]
        parts += [
            f"## `{key}`",
            f"{kind.title}. {kind.meaning} {_spelled(kind)}",
            _signature(f"Hierarchy.{kind.builder}", builder),
            _doc(builder if kind.keyword is None else kind.kind),
            _table(("parameter", "meaning"), declared) if declared else "",
        ]
    return _page("Hierarchies", *filter(None, parts))


def _spelled(kind: HierarchyKind) -> str:
    """Return how a policy and a flag declare a kind of hierarchy."""
    options = "".join(f", {name} = …" for name in kind.options)
    policy = f"In a policy: `{{ {kind.key} = …{options} }}`"
    if kind.key == "file":
        return f"{policy}; as a flag: `COLUMN=file:PATH`, `COLUMN=header:PATH` or `COLUMN=PATH`."
    if kind.separators is None:
        return f"{policy}; no flag declares it."
    options = "".join(f",{name}=…" for name in kind.options)
    joined = " and ".join(f"`{each}`" for each in kind.separators)
    several = f", with {joined} between values" if kind.separators else ""
    return f"{policy}; as a flag: `COLUMN={kind.key}{'' if kind.usual is True else ':…'}{options}`{several}."


def _python_pages() -> dict[str, str]:
    """Return the page of every public name, and their list by group."""
    groups = grouped_names()
    lists = [
        f"## {title}\n\n"
        + _table(
            ("name", "what it does"),
            [(f"[`{name}`]({page_of(name)})", _first_line(getattr(indistinct, name))) for name in names],
        )
        for title, names in groups.items()
    ]
    opening = "```python\nimport indistinct as ind\n```"
    index = _page(
        "Python", opening, "Everything that `ind` has, most used first. `help(ind.anonymize)` shows the same.", *lists
    )
    return {
        "python/README.md": index,
        **{f"python/{page_of(name)}": _name_page(name, title) for title, names in groups.items() for name in names},
    }


def _name_page(name: str, group: str) -> str:
    """Return the page of a public name: signature, docstring, parameters, members and theory."""
    value = getattr(indistinct, name)
    parts = [f"[Python](README.md): {group.lower()}", _signature(name, value), _doc(value)]
    registered = next((each for each, kind in {**ALGORITHMS, **MODELS, **METRICS}.items() if kind is value), None)
    if registered is not None:
        page = "metrics" if registered in METRICS else registered
        rows = _parameter_rows(value)
        parts += [f"On the command line and in policies: `{registered}`. [Theory](../../theory/{page}.md)."]
        parts += ["## Parameters", _table(PARAMETER_COLUMNS, rows)] if rows else []
    if inspect.isclass(value):
        inner = _inner_members(value)
        members = [(f"`{member}`", _first_line(part), member in inner) for member, part in _members(value)]
        for title, is_inner in (("Members", False), ("For extensions", True)):
            several = [each[:2] for each in members if each[2] is is_inner]
            parts += [f"## {title}", _table(("member", "what it is"), several)] if several else []
    return _page(f"`{name}`", *parts)


def _errors_page() -> str:
    rows = [
        (f"`{kind.__name__}`", f"`{kind.__mro__[1].__name__}`", str(kind.exit_code), _first_line(kind))
        for kind in _descendants(IndistinctError)
    ]
    module = sys.modules[IndistinctError.__module__]
    return _page("Errors", _doc(module), _table(("error", "is a", "exit code", "meaning"), rows))


def _messages_page() -> str:
    """Return every message that the source of an error class has, by its first letter, with its hint and its class."""
    kinds = {kind.__name__: kind for kind in _descendants(IndistinctError)}
    parts = [
        f"Search this page for words of the message that you see. `{FILLED_IN}` is what a run fills in: names, numbers "
        f"and paths, never a cell's value. Where a message has a choice of words, `{EITHER.strip()}` separates them. "
        "[Errors](errors.md) has the exit code of each error in Python."
    ]
    by_letter: dict[str, list[tuple[str, str, str]]] = {}
    for name, messages in error_messages(kinds).items():
        for each in messages:
            first = re.sub(r"[\W_]", "", each.text)[0].upper()
            by_letter.setdefault(first, []).append((markdown(each.text), markdown(each.hint), f"`{name}`"))
    for letter, rows in sorted(by_letter.items()):
        parts += [f"## {letter}", _table(("message", "what to do", "in Python"), sorted(rows, key=_letters))]
    return _page("Errors by message", *parts)


def _letters(row: Sequence[str]) -> tuple[str, ...]:
    """Return what a row of messages is sorted by: letters and digits, without case, then the rest."""
    return re.sub(r"[\W_]+", " ", row[0]).strip().casefold(), *row


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """What an error says, and what its hint says; empty where it has none."""

    text: str
    hint: str


def error_messages(classes: Collection[str], source: Path = SOURCE) -> dict[str, list[Message]]:
    """Return the messages of every class of errors by its name, sorted, each once.

    Left out are messages that are made of nothing but what a run fills in.
    """
    messages: dict[str, set[Message]] = {name: set() for name in classes}
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(source.rglob("*.py"))}
    shared = _texts_by_name(trees.values(), _texts_by_name(trees.values()))
    given = _keyword_texts(trees.values())
    for path, tree in trees.items():
        if "testing" in path.relative_to(source).parts:
            continue
        for name, message in _messages_of(tree, classes, shared | _texts_by_name([tree], shared), given):
            if re.search(r"[^\W\d_]{3}", message.text.replace(FILLED_IN, "")):
                messages[name].add(message)
    return {name: sorted(each) for name, each in messages.items() if each}


def _texts_by_name(
    trees: Iterable[ast.Module | ast.FunctionDef], texts: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the texts that modules name: those of constants, and those that functions return, by their names.

    `texts` are those that are known already. A name that has other texts in another module is left out.
    """
    found: dict[str, set[str]] = {}
    for tree in trees:
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found.setdefault(name, set()).add(_template(value, texts))
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    found.setdefault(name, set()).add(_template(value, texts))
                case ast.FunctionDef(name=name) if isinstance(node.returns, ast.Name | ast.BinOp):
                    found.setdefault(name, set()).add(EITHER.join(_returned(node, texts)))
    return {name: text for name, (text, *others) in found.items() if not others and re.search(r"\w{3}", text)}


def _returned(function: ast.FunctionDef, known: Mapping[str, str] | None) -> list[str]:
    """Return the texts that a function returns, each once, without None."""
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    texts = (
        _template(value, known) for value in values if not (isinstance(value, ast.Constant) and value.value is None)
    )
    return [text for text in dict.fromkeys(texts) if text.strip(FILLED_IN)][:MAX_ALTERNATIVES]


def markdown(text: str) -> str:
    """Return a text in which Markdown finds no marks."""
    return MARKS.sub(r"\\\1", text).replace("<", "&lt;").replace(">", "&gt;")


def _keyword_texts(trees: Iterable[ast.Module]) -> dict[tuple[str, str], list[str]]:
    """Return the texts that calls give for a keyword, by the names of function and keyword.

    A keyword that some call gives anything else than a text is left out.
    """
    given: dict[tuple[str, str], dict[str | None, None]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                    for keyword, value in _keywords(node).items():
                        text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
                        given.setdefault((name, keyword), {})[text] = None
    return {key: sorted(filter(None, texts)) for key, texts in given.items() if None not in texts}


def _messages_of(
    tree: ast.AST,
    classes: Collection[str],
    texts: Mapping[str, str],
    given: Mapping[tuple[str, str], Sequence[str]],
) -> Iterator[tuple[str, Message]]:
    """Yield the messages of a module or function; `texts` are those of the names that it may use.

    A function whose calls give texts for a keyword, as `given` has them, has its messages once with each text.
    """
    for node in ast.iter_child_nodes(tree):
        local = {**texts, **_texts_by_name([node], texts)} if isinstance(node, ast.FunctionDef) else texts
        choices: list[tuple[str, str]] = []
        if isinstance(node, ast.FunctionDef):
            choices = [(key.arg, text) for key in node.args.kwonlyargs for text in given.get((node.name, key.arg), ())]
        for keyword, text in choices or [("", "")]:
            yield from _messages_of(node, classes, {**local, keyword: text}, given)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[message, *_]) if name == "MissingExtraError":
                purpose = _template(_keywords(node).get("purpose"))
                text = f"{purpose} needs the package {_template(message)}, which is not installed"
                yield name, Message(text, f'pip install "indistinct[{_template(_keywords(node).get("extra"))}]"')
            case ast.Call(func=ast.Name(id=name), args=[message, *_]) if name in classes:
                yield name, Message(_template(message, texts), _hint(node, texts))
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="of"), args=[owner, parameter, problem, *_]
            ) if name in classes:
                text = f"`{_template(parameter)}` of {_template(owner)} {_template(problem, texts)}"
                yield name, Message(text, _hint(node, texts))


def _keywords(call: ast.Call) -> Mapping[str, ast.expr]:
    return {each.arg: each.value for each in call.keywords if each.arg is not None}


def _hint(call: ast.Call, texts: Mapping[str, str]) -> str:
    hint = _keywords(call).get("hint")
    text = "" if hint is None or (isinstance(hint, ast.Constant) and hint.value is None) else _template(hint, texts)
    choices = [each for each in dict.fromkeys(text.split(EITHER)) if each.strip(FILLED_IN)]
    return EITHER.join(choices)


def _template(node: ast.expr | None, texts: Mapping[str, str] | None = None) -> str:
    """Return the text of an expression, with an ellipsis for each part that a run fills in.

    `texts` are those of names: constants, and what functions return.
    """
    texts = texts or {}
    match node:
        case ast.Constant(value=str(text)):
            return " ".join(text.split("\n"))
        case ast.JoinedStr(values=parts):
            return "".join(_template(part, texts) for part in parts)
        case ast.FormattedValue(
            value=ast.IfExp(body=ast.Constant(value=str(one)), orelse=ast.Constant(value=str(other)))
        ):
            return _one_or_other(one, other)
        case ast.FormattedValue(value=value):
            named = _template(value, texts) if isinstance(value, ast.Name | ast.Call) else FILLED_IN
            return named if EITHER not in named else FILLED_IN
        case ast.Call(func=ast.Name(id="plural"), args=[_, ast.Constant(value=str(noun)), *several]):
            return f"{FILLED_IN} {_template(several[0]) if several else noun + 's'}"
        case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name):
            return texts.get(name, FILLED_IN)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _template(left, texts) + _template(right, texts)
        case ast.IfExp(body=body, orelse=orelse):
            return EITHER.join(dict.fromkeys([_template(body, texts), _template(orelse, texts)]))
        case ast.BoolOp(values=values):
            return EITHER.join(dict.fromkeys(_template(value, texts) for value in values))
        case _:
            return FILLED_IN


def _one_or_other(one: str, other: str) -> str:
    """Return two words of which a message has one; an ellipsis for longer texts.

    >>> _one_or_other("column", "columns"), _one_or_other("is", "are"), _one_or_other("", "s")
    ('column(s)', 'is/are', '(s)')
    """
    if other.startswith(one):
        return f"{one}({other.removeprefix(one)})"
    if one.startswith(other):
        return f"{other}({one.removeprefix(other)})"
    return f"{one}/{other}" if one.isalpha() and other.isalpha() else FILLED_IN


def _command_line_page() -> str:
    parts = [
        "Every command has `--help`. Results that another program reads go to standard output with `--json`; "
        "progress and messages go to standard error. Each such document has a JSON Schema (draft 2020-12), which "
        "`indistinct schema COMMAND` prints and which is here as a file: "
        + ", ".join(f"[{name}](schemas/{name}.json)" for name in SCHEMAS)
        + ". A command that fails prints the document of `error`.",
        _table(
            ("exit code", "meaning"),
            [
                ("0", "done; for `verify`: every model holds"),
                ("1", "error: input, policy or output"),
                ("2", "usage: an option, a parameter or a name is not possible"),
                ("3", "infeasible: no release can satisfy the model"),
                ("4", "verification failed: a table does not satisfy the model"),
                ("130", "interrupted (Ctrl-C, or a request to stop): nothing was published"),
            ],
        ),
    ]
    for name, command in _commands():
        arguments = [_argument(p) for p in command.params if p.param_type_name == "argument"]
        usage = " ".join([f"indistinct {name}", *arguments, "[OPTIONS]"])
        parts += [f"## `indistinct {name}`", _fenced("text", usage), _help(command.help)]
        rows = [_option_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
        parts += [_table(("argument or option", "meaning"), rows)] if rows else []
    return _page("Command line", *parts)


def _commands() -> list[tuple[str, Any]]:
    """Return every command of the command line by name."""
    group: Any = get_command(app)
    commands = {**group.commands, "reproduce": get_command(papers)}
    return sorted((name, command) for name, command in commands.items() if not command.hidden)


def _argument(parameter: Any) -> str:
    shown = (parameter.metavar or parameter.name or "").upper().strip("[]")
    return shown if parameter.required else f"[{shown}]"


def _option_row(parameter: Any) -> tuple[str, str]:
    if parameter.param_type_name == "argument":
        name = _argument(parameter)
    else:
        value = "" if parameter.is_flag else f" {parameter.metavar or 'VALUE'}"
        name = ", ".join(parameter.opts) + value
    return f"`{name}`", _help(getattr(parameter, "help", None)).replace("\n", " ")


def _help(text: str | None) -> str:
    return inspect.cleandoc((text or "").replace("\b", "")).split("\f")[0].strip()


def _entry(name: str, kind: Any) -> list[str]:
    """Return heading, class, sentence and parameters of something registered."""
    rows = _parameter_rows(kind)
    family = ".".join(kind.__module__.split(".")[:2])
    home = family if hasattr(sys.modules[family], kind.__name__) else kind.__module__
    home = "indistinct" if kind.__name__ in PUBLIC and getattr(indistinct, kind.__name__) is kind else home
    head = [f"## `{name}`", f"In Python: `{home}.{kind.__name__}`.", _doc(kind)]
    return [*head, _table(PARAMETER_COLUMNS, rows)] if rows else head


def _parameter_rows(kind: Any) -> list[tuple[str, str, str, str]]:
    """Return the parameters of something registered: name, meaning, values and default."""
    hints, declared = get_type_hints(kind), parameters_of(kind)
    return [
        (
            f"`{key}`",
            declared[key].meaning if key in declared else "",
            _type_name(hints[key]),
            "required" if default is None else f"`{default}`" if default else "–",
        )
        for key, default in parameters(kind).items()
    ]


def _members(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class defines itself."""
    inherited = vars(AsJson) if issubclass(kind, AsJson) else {}
    for name, part in sorted({**inherited, **vars(kind)}.items()):
        plain = part.__func__ if isinstance(part, staticmethod | classmethod) else part
        if not name.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property)) and plain.__doc__:
            yield name, plain


def _inner_members(kind: type[Any]) -> Collection[str]:
    """Return the members of a class that only authors of algorithms, models or metrics call: those of its protocol."""
    if kind is Published:
        return ("cells_of_original", "groups", "once", "require_original", "values_of_original", "view")
    return {
        name
        for base in (Algorithm, Model, Metric)
        if issubclass(kind, base) and kind is not base
        for name in vars(base)
    }


def _descendants(kind: type[IndistinctError]) -> Iterator[type[IndistinctError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _descendants(below)


def _signature(name: str, value: Any) -> str:
    try:
        shown = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    if inspect.isclass(value) and (
        inspect.isabstract(value) or issubclass(value, IndistinctError | Recoding | Published)
    ):
        return ""  # programs do not call these constructors
    plain = shown.replace(
        parameters=[p.replace(annotation=p.empty) for p in shown.parameters.values()],
        return_annotation=shown.empty,
    )
    text = re.sub(r"<function (\w+) at \w+>", r"\1", f"{name}{plain}")
    return _fenced("text", text if len(text) <= 88 else textwrap.fill(text, 88, subsequent_indent="    "))


def _doc(value: Any) -> str:
    """Return a docstring as Markdown: examples and drawings fenced, numpydoc sections as lists."""
    opening, *sections = re.split(r"(?m)^(.+)\n-{3,}\n", inspect.cleandoc(value.__doc__ or ""))
    titled = [
        (title, text)
        for title, text in zip(sections[::2], sections[1::2], strict=True)
        if not (
            title == "Parameters" and isinstance(value, type) and is_dataclass(value) and parameters_of(value)
        )  # its page has a table of them
    ]
    parts = [_prose(opening), *(f"**{title}**\n\n{_section(title, text)}" for title, text in titled)]
    return "\n\n".join(part.strip("\n") for part in parts)


def _section(title: str, text: str) -> str:
    """Return a section of a docstring as Markdown: entries with an indented description become a list."""
    if title not in ("Attributes", "Parameters", "Raises", "Returns"):
        return _prose(text)
    entries = re.split(r"(?m)^(?=\S)", text.strip("\n"))
    lines = []
    for entry in filter(None, entries):
        names, _, meaning = entry.strip("\n").partition("\n")
        shown = ", ".join(f"`{name.strip()}`" for name in re.split(r", | or ", names))
        lines.append(f"- {shown}: {textwrap.dedent(meaning)}".replace("\n", "\n  ").replace("\n  \n", "\n\n"))
    return "\n".join(lines)


def _prose(text: str) -> str:
    """Return paragraphs of a docstring as Markdown, with examples and drawings fenced."""
    parts = []
    for block in text.strip("\n").split("\n\n"):
        plain = textwrap.dedent(block)
        language = "pycon" if plain.startswith(">>>") else "text" if block.startswith("    ") else ""
        parts.append(_fenced(language, plain) if language else plain)
    return "\n\n".join(parts)


def _first_line(value: Any) -> str:
    return inspect.cleandoc(value.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def _type_name(hint: Any) -> str:
    origin = get_origin(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    if origin is tuple:
        part = get_args(hint)[0]
        if get_origin(part) is tuple:
            return "lists of text: the parts of a list joined by `+`, several lists by a vertical bar"
        return f"{_type_name(part)}, several joined by a vertical bar"
    if origin in (Union, types.UnionType):
        words = [part for part in get_args(hint) if get_origin(part) is Literal]
        if words:
            others = [part for part in get_args(hint) if part is not type(None) and part not in words]
            return " or ".join(map(_type_name, [*others, *words]))
        first = type(None) in get_args(hint) or str in get_args(hint)
        return _type_name(get_args(hint)[0]) if first else "number or fraction such as `1/3`"
    names: Mapping[Any, str] = {
        bool: "`true`, `false`",
        int: "whole number",
        float: "number",
        str: "text",
        Workload: "file of queries",
        Importance: "columns with numbers, `age=3`, several joined by a vertical bar",
        NumericForms: f"{_type_name(NumericForm)}, or columns with such forms, `age=mean`, joined by a vertical bar",
    }
    return names[hint]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _mark(value: bool) -> str:
    """Return a mark for a cell of a large table, where a dash leaves the yes visible."""
    return "yes" if value else "–"


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", NOTE, *(part for part in parts if part)]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or with `--check` say which differ; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference_pages", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page differs from the code")
    given = parser.parse_args(arguments)
    if given.check:
        different = drift(given.folder)
        if different:
            sys.stderr.write(f"out of date, run `make docs`: {', '.join(different)}\n")
        return 1 if different else 0
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (given.folder / name).parent.mkdir(exist_ok=True)
        (given.folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
