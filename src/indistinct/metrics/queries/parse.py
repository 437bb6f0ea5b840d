"""Parse SQL with one SELECT and no joins into a query; sqlglot parses, and unsupported parts are refused."""

from collections.abc import Callable
from typing import Any

from indistinct.errors import InputError
from indistinct.metrics.queries.value import (
    AllConditions,
    Compare,
    Condition,
    Constant,
    Either,
    IsMissing,
    Operator,
    Query,
    negate_condition,
)

EXAMPLE = "SELECT AVG(age) WHERE sex = 'Male' AND zipcode BETWEEN 53710 AND 53715"
NOT_ANSWERED = {
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "distinct": "DISTINCT",
    "joins": "a join",
    "with": "WITH",
    "with_": "WITH",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "into": "INTO",
    "laterals": "LATERAL",
    "pivots": "PIVOT",
    "sample": "a sample",
}
MAX_QUERY_CHARACTERS = 100_000
UNREADABLE = (AttributeError, TypeError, ValueError, KeyError, IndexError, RecursionError, AssertionError)
"""What sqlglot raises, in addition to its own errors, for texts that are not SQL, such as `age { = IN 'x'`."""


def parse_query(text: str) -> Query:
    """Return the query of a SELECT; raise `InputError` for other texts and for what releases cannot answer.

    >>> parse_query("SELECT COUNT(*) FROM release WHERE age >= 30 OR NOT sex = 'Male'").columns
    ('age', 'sex')
    """
    from sqlglot import ErrorLevel, exp, parse
    from sqlglot.errors import SqlglotError

    if not isinstance(text, str):
        raise InputError(f"a query must be text; got {type(text).__name__}", hint=f"for example {EXAMPLE}")
    if len(text) > MAX_QUERY_CHARACTERS:
        raise InputError(
            f"the query has {len(text):,} characters; at most {MAX_QUERY_CHARACTERS:,} are read",
            hint="write fewer conditions",
        )
    try:
        trees = [tree for tree in parse(text, error_level=ErrorLevel.RAISE) if tree is not None]
    except (SqlglotError, *UNREADABLE):
        raise _unreadable() from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Select):
        raise InputError("a query is one SELECT", hint=f"write it like {EXAMPLE}")
    try:
        return _query(trees[0], exp)
    except UNREADABLE:  # for some texts sqlglot returns incomplete trees
        raise _unreadable() from None


def _unreadable() -> InputError:
    return InputError("the query cannot be read as SQL", hint=f"write it like {EXAMPLE}")


def _query(select: Any, exp: Any) -> Query:
    """Convert a SELECT to a query; raise for parts that are not answered."""
    for part, words in NOT_ANSWERED.items():
        if select.args.get(part):
            raise _refusal(words)
    if any(select.find(kind) not in (None, select) for kind in (exp.Subquery, exp.Union, exp.Exists)) or any(
        each is not select for each in select.find_all(exp.Select)
    ):
        raise _refusal("a subquery")
    source = select.args.get("from") or select.args.get("from_")
    if source is not None and not isinstance(source.this, exp.Table):
        raise _refusal("FROM anything but one table")
    by = select.args.get("group")
    groups = tuple(_column(each, exp) for each in by.expressions) if by is not None else ()
    expressions = [each.this if isinstance(each, exp.Alias) else each for each in select.expressions]
    names = [_column(each, exp) for each in expressions if isinstance(each, exp.Column)]
    for name in names:
        if name not in groups:
            raise InputError(
                f"column {name!r} is in SELECT without an aggregate",
                hint=f"add GROUP BY {name}, or ask for COUNT, SUM, AVG, MIN or MAX of it",
            )
    aggregates = [each for each in expressions if not isinstance(each, exp.Column)]
    if len(aggregates) != 1:
        raise InputError(
            f"a query has one aggregate; this one has {len(aggregates)}",
            hint="COUNT(*), COUNT(column), SUM(column), AVG(column), MIN(column) or MAX(column); ask twice for two",
        )
    where = select.args.get("where")
    condition = None if where is None else _condition(where.this, exp)
    return Query(*_aggregate(aggregates[0], exp), where=condition, groups=groups)


MEANS = ("MEAN", "AVERAGE")
"""Names of the mean that SQL does not have."""


def _aggregate(tree: Any, exp: Any) -> tuple[Any, str | None]:
    """Return the aggregate of an expression, and its column."""
    kinds = {exp.Count: "COUNT", exp.Sum: "SUM", exp.Avg: "AVG", exp.Min: "MIN", exp.Max: "MAX"}
    name = kinds.get(type(tree))
    if name is None or tree.expressions:
        if isinstance(tree, exp.Star):
            raise InputError("a query has one aggregate; this one has *", hint="COUNT(*) counts rows")
        written = _function_of(tree, exp)
        if written is None or name is not None:
            raise InputError(
                "a query aggregates one column, without computing from it",
                hint="write COUNT, SUM, AVG, MIN or MAX of one column",
            )
        raise InputError(
            f"the query asks for {written}, which is not among COUNT, SUM, AVG, MIN and MAX",
            hint="write AVG" if written in MEANS else "ask for one of these, of one column",
        )
    if isinstance(tree.this, exp.Distinct):
        raise _refusal("DISTINCT")
    if isinstance(tree.this, exp.Star):
        if name != "COUNT":
            raise InputError(f"{name} needs a column", hint=f"for example {name}(age)")
        return name, None
    return name, _column(tree.this, exp)


def _function_of(tree: Any, exp: Any) -> str | None:
    """Return the name of the function that was written; None where it is none."""
    if isinstance(tree, exp.Anonymous):
        return str(tree.name).upper()
    return str(tree.sql_name()) if isinstance(tree, exp.Func) else None


def _column(tree: Any, exp: Any) -> str:
    """Return the column of an expression; raise for anything else."""
    if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Identifier):
        return str(tree.name)
    raise InputError(
        "a query names columns, and computes nothing from them",
        hint="name a column; write one with spaces in double quotes, and text in single quotes",
    )


def _condition(tree: Any, exp: Any) -> Condition:
    """Convert an expression to a condition."""
    compared: dict[Any, tuple[Operator, Operator]] = {
        exp.EQ: ("=", "="),
        exp.NEQ: ("<>", "<>"),
        exp.LT: ("<", ">"),
        exp.LTE: ("<=", ">="),
        exp.GT: (">", "<"),
        exp.GTE: (">=", "<="),
    }
    match tree:
        case exp.Paren():
            return _condition(tree.this, exp)
        case exp.And():
            return AllConditions(tuple(_flat(tree, exp.And, exp)))
        case exp.Or():
            return Either(tuple(_flat(tree, exp.Or, exp)))
        case exp.Not():
            return negate_condition(_condition(tree.this, exp))
        case exp.Between():
            ends = (_constant(tree.args["low"], exp), _constant(tree.args["high"], exp))
            return Compare(_column(tree.this, exp), "BETWEEN", ends)
        case exp.In():
            if not tree.expressions:
                raise InputError("IN needs a list of values", hint="for example age IN (20, 30)")
            return Compare(_column(tree.this, exp), "IN", tuple(_constant(each, exp) for each in tree.expressions))
        case exp.Is() if isinstance(tree.expression, exp.Null):
            return IsMissing(_column(tree.this, exp))
        case _ if type(tree) in compared:
            own, turned = compared[type(tree)]
            if isinstance(tree.this, exp.Column):
                return Compare(_column(tree.this, exp), own, (_constant(tree.expression, exp),))
            return Compare(_column(tree.expression, exp), turned, (_constant(tree.this, exp),))
        case exp.Like() | exp.ILike() | exp.RegexpLike() | exp.SimilarTo():
            raise _refusal("LIKE")
        case _:
            raise InputError(
                "a condition compares columns with constants",
                hint="=, <>, <, <=, >, >=, BETWEEN, IN and IS NULL, joined by AND, OR and NOT",
            )


def _flat(tree: Any, kind: Any, exp: Any) -> list[Condition]:
    """Return the conditions joined by a chain of AND, or of OR; without recursion, because chains may be long."""
    conditions, ahead = [], [tree]
    while ahead:
        each = ahead.pop()
        if isinstance(each, kind):
            ahead += [each.expression, each.this]
        else:
            conditions.append(_condition(each, exp))
    return conditions


def _constant(tree: Any, exp: Any) -> Constant:
    """Return the constant of an expression; raise for anything else."""
    match tree:
        case exp.Paren():
            return _constant(tree.this, exp)
        case exp.Neg():
            inside = _constant(tree.this, exp)
            if isinstance(inside, int | float) and not isinstance(inside, bool):
                return -inside
        case exp.Literal(is_string=True):
            return str(tree.this)
        case exp.Literal():
            return _number(str(tree.this))
        case exp.Boolean():
            return bool(tree.this)
        case exp.Cast() if isinstance(tree.this, exp.Literal):  # DATE '2020-01-31'
            return str(tree.this.this)
        case exp.Column() if tree.args.get("this") is not None and tree.this.args.get("quoted"):
            raise InputError(
                "a column is compared with another one, or text is in double quotes",
                hint="write text in single quotes: sex = 'Male'",
            )
        case exp.Null():
            raise InputError("nothing equals NULL", hint="write IS NULL or IS NOT NULL")
    raise InputError("a condition compares columns with constants", hint="put text, not numbers, in single quotes")


def _number(text: str) -> int | float:
    make: Callable[[str], int | float] = int if text.isdigit() else float
    return make(text)


def _refusal(words: str) -> InputError:
    return InputError(
        f"a query of a release cannot have {words}",
        hint="one aggregate, conditions with AND, OR and NOT, and GROUP BY of columns; ask several times for more",
    )
