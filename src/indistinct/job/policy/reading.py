"""Policies from TOML: every key is known, every value has its type, every error names its place."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.algorithms.registry import parse_algorithm
from indistinct.budget import parse_budget
from indistinct.engines.base import DatabaseTable, is_address
from indistinct.errors import IndistinctError, ParameterError, PolicyError
from indistinct.hierarchy import Hierarchy, hierarchy_from_json
from indistinct.job.policy.value import Input, Output, Policy, Statement, predicted_column
from indistinct.job.sampling import check_share
from indistinct.metrics import parse_metric
from indistinct.metrics.importance import importance_of
from indistinct.models.registry import parse_model
from indistinct.recoding.levels import levels_of
from indistinct.recoding.range_columns import check_form
from indistinct.recoding.transformations import Transformation, check_role, transformation_from_options
from indistinct.release.pseudonyms.making import Pseudonym, pseudonym_from_options
from indistinct.release.writing.delimited import Writing
from indistinct.schema import Role, Schema, did_you_mean
from indistinct.tables.input_files import read_ordinary
from indistinct.tables.reading import declare
from indistinct.tables.value import Reading

# What a key accepts: in words, and as a test.
Accepts = tuple[str, Callable[[Any], bool]]
TEXT: Accepts = ("a text", lambda value: isinstance(value, str))
TEXTS: Accepts = (
    "a list of texts",
    lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value),
)
NUMBER: Accepts = ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))
BUDGET: Accepts = (
    "a number or a text",
    lambda value: isinstance(value, int | float | str) and not isinstance(value, bool),
)
WHOLE: Accepts = (
    "a whole number from 0",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
)
LEVELS: Accepts = (
    "a list of whole numbers",
    lambda value: isinstance(value, list) and all(isinstance(level, int) for level in value) and bool(value),
)
BOUNDS: Accepts = (
    'two levels, such as "1..3" or [1, 3]',
    lambda value: isinstance(value, str) or (isinstance(value, list) and len(value) == 2),
)
TABLE: Accepts = ("a table of keys", lambda value: isinstance(value, dict))
DAY: Accepts = ("a date or a text", lambda value: isinstance(value, str | date))
TRUTH: Accepts = ("true or false", lambda value: isinstance(value, bool))
TEXTS_OR_TABLE: Accepts = (
    "a text, a list of texts, or a table of columns with such",
    lambda value: all(
        TEXT[1](each) or TEXTS[1](each) for each in (value.values() if isinstance(value, dict) else [value])
    ),
)

# More than any policy has: what is checked before the parser, which reads deep nesting and long keys in quadratic time.
LARGEST_POLICY = 1 << 26
DEEPEST = 100
LONGEST_WORD = 1000
TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:\\.|[^"\\\n])*"?|\'[^\'\n]*\'?'
    r"|#[^\n]*|[\[{\]}=,\n]|(?P<word>[^\s\[\]{}\"'#,=]+)",
    re.DOTALL,
)

# Every table of a policy but [columns], whose keys are the columns.
TABLES: dict[str, dict[str, Accepts]] = {
    "input": {
        "path": TEXT,
        "table": TEXT,
        "query": TEXT,
        "population": TEXT,
        "sample": NUMBER,
        "delimiter": TEXT,
        "encoding": TEXT,
        "missing": TEXTS_OR_TABLE,
        "text": TEXTS,
        "decimal": TEXT,
        "thousands": TEXT,
        "dates": TEXTS_OR_TABLE,
        "types": TABLE,
        "header": TRUTH,
        "sheet": TEXT,
        "codes": TRUTH,
        "columns": TEXTS,
        "skip_rows": WHOLE,
        "comment": TEXT,
        "trim": TRUTH,
        "nameless": TEXT,
        "version": WHOLE,
    },
    "privacy": {"models": TEXTS, "suppression": BUDGET},
    "algorithm": {"use": TEXT, "node": LEVELS},
    "measure": {"metrics": TEXTS, "target": TEXT},
    "about": {
        **dict.fromkeys(("profile", "purpose", "recipient", "operator", "reviewer"), TEXT),
        "reassess": DAY,
        **dict.fromkeys(("assumed", "not_assumed"), TEXTS),
    },
    "output": {
        "path": TEXT,
        "table": TEXT,
        "report": TEXT,
        "ledger": TEXT,
        "smallest_count": WHOLE,
        "delimiter": TEXT,
        "decimal": TEXT,
        "encoding": TEXT,
        "bom": TRUTH,
        "spreadsheet": TRUTH,
        "formulas": TRUTH,
        "ranges": TEXT,
    },
}
WRITTEN = ("delimiter", "decimal", "encoding", "bom", "spreadsheet", "formulas")
# The keys of [input] that say where the tables are.
PLACE = ("path", "table", "query", "population", "sample")
TRANSFORMATION: dict[str, Accepts] = {
    "round": NUMBER,
    "top": NUMBER,
    "bottom": NUMBER,
    "truncate": TEXT,
    "level": WHOLE,
    "clear": ("true, false or a text", lambda value: isinstance(value, bool | str)),
}
PSEUDONYM: Accepts = ("a text or a table of keys", lambda value: isinstance(value, str | dict))
COLUMN: dict[str, Accepts] = {
    "role": TEXT,
    "hierarchy": TABLE,
    "reason": TEXT,
    **TRANSFORMATION,
    "pseudonym": PSEUDONYM,
    "fresh": TRUTH,
    "importance": NUMBER,
    "levels": BOUNDS,
}
POLICY: dict[str, Accepts] = dict.fromkeys(("columns", *TABLES), TABLE)


def read_policy(path: str | Path) -> Policy:
    """Return the policy in a TOML file; paths in it are relative to the file."""
    place = Path(path)
    try:
        text = read_ordinary(place, most=LARGEST_POLICY).decode("utf-8-sig")
    except OSError as error:
        raise PolicyError(
            f"cannot read the policy {place}: {error.strerror or 'unreadable'}",
            hint="check the path; `indistinct inspect data.csv -o policy.toml` writes a first policy",
        ) from None
    except UnicodeDecodeError:
        raise PolicyError(f"the policy {place} is not UTF-8 text", hint="save the file as UTF-8") from None
    try:
        return replace(policy_from_toml(text, base=place.parent), name=place.name)
    except PolicyError as error:
        raise PolicyError(f"{place}, {error.message}", hint=error.hint, values=error.values, **error.details) from None


def policy_from_toml(text: str, *, base: Path) -> Policy:
    """Return the policy that a TOML text describes; its paths are relative to `base`."""
    document = parse_toml(text)
    _check(document, POLICY, "the policy", needed=("input", "columns"))
    tables: dict[str, dict[str, Any]] = {name: document.get(name, {}) for name in TABLES}
    for name, table in tables.items():
        _check(table, TABLES[name], f"[{name}]")
    _check(tables["input"], TABLES["input"], "[input]", needed=("path",))
    columns = {name: _column(name, given) for name, given in document["columns"].items()}
    with _at("[columns]"):
        schema = Schema.from_roles({name: column["role"] for name, column in columns.items()})
    read, privacy, measure = tables["input"], tables["privacy"], tables["measure"]
    algorithm = _algorithm(tables["algorithm"])
    with _at("[privacy] models"):
        models = tuple(part for model in privacy.get("models", ()) for part in parse_model(model).parts())
        if not models and not algorithm.traits.buckets:
            raise PolicyError("[privacy] models: name at least one model", hint='models = ["k-anonymity:k=5"]')
    with _at("[privacy] suppression"):
        suppression = parse_budget(privacy.get("suppression", 0.0))
    with _at("[measure] metrics"):
        metrics = tuple(parse_metric(metric) for metric in measure.get("metrics", ()))
    with _at("[measure] target"):
        target = predicted_column(measure.get("target"), metrics, schema=schema)
    return Policy(
        input=_input(read, schema),
        schema=schema,
        models=models,
        hierarchies=_hierarchies(columns, base),
        transformations=_transformations(columns, schema),
        pseudonyms=_pseudonyms(columns),
        fresh=_fresh(columns),
        importance=importance_of(_of_quasi(columns, "importance", importance_of)),
        levels=levels_of(_of_quasi(columns, "levels", levels_of)),
        suppression=suppression,
        algorithm=algorithm,
        target=target,
        metrics=metrics,
        output=_output(tables["output"]),
        about=_statement(tables["about"]),
        reasons={name: column["reason"] for name, column in columns.items() if "reason" in column},
        base=base,
    )


def _input(given: Mapping[str, Any], schema: Schema) -> Input:
    reading = _reading({key: value for key, value in given.items() if key not in PLACE}, schema)
    others, database = Path(given["population"]) if "population" in given else None, _database(given, "[input]")
    sample = None
    if "sample" in given:
        with _at("[input]"):
            sample = check_share(given["sample"])
    return Input(Path() if database else Path(given["path"]), reading, others, database, sample)


def _output(given: Mapping[str, Any]) -> Output:
    database = _database(given, "[output]")
    named = [key for key in ("path", "report", "ledger") if key in given and not (key == "path" and database)]
    with _at("[output]"):
        writing = Writing(**{key: given[key] for key in WRITTEN if key in given})
        ranges = None if "ranges" not in given else check_form(given["ranges"])
    paths = {key: Path(given[key]) for key in named}
    smallest = given.get("smallest_count")
    return Output(**paths, smallest_count=smallest, database=database, writing=writing, ranges=ranges)


def _statement(given: Mapping[str, Any]) -> Statement:
    spelled: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else str(value) for key, value in given.items()
    }
    return Statement(**spelled)


def _database(given: Mapping[str, Any], place: str) -> DatabaseTable | None:
    """Return the table of a database that is read or written, None for a file."""
    path, named = given.get("path"), [key for key in ("table", "query") if key in given]
    if not is_address(path):
        if named:
            raise PolicyError(
                f"{place} {named[0]}: goes with the address of a database as `path`",
                hint='path = "postgresql://host/clinic", table = "clinic.visits"',
            )
        return None
    with _at(place):
        return DatabaseTable(path, given.get("table"), given.get("query"))


def _reading(given: Mapping[str, Any], schema: Schema) -> Reading:
    """Return how the input is read; every column that it names must have a role."""
    with _at("[input]"):
        reading = declare(**given)
    for name in reading.named_columns:
        if name not in schema.columns:
            key = next(key for key in ("text", "dates", "missing", "types") if name in given.get(key, ()))
            raise PolicyError(
                f"[input] {key}: there is no column {name!r}",
                hint=did_you_mean(name, schema.columns) or "name columns that have a role",
            )
    return reading


def parse_toml(text: str) -> dict[str, Any]:
    """Return what the text of a policy says, before any of it is checked; raise `PolicyError` where it is no TOML."""
    _check_size(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        where = f"line {found[1]}" if found else "at the end"
        # The parser quotes what it met, which may be a value of a hierarchy; what it expected is a mark of TOML.
        told = re.match(r"(Expected '.'[^'\"(]*|[^'\"(]*)", str(error))
        reason = (told[0].strip().lower() if told else "") or "not understood"
        raise PolicyError(
            f"{where}: broken TOML: {reason}",
            hint="texts stand in double quotes, a table is one line, and a column is named once",
        ) from None


def _check_size(text: str) -> None:
    """Raise `PolicyError` with its line for nesting, dotted keys and words that the parser would take ages for."""
    line, depth, dots = 1, 0, 0
    for token in TOKENS.finditer(text):
        word = token[0]
        depth += (word in ("[", "{")) - (word in ("]", "}"))
        dots = 0 if word in ("=", ",", "\n") else dots + (word.count(".") if token["word"] else 0)
        wrong = (
            f"brackets nest deeper than {DEEPEST}"
            if depth > DEEPEST
            else f"a key has more than {DEEPEST} dots"
            if dots > DEEPEST
            else f"a word is longer than {LONGEST_WORD:,} characters"
            if token["word"] and len(word) > LONGEST_WORD
            else None
        )
        if wrong is not None:
            raise PolicyError(f"line {line}: broken TOML: {wrong}", hint="texts stand in double quotes")
        line += word.count("\n")


def _column(name: str, given: Any) -> dict[str, Any]:
    """Return role and hierarchy of a column; a text alone is its role."""
    column = {"role": given} if isinstance(given, str) else given
    place = f"[columns] {name}"
    if not isinstance(column, dict):
        raise PolicyError(
            f"{place}: expected a role or a table with one; got {_kind(given)}",
            hint=f'{name} = "insensitive" or {name} = {{ role = "quasi" }}',
        )
    _check(column, COLUMN, place, needed=("role",))
    return column


def _algorithm(given: Mapping[str, Any]) -> Algorithm:
    """Return the algorithm that is spelled, or the node that is chosen in place of one."""
    if "use" in given and "node" in given:
        raise PolicyError(
            "[algorithm]: `use` and `node` cannot stand together", hint="a chosen node takes the place of a search"
        )
    if "node" in given:
        with _at("[algorithm] node"):
            return ChosenNode(tuple(given["node"]))
    with _at("[algorithm] use"):
        return parse_algorithm(given["use"]) if "use" in given else Auto()


def _hierarchies(columns: Mapping[str, Mapping[str, Any]], base: Path) -> dict[str, Hierarchy]:
    hierarchies = {}
    for name, column in columns.items():
        if "hierarchy" in column:
            with _at(f"[columns] {name}"):
                if column["role"] not in (Role.QUASI, Role.SENSITIVE) and "level" not in column:
                    raise ParameterError(
                        f"a column with the role {column['role']} is not recoded and has no hierarchy",
                        hint="leave the hierarchy out, or change the role",
                    )
                hierarchies[name] = hierarchy_from_json(column["hierarchy"], base=base)
    return hierarchies


def _transformations(columns: Mapping[str, Mapping[str, Any]], schema: Schema) -> dict[str, Transformation]:
    found = {}
    for name, column in columns.items():
        options = {key: column[key] for key in TRANSFORMATION if key in column and column[key] is not False}
        if options:
            with _at(f"[columns] {name}"):
                check_role(name, schema)
                found[name] = transformation_from_options(options)
                if "level" in options and "hierarchy" not in column:
                    raise ParameterError("`level` is one of a hierarchy, which is missing", hint="give it a hierarchy")
    return found


def _pseudonyms(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Pseudonym]:
    found = {}
    for name, column in columns.items():
        if "pseudonym" in column:
            with _at(f"[columns] {name}"):
                if column["role"] not in (Role.IDENTIFIER, Role.PERSON):
                    raise ParameterError(
                        f"pseudonyms stand in place of identifiers and people; this column has the role "
                        f"{column['role']}",
                        hint="give it the role identifier or person, or leave the pseudonym out",
                    )
                found[name] = pseudonym_from_options(column["pseudonym"])
    return found


def _of_quasi(columns: Mapping[str, Mapping[str, Any]], key: str, check: Callable[[Any], Any]) -> dict[str, Any]:
    """Return what a key says of quasi-identifiers; raise where it says so of other columns, or what makes no sense."""
    found = {name: column[key] for name, column in columns.items() if key in column}
    for name, given in found.items():
        with _at(f"[columns] {name}"):
            if columns[name]["role"] != Role.QUASI:
                raise ParameterError(
                    f"`{key}` is for quasi-identifiers; this column has the role {columns[name]['role']}",
                    hint="leave it out, or give the column the role quasi",
                )
            check({name: given})
    return found


def _fresh(columns: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    found = tuple(name for name, column in columns.items() if column.get("fresh"))
    for name in found:
        if columns[name]["role"] not in (Role.SENSITIVE, Role.INSENSITIVE):
            raise PolicyError(
                f"[columns] {name}: a fresh column is published as it is; this one has the role "
                f"{columns[name]['role']}",
                hint="leave `fresh` out: it is for columns that are sensitive or insensitive",
            )
    return found


def _check(given: Any, known: Mapping[str, Accepts], place: str, *, needed: tuple[str, ...] = ()) -> None:
    """Raise unless a table has only known keys, each of its type, and all that are needed."""
    for key, value in given.items():
        if key not in known:
            raise PolicyError(
                f"{place}: unknown key {key!r}",
                hint=did_you_mean(key, known) or f"known keys: {', '.join(known)}",
                unknown=key,
            )
        words, accepts = known[key]
        if not accepts(value):
            raise PolicyError(
                f"{place} {key}: expected {words}; got {_kind(value)}",
                hint="see the policy of the guide, or write "
                "a first one with `indistinct inspect data.csv -o policy.toml`",
            )
    for key in needed:
        if key not in given:
            raise PolicyError(f"{place}: the key {key!r} is missing", hint=f"known keys: {', '.join(known)}")


def _kind(value: Any) -> str:
    names = {bool: "true or false", str: "a text", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or a time")


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Turn any error inside into a `PolicyError` with its place: a bad policy is bad input, not bad usage."""
    try:
        yield
    except PolicyError:
        raise
    except IndistinctError as error:
        raise PolicyError(f"{place}: {error.message}", hint=error.hint, values=error.values, **error.details) from None
