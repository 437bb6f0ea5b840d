"""Policies from TOML: every key is known, every value has its type, every error names its place."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines.base import DatabaseTable, is_address
from indistinct.errors import IndistinctError, ParameterError, PolicyError, did_you_mean
from indistinct.hierarchy.registry import hierarchy_from_json
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.policy.value import AnalysisPlan, Context, Input, Output, Policy, Statement, predicted_column
from indistinct.job.sampling import check_share
from indistinct.metrics.registry import parse_metric
from indistinct.models.registry import parse_model
from indistinct.recoding.columns import importance_of, levels_of, numeric_forms
from indistinct.recoding.outputs import check_range_form
from indistinct.recoding.transformations import Transformation, check_role, transformation_from_options
from indistinct.release.pseudonyms.making import CLASSES, Pseudonym, pseudonym_from_options
from indistinct.release.writing.delimited import Writing
from indistinct.schema import Role, Schema
from indistinct.settings import TABLE, TABLES, ValueKind, settings_of, settings_under
from indistinct.suppression_limit import parse_budget
from indistinct.tables.addresses import read_ordinary
from indistinct.tables.value import Reading, declare

# More than any policy has: what is checked before the parser, which reads deep nesting and long keys in quadratic time.
LARGEST_POLICY = 1 << 26
MAX_NESTING = 100
LONGEST_WORD = 1000
TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:\\.|[^"\\\n])*"?|\'[^\'\n]*\'?'
    r"|#[^\n]*|[\[{\]}=,\n]|(?P<word>[^\s\[\]{}\"'#,=]+)",
    re.DOTALL,
)

MASKING = ("round", "top", "bottom", "truncate", "level", "clear")
"""The keys of a column that mask it."""


CHECK_PATH = "check the path; `indistinct inspect data.csv -o policy.toml` writes a first policy"


def read_policy(path: str | Path) -> Policy:
    """Return the policy in a TOML file; paths in it are relative to the file."""
    file = Path(path)
    try:
        text = read_ordinary(file, most=LARGEST_POLICY).decode("utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"there is no policy {file}", hint=CHECK_PATH) from None
    except OSError as error:
        raise PolicyError(
            f"cannot read the policy {file}: {error.strerror or 'unreadable'}",
            hint=CHECK_PATH,
        ) from None
    except UnicodeDecodeError:
        raise PolicyError(f"the policy {file} is not UTF-8 text", hint="save the file as UTF-8") from None
    try:
        return replace(policy_from_toml(text, base=file.parent), name=file.name)
    except PolicyError as error:
        raise PolicyError(f"{file}, {error.message}", hint=error.hint, values=error.values, **error.details) from None


def policy_from_toml(text: str, *, base: Path) -> Policy:
    """Return the policy that a TOML text describes; its paths are relative to `base`."""
    return policy_from_document(parse_toml(text), base=base)


def policy_from_document(document: Mapping[str, Any], *, base: Path) -> Policy:
    """Return the policy that the tables of a TOML document describe; its paths are relative to `base`."""
    check_keys(document, dict.fromkeys(TABLES, TABLE), "the policy", needed=("input", "columns"))
    tables: dict[str, dict[str, Any]] = {name: document.get(name, {}) for name in TABLES if name != "columns"}
    for name, table in tables.items():
        check_keys(table, _kinds(name), f"[{name}]")
    check_keys(tables["input"], _kinds("input"), "[input]", needed=("path",))
    columns = {name: _column(name, given) for name, given in document["columns"].items()}
    with at_place("[columns]"):
        schema = Schema.from_roles({name: column["role"] for name, column in columns.items()})
    read, privacy, measure = tables["input"], tables["privacy"], tables["measure"]
    algorithm = parse_algorithm_of(tables["algorithm"])
    with at_place("[privacy] models"):
        models = tuple(part for model in privacy.get("models", ()) for part in parse_model(model).parts())
        if not models and not algorithm.traits.own_guarantee:
            raise PolicyError("[privacy] models: name at least one model", hint='models = ["k-anonymity:k=5"]')
    with at_place("[privacy] suppression"):
        suppression = parse_budget(privacy.get("suppression", 0.0))
    with at_place("[measure] metrics"):
        metrics = tuple(parse_metric(metric) for metric in measure.get("metrics", ()))
    with at_place("[measure] target"):
        target = predicted_column(measure.get("target"), metrics, schema=schema)
    return Policy(
        input=_input(read, schema),
        schema=schema,
        models=models,
        hierarchies=_hierarchies(columns, base),
        transformations=_transformations(columns, schema),
        pseudonyms=_pseudonyms(columns),
        knows=_knows(privacy),
        fresh=_fresh(columns),
        importance=importance_of(_of_quasi(columns, "importance", importance_of)),
        levels=levels_of(_of_quasi(columns, "levels", levels_of)),
        numeric=numeric_forms(_of_quasi(columns, "numeric", numeric_forms)),
        suppression=suppression,
        algorithm=algorithm,
        target=target,
        metrics=metrics,
        output=_output(tables["output"]),
        about=_statement(tables["about"]),
        analysis=_analysis(tables["analysis"]),
        context=_context(tables["context"], schema),
        reasons={name: column["reason"] for name, column in columns.items() if "reason" in column},
        base=base,
    )


def _input(given: Mapping[str, Any], schema: Schema) -> Input:
    """Parse the table [input]."""
    declared = settings_under("input.reading")
    reading = _reading({key: value for key, value in given.items() if key in declared}, schema)
    others, database = Path(given["population"]) if "population" in given else None, _database(given, "[input]")
    sample = None
    if "sample" in given:
        with at_place("[input]"):
            sample = check_share(given["sample"])
    return Input(Path() if database else Path(given["path"]), reading, others, database, sample)


def _output(given: Mapping[str, Any]) -> Output:
    """Parse the table [output]."""
    database = _database(given, "[output]")
    named = [key for key in ("path", "report", "ledger") if key in given and not (key == "path" and database)]
    with at_place("[output]"):
        writing = Writing(**{key: given[key] for key in settings_under("output.writing") if key in given})
        ranges = None if "ranges" not in given else check_range_form(given["ranges"])
    paths = {key: Path(given[key]) for key in named}
    smallest, parts = given.get("smallest_count"), tuple(given.get("partition_by", ()))
    return Output(
        **paths, smallest_count=smallest, database=database, writing=writing, ranges=ranges, partition_by=parts
    )


def _statement(given: Mapping[str, Any]) -> Statement:
    spelled: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else str(value) for key, value in given.items()
    }
    return Statement(**spelled)


def _analysis(given: Mapping[str, Any]) -> AnalysisPlan:
    spelled: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return AnalysisPlan(**spelled)


def _context(given: Mapping[str, Any], schema: Schema) -> Context:
    """Parse the table [context], which forms ask for."""
    spelled: dict[str, Any] = dict(given)
    for name, grades in spelled.get("grades", {}).items():
        if name not in schema.columns:
            raise PolicyError(
                f"[context] grades: there is no column {name!r}", hint=did_you_mean(name, schema.columns) or None
            )
        spelled["grades"] = {**spelled["grades"], name: tuple(grades)}
    spelled |= {key: str(spelled[key]) for key in ("review", "threshold") if key in spelled}
    with at_place("[context]"):
        spelled |= {key: tuple(value) for key, value in spelled.items() if isinstance(value, list)}
        return Context(**spelled)


def _database(given: Mapping[str, Any], location: str) -> DatabaseTable | None:
    """Return the table of a database that is read or written, None for a file."""
    path, named = given.get("path"), [key for key in ("table", "query") if key in given]
    if not is_address(path):
        if named:
            raise PolicyError(
                f"{location} {named[0]}: goes with the address of a database as `path`",
                hint='path = "postgresql://host/clinic", table = "clinic.visits"',
            )
        return None
    with at_place(location):
        return DatabaseTable(path, given.get("table"), given.get("query"))


def _reading(given: Mapping[str, Any], schema: Schema) -> Reading:
    """Return the reading options of the input; every column named there must have a role."""
    with at_place("[input]"):
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
    """Parse the text of a policy without checking it further; raise `PolicyError` if it is not TOML."""
    _check_size(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"\(at line (\d+), column \d+\)", str(error))
        where = f"line {position[1]}" if position else "at the end"
        # The parser quotes what it met, which may be a value of a hierarchy; what it expected is a mark of TOML.
        matched = re.match(r"(Expected '.'[^'\"(]*|[^'\"(]*)", str(error))
        reason = (matched[0].strip().lower() if matched else "") or "not understood"
        raise PolicyError(
            f"{where}: broken TOML: {reason}",
            hint=(
                'put a " at the end of the text on this line'
                if position and _is_open(text.split("\n")[int(position[1]) - 1])
                else "put texts in double quotes, close each { on its own line, and name each column once"
            ),
        ) from None


def _is_open(line: str) -> bool:
    """Return whether a line of TOML has a text in double quotes that does not end."""
    return line.split("#")[0].replace('\\"', "").count('"') % 2 == 1


def _check_size(text: str) -> None:
    """Raise `PolicyError` with its line for nesting, dotted keys and words that the parser would take ages for."""
    line, depth, dots = 1, 0, 0
    for token in TOKENS.finditer(text):
        word = token[0]
        depth += (word in ("[", "{")) - (word in ("]", "}"))
        dots = 0 if word in ("=", ",", "\n") else dots + (word.count(".") if token["word"] else 0)
        wrong = (
            f"brackets nest deeper than {MAX_NESTING}"
            if depth > MAX_NESTING
            else f"a key has more than {MAX_NESTING} dots"
            if dots > MAX_NESTING
            else f"a word is longer than {LONGEST_WORD:,} characters"
            if token["word"] and len(word) > LONGEST_WORD
            else None
        )
        if wrong is not None:
            raise PolicyError(f"line {line}: broken TOML: {wrong}", hint="write texts in double quotes")
        line += word.count("\n")


def _column(name: str, given: Any) -> dict[str, Any]:
    """Return role and hierarchy of a column; plain text is its role."""
    column = {"role": given} if isinstance(given, str) else given
    location = f"[columns] {name}"
    if not isinstance(column, dict):
        raise PolicyError(
            f"{location}: expected a role or a table with one; got {_kind(given)}",
            hint=f'{name} = "insensitive" or {name} = {{ role = "quasi" }}',
        )
    check_keys(column, _kinds("columns"), location, needed=("role",))
    return column


def parse_algorithm_of(given: Mapping[str, Any]) -> Algorithm:
    """Return the algorithm of a policy, or the node that is chosen in place of one."""
    if "use" in given and "node" in given:
        raise PolicyError(
            "[algorithm]: `use` and `node` cannot be used together", hint="a chosen node takes the place of a search"
        )
    if "node" in given:
        with at_place("[algorithm] node"):
            return ChosenNode(tuple(given["node"]))
    with at_place("[algorithm] use"):
        return parse_algorithm(given["use"]) if "use" in given else Auto()


def _hierarchies(columns: Mapping[str, Mapping[str, Any]], base: Path) -> dict[str, Hierarchy]:
    """Parse the hierarchies of the columns; relative files start at `base`."""
    hierarchies = {}
    for name, column in columns.items():
        if "hierarchy" in column:
            with at_place(f"[columns] {name}"):
                if column["role"] not in (Role.QUASI, Role.SENSITIVE) and "level" not in column:
                    raise ParameterError(
                        f"a column with the role {column['role']} is not recoded and has no hierarchy",
                        hint="leave the hierarchy out, or change the role",
                    )
                hierarchies[name] = hierarchy_from_json(column["hierarchy"], base=base)
    return hierarchies


def _transformations(columns: Mapping[str, Mapping[str, Any]], schema: Schema) -> dict[str, Transformation]:
    """Parse the masking of each column that has one."""
    maskings = {}
    for name, column in columns.items():
        options = {key: column[key] for key in MASKING if key in column and column[key] is not False}
        if options:
            with at_place(f"[columns] {name}"):
                check_role(name, schema)
                maskings[name] = transformation_from_options(options)
                if "level" in options and "hierarchy" not in column:
                    raise ParameterError("`level` is one of a hierarchy, which is missing", hint="give it a hierarchy")
    return maskings


def _pseudonyms(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Pseudonym]:
    """Parse the pseudonym of each column that has one."""
    pseudonyms = {}
    for name, column in columns.items():
        if "pseudonym" in column:
            with at_place(f"[columns] {name}"):
                if column["role"] not in (Role.IDENTIFIER, Role.PERSON):
                    raise ParameterError(
                        f"pseudonyms replace identifiers and person IDs; this column has the role {column['role']}",
                        hint="give it the role identifier or person, or leave the pseudonym out",
                    )
                pseudonyms[name] = pseudonym_from_options(column["pseudonym"])
    return pseudonyms


def _knows(given: Mapping[str, Any]) -> str | None:
    """Return what attackers are declared to know about rows linked by pseudonyms, None if nothing is declared."""
    stated = given.get("knows")
    if stated not in (None, CLASSES):
        raise PolicyError(
            f"[privacy] knows: expected {CLASSES!r}",
            hint="it states that numbers of rows are not known; several tables state `knows` for each of them",
        )
    return None if stated is None else str(stated)


def _of_quasi(columns: Mapping[str, Mapping[str, Any]], key: str, check: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the values of a key by quasi-identifier; raise for other columns and for invalid values."""
    values = {name: column[key] for name, column in columns.items() if key in column}
    for name, given in values.items():
        with at_place(f"[columns] {name}"):
            if columns[name]["role"] != Role.QUASI:
                raise ParameterError(
                    f"`{key}` is for quasi-identifiers; this column has the role {columns[name]['role']}",
                    hint="leave it out, or give the column the role quasi",
                )
            check({name: given})
    return values


def _fresh(columns: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the columns that are re-measured for each release; raise for roles that are not published unmodified."""
    names = tuple(name for name, column in columns.items() if column.get("fresh"))
    for name in names:
        if columns[name]["role"] not in (Role.SENSITIVE, Role.INSENSITIVE):
            raise PolicyError(
                f"[columns] {name}: a fresh column is published unmodified; this one has the role "
                f"{columns[name]['role']}",
                hint="leave `fresh` out: it is for columns that are sensitive or insensitive",
            )
    return names


def _kinds(table: str) -> dict[str, ValueKind]:
    """Return the keys of a table of a policy, each with the kind of its value."""
    return {key: setting.kind for key, setting in settings_of(table).items()}


def check_keys(given: Any, known: Mapping[str, ValueKind], location: str, *, needed: tuple[str, ...] = ()) -> None:
    """Raise unless a table has only known keys, each of its type, and all that are needed."""
    for key, value in given.items():
        if key not in known:
            raise PolicyError(
                f"{location}: unknown key {key!r}",
                hint=_where_it_belongs(key, value, location)
                or did_you_mean(key, known)
                or f"known keys: {', '.join(known)}",
                unknown=key,
            )
        if not known[key].accepts(value):
            raise PolicyError(
                f"{location} {key}: expected {known[key].words}; got {_kind(value)}",
                hint=_how_to_write(key, value, known[key])
                or "see docs/reference/policy.md, or let `indistinct inspect data.csv -o policy.toml` write a policy",
            )
    for key in needed:
        if key not in given:
            raise PolicyError(f"{location}: the key {key!r} is missing", hint=f"known keys: {', '.join(known)}")


def _where_it_belongs(key: str, value: Any, location: str) -> str | None:
    """Return the hint for a key of [privacy] or [algorithm] that has another name or another place."""
    if location.endswith("[privacy]") and key == "k":
        return f'write models = ["k-anonymity:k={value}"]'
    if location.endswith("[algorithm]") and key in ("name", "algorithm"):
        return f'write use = "{value}"'
    if location.endswith("[algorithm]") and key in settings_of("privacy"):
        return f"{key} belongs under [privacy]"
    return None


def _how_to_write(key: str, value: Any, kind: ValueKind) -> str | None:
    """Return the hint for a text where a key takes a list, or for a list with others than texts."""
    if kind.accepts([str(value)]) and isinstance(value, str):
        return f'put it in square brackets: {key} = ["…"]'
    if kind.accepts(["…"]) and isinstance(value, list):
        return f'put each in quotes: {key} = ["…", "…"]'
    return None


def _kind(value: Any) -> str:
    """Return the type of a TOML value in words, and for a list the types of its elements that are not text.

    >>> _kind("flu"), _kind([]), _kind(["flu", 12])
    ('a text', 'a list', 'a list with a number')
    """
    if isinstance(value, list):
        kinds = sorted({_kind(each) for each in value if not isinstance(each, str)})
        return f"a list with {' and '.join(kinds)}" if kinds else "a list"
    names = {bool: "true or false", str: "a text", int: "a number", float: "a number", dict: "a table"}
    return names.get(type(value), "a date or a time")


@contextmanager
def at_place(location: str) -> Iterator[None]:
    """Turn any error inside into a `PolicyError` with its place: a bad policy is bad input, not bad usage."""
    try:
        yield
    except PolicyError:
        raise
    except IndistinctError as error:
        raise PolicyError(
            f"{location}: {error.message}", hint=error.hint, values=error.values, **error.details
        ) from None


def is_linked_policy(path: object) -> bool:
    """Return whether a file is a policy of several tables; False for a file that is not TOML."""
    if not isinstance(path, str | Path) or Path(path).suffix.lower() != ".toml":
        return False
    try:
        return "tables" in parse_toml(read_ordinary(Path(path), most=LARGEST_POLICY).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, PolicyError):
        return False
