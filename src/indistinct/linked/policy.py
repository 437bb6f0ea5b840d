"""Policies of several tables from TOML: each table is read like the policy of one table, then what links them."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from indistinct.errors import ParameterError, PolicyError, did_you_mean
from indistinct.hierarchy import hierarchy_from_json
from indistinct.job.policy.reading import (
    CHECK_PATH,
    LARGEST_POLICY,
    at_place,
    check_keys,
    parse_algorithm_of,
    parse_toml,
    policy_from_document,
)
from indistinct.linked.calendar import UNITS
from indistinct.linked.declared import TELLS, LinkedPolicy, LinkedTable, ListColumn, TimeColumn, TimeRules
from indistinct.linked.guarantee import parse_linked_model
from indistinct.settings import LIMIT, NUMBER, TABLE, TEXT, TEXTS, WHOLE, ValueKind, settings_of
from indistinct.suppression_limit import parse_budget
from indistinct.tables.addresses import read_ordinary

TIME = "time"
ROLES = ("identifier", "person", "quasi", "sensitive", "insensitive", TIME)
KNOWN = ValueKind('0, 1, 2, 3 or "all"', lambda value: isinstance(value, int | str) and not isinstance(value, bool))
TRUE = ValueKind("true or false", lambda value: isinstance(value, bool))
WINDOW = ValueKind("two dates, or a table with two dates for each table", lambda value: isinstance(value, list | dict))
TOP = dict.fromkeys(("tables", "time", "privacy", "algorithm", "output", "about"), TABLE)
OF_TIME = {"anchor": TEXT, "window": WINDOW, "as": TEXT}
OF_PRIVACY = {"models": TEXTS, "knows_together": WHOLE, "suppression": LIMIT, "rows": NUMBER}
OF_OUTPUT = {"folder": TEXT}
OF_ALGORITHM = {"use": TEXT, "nodes": WHOLE}
OWN_KEYS = {"people": TRUE, "knows": KNOWN, "columns": TABLE}
"""Keys of a table in addition to those of [input]."""
NOT_OF_A_TABLE = ("population", "sample", "columns", "table", "query")
"""Keys of [input] that do not apply to one of several tables."""
OWN_COLUMN_KEYS = ("tells", "list", "knows", "unknown")


def read_linked_policy(path: str | Path) -> LinkedPolicy:
    """Return the policy of several tables in a TOML file; paths in it are relative to the file."""
    file = Path(path)
    try:
        text = read_ordinary(file, most=LARGEST_POLICY).decode("utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"there is no policy {file}", hint=CHECK_PATH) from None
    except OSError as error:
        raise PolicyError(f"cannot read the policy {file}: {error.strerror or 'unreadable'}", hint=CHECK_PATH) from None
    except UnicodeDecodeError:
        raise PolicyError(f"the policy {file} is not UTF-8 text", hint="save the file as UTF-8") from None
    try:
        return linked_policy_from_toml(text, base=file.parent, name=file.name)
    except PolicyError as error:
        raise PolicyError(f"{file}, {error.message}", hint=error.hint, values=error.values, **error.details) from None


def linked_policy_from_toml(text: str, *, base: Path, name: str | None = None) -> LinkedPolicy:
    """Return the policy that a TOML text describes."""
    document = parse_toml(text)
    check_keys(document, TOP, "the policy", needed=("tables", "privacy"))
    privacy, output, search = (document.get(key, {}) for key in ("privacy", "output", "algorithm"))
    _refuse_misplaced(privacy, "[privacy]", {"k": 'write models = ["linked-anonymity:k={}"]'})
    _refuse_misplaced(output, "[output]", {"path": 'several tables go to a folder: write folder = "{}"'})
    check_keys(privacy, OF_PRIVACY, "[privacy]", needed=("models",))
    check_keys(output, OF_OUTPUT, "[output]")
    check_keys(search, OF_ALGORITHM, "[algorithm]")
    tables = tuple(_table(key, given, base) for key, given in document["tables"].items())
    with at_place("[privacy] models"):
        if len(privacy["models"]) != 1:
            raise ParameterError("name one model", hint='models = ["linked-anonymity:k=5"]')
        model = parse_linked_model(privacy["models"][0])
    with at_place("[privacy] suppression"):
        suppression = parse_budget(privacy.get("suppression", 0.0))
    time = _time(document["time"], tables) if "time" in document else None
    options: dict[str, Any] = {"nodes": search["nodes"]} if "nodes" in search else {}
    if "use" in search:
        options["algorithm"] = parse_algorithm_of({"use": search["use"]})
    with at_place("the policy"):
        policy = LinkedPolicy(
            tables,
            model,
            time,
            privacy.get("knows_together"),
            suppression,
            float(privacy.get("rows", 1.0)),
            folder=Path(output["folder"]) if "folder" in output else None,
            base=base,
            name=name,
            **options,
        )
        _ = policy.knowledge  # states what attackers know, or raises
    return policy


def _refuse_misplaced(given: Any, place: str, known: Mapping[str, str]) -> None:
    """Raise for a key that belongs elsewhere; `known` says where, with `{}` for the value."""
    for key in given if isinstance(given, dict) else ():
        if key in known:
            raise PolicyError(f"{place}: unknown key {key!r}", hint=known[key].format(given[key]), unknown=key)


def _table(name: str, given: Any, base: Path) -> LinkedTable:
    """Parse a table of the policy."""
    location = f"[tables.{name}]"
    if not isinstance(given, dict):
        raise PolicyError(f"{location}: expected a table of keys", hint=f'[tables.{name}] with path = "{name}.csv"')
    misplaced = {
        role: f'a role belongs to a column: write NAME = "{role}" under [tables.{name}.columns]' for role in ROLES
    }
    _refuse_misplaced(given, location, misplaced)
    inputs = {key: setting.kind for key, setting in settings_of("input").items() if key not in NOT_OF_A_TABLE}
    check_keys(given, {**inputs, **OWN_KEYS}, location, needed=("path", "columns"))
    declared = {column: _column(location, column, each) for column, each in given["columns"].items()}
    plain = {column: each for column, (each, _) in declared.items()}
    document = {
        "input": {key: value for key, value in given.items() if key in inputs},
        "columns": plain,
        "privacy": {"models": ["k-anonymity:k=1"]},
    }
    try:
        policy = policy_from_document(document, base=base)
    except PolicyError as error:
        raise PolicyError(
            f"{location} {error.message}", hint=error.hint, values=error.values, **error.details
        ) from None
    if policy.transformations or policy.pseudonyms or policy.input.database is not None:
        raise PolicyError(
            f"{location}: columns of several tables are not masked, have no pseudonyms of their own and lie in files",
            hint="leave these keys out; person IDs are published as new random pseudonyms",
        )
    times = [(column, own[TIME]) for column, (_, own) in declared.items() if TIME in own]
    if len(times) > 1:
        raise PolicyError(
            f"{location}: a table has at most one column with the role time; got "
            f"{', '.join(name for name, _ in times)}",
            hint='drop the others: role = "identifier"',
        )
    roles = _roles(declared)
    schema = policy.schema.from_roles({column: role for column, role in roles.items() if role is not None})
    lists = tuple(_list(location, column, own, base) for column, (_, own) in declared.items() if "list" in own)
    return LinkedTable(
        name,
        schema,
        Path(given["path"]),
        policy.input.reading,
        policy.hierarchies,
        given.get("people", False),
        given.get("knows"),
        times[0][1] if times else None,
        lists,
        {column: own["tells"] for column, (_, own) in declared.items() if "tells" in own},
    )


def _roles(declared: Mapping[str, tuple[Any, Mapping[str, Any]]]) -> dict[str, str | None]:
    """Return the role of each column; times and lists have no role in the policy of a single table."""
    return {
        column: None if TIME in own or "list" in own else (plain if isinstance(plain, str) else plain["role"])
        for column, (plain, own) in declared.items()
    }


def _column(location: str, name: str, given: Any) -> tuple[Any, dict[str, Any]]:
    """Return a column's declaration for the policy of one table, and its keys for several tables."""
    if given == TIME:
        given = {"role": TIME}
    if not isinstance(given, dict):
        return given, {}
    own = {key: given[key] for key in OWN_COLUMN_KEYS if key in given}
    rest = {key: value for key, value in given.items() if key not in OWN_COLUMN_KEYS}
    where = f"{location} {name}"
    if rest.get("role") == TIME:
        return _time_column(where, name, rest, own)
    if "unknown" in own:
        raise PolicyError(f"{where}: `unknown` belongs to a column with the role time", hint="leave it out")
    if "knows" in own and "list" not in own:
        raise PolicyError(f"{where}: `knows` belongs to a table or to a list column", hint="leave it out here")
    if "tells" in own and own["tells"] not in TELLS:
        raise PolicyError(f'{where}: `tells` must be "birth" or "death"', hint=f'{name} = {{ …, tells = "birth" }}')
    if "list" not in own:
        return rest, own
    if rest.get("role") != "quasi" or not isinstance(own["list"], str) or not own["list"]:
        raise PolicyError(
            f"{where}: a list column has the role quasi and a separator",
            hint=f'{name} = {{ role = "quasi", list = "|", knows = 2 }}',
        )
    if "knows" not in own:
        raise PolicyError(
            f"{where}: a list column needs `knows`", hint=f'{name} = {{ role = "quasi", list = "|", knows = 2 }}'
        )
    return "insensitive", {**own, "hierarchy": rest.get("hierarchy")}


def _time_column(where: str, name: str, rest: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Parse a column with the role time."""
    strange = [key for key in (*rest, *own) if key not in ("role", "hierarchy", "unknown")]
    if strange:
        raise PolicyError(
            f"{where}: {strange[0]!r} does not go with the role time", hint="role, hierarchy and unknown do"
        )
    levels = rest.get("hierarchy")
    widths = None
    if levels is not None:
        key = next(iter(levels), None) if isinstance(levels, dict) and len(levels) == 1 else None
        given = levels[key] if key in UNITS else None
        widths_given = given if isinstance(given, list) else []
        whole = bool(widths_given) and all(type(width) is int and width > 0 for width in widths_given)
        if not whole or sorted(set(widths_given)) != widths_given:
            raise PolicyError(
                f"{where}: the levels of a time are ascending widths in the unit of [time] as",
                hint=f'{name} = {{ role = "time", hierarchy = {{ days = [7, 30, 365] }} }}',
            )
        widths = tuple(widths_given)
    if not isinstance(own.get("unknown", False), bool):
        raise PolicyError(f"{where}: `unknown` must be true or false", hint="true if attackers do not know the date")
    return "insensitive", {TIME: TimeColumn(name, widths, bool(own.get("unknown", False)))}


def _list(location: str, column: str, own: Mapping[str, Any], base: Path) -> ListColumn:
    hierarchy = own.get("hierarchy")
    with at_place(f"{location} {column}"):
        declared = None if hierarchy is None else hierarchy_from_json(hierarchy, base=base)
    return ListColumn(column, own["list"], own["knows"], declared)


def _time(given: Mapping[str, Any], tables: tuple[LinkedTable, ...]) -> TimeRules:
    """Parse the table [time]."""
    check_keys(given, OF_TIME, "[time]", needed=("anchor",))
    if "window" not in given:
        raise PolicyError(
            "[time]: there is no window: the first and the last day that the data cover",
            hint='window = ["2010-01-01", "2024-12-31"]',
        )
    window, names = given["window"], [table.name for table in tables]
    by_table = window if isinstance(window, dict) else dict.fromkeys(names, window)
    for name in by_table:
        if name not in names:
            raise PolicyError(f"[time] window: there is no table {name!r}", hint=did_you_mean(name, names))
    with at_place("[time]"):
        return TimeRules(
            given["anchor"], {name: _days(each) for name, each in by_table.items()}, given.get("as", "days")
        )


def _days(given: Any) -> tuple[date, date]:
    """Parse the first and the last day of a window."""
    try:
        first, last = (each if type(each) is date else date.fromisoformat(each) for each in given)
    except (ValueError, TypeError):
        raise ParameterError(
            "a window has two days, as year-month-day", hint='window = ["2010-01-01", "2024-12-31"]'
        ) from None
    return first, last
