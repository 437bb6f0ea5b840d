"""The JSON Schemas of what commands print with --json about several tables."""

from collections.abc import Callable, Mapping

from indistinct.cli.json_schemas import (
    FLAG,
    NUMBER,
    SHARE,
    TEXT,
    WHOLE,
    Schema,
    by_name,
    closed,
    many,
    maybe,
    of_dataclass,
)

KNOWN: Schema = {"anyOf": [WHOLE, {"enum": ["all"]}]}
COUNT: Schema = {"type": "integer", "minimum": 0}


def _published() -> Schema:
    from indistinct.linked.certificate import LinkedCertificate

    return of_dataclass(LinkedCertificate, more={"folder": TEXT})


def _verdict() -> dict[str, Schema]:
    achieved = closed({}, optional={"k": COUNT, "largest_share": SHARE})
    checks = many(closed({"name": TEXT, "holds": FLAG, "words": TEXT}))
    schemas = {"holds": FLAG, "checks": checks, "people": COUNT, "rows": by_name(COUNT), "achieved": achieved}
    return {**schemas, "violations": maybe(COUNT)}


def _assessment() -> dict[str, Schema]:
    figures = {"below_k": maybe(COUNT), "share": maybe(SHARE), "smallest_group": maybe(COUNT)}
    risk = closed({"table": TEXT, "known": KNOWN, "people_columns": FLAG, **figures})
    return {"k": COUNT, "people": COUNT, "risks": many(risk), "declared": maybe(risk)}


def _outcome() -> dict[str, Schema]:
    counts = dict.fromkeys(("attempts", "k", "singled_out", "below_k", "smallest"), COUNT)
    shares = dict.fromkeys(("risk", "baseline", "control"), SHARE)
    return {"attack": TEXT, "known": by_name(KNOWN), **counts, **shares, "sentence": TEXT}


def _cost() -> dict[str, Schema]:
    table = {"table": TEXT, "original_rows": COUNT, "rows": COUNT, "deleted": NUMBER, "loss": maybe(NUMBER)}
    return {"loss": NUMBER, "tables": many(closed(table))}


def _report() -> Schema:
    parts = {"assess": closed(_assessment()), "attack": closed(_outcome()), "measure": closed(_cost())}
    return closed({"report": TEXT, "verify": closed(_verdict())}, optional=parts)


LINKED_SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "anonymize": _published,
    "assess": lambda: closed({"table": TEXT, **_assessment()}),
    "attack": lambda: closed(_outcome()),
    "measure": lambda: closed({"folder": TEXT, **_cost()}),
    "report": _report,
    "verify": lambda: closed({"folder": TEXT, **_verdict()}),
}
