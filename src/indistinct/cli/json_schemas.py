"""The JSON Schemas of what commands print with --json: one for each command, and `error` for one that fails.

A field that is added to a document is added here, once. The schema of a dataclass comes from its annotations.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
ANY: Schema = {}


def closed(fields: Mapping[str, Schema], *, optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object that has these fields, perhaps the optional ones, and no others.

    >>> closed({"rows": WHOLE})["required"]
    ['rows']
    """
    known = {**fields, **(optional or {})}
    return {"type": "object", "properties": known, "required": list(fields), "additionalProperties": False}


def many(each: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": each}


def by_name(each: Schema) -> Schema:
    """Return the schema of an object that maps names, such as columns, to values."""
    return {"type": "object", "additionalProperties": each}


def maybe(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*words: str) -> Schema:
    """Return the schema of one of some words."""
    return {"enum": list(words)}


def of_dataclass(kind: Any, *, more: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of a dataclass that is printed field by field, with the `more` members of its document."""
    hints = get_type_hints(kind)
    return closed({**(more or {}), **{each.name: _of_type(hints[each.name]) for each in fields(kind)}})


def _of_type(kind: Any) -> Schema:
    """Return the schema of a type annotation."""
    if kind is Any:
        return ANY
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        some = [part for part in parts if part is not types.NoneType]
        inner = _of_type(some[0]) if len(some) == 1 else {"anyOf": [_of_type(part) for part in some]}
        return maybe(inner) if types.NoneType in parts else inner
    if origin is Literal:
        return one_of(*parts)
    if origin is tuple or (isinstance(origin, type) and issubclass(origin, Sequence)):
        return many(_of_type(parts[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return by_name(_of_type(parts[1]))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return one_of(*kind)
    plain = {str: TEXT, int: WHOLE, float: NUMBER, bool: FLAG}
    return plain[kind] if kind in plain else of_dataclass(kind)


def schema_of(command: str) -> Schema:
    """Return the JSON Schema of what a command prints with --json; that of `error` is for any that fails.

    Commands that take several tables print something else of these.
    """
    from indistinct.cli.linked_schemas import LINKED_SCHEMAS

    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:indistinct:{command}",
        "title": f"indistinct {command} --json" if command != "error" else "any command with --json that fails",
    }
    own = SCHEMAS[command]()
    if command in LINKED_SCHEMAS:
        own = {"anyOf": [*own.get("anyOf", [own]), LINKED_SCHEMAS[command]()]}
    return {**about, **own}


def _error() -> Schema:
    return closed({"error": closed({"type": TEXT, "message": TEXT, "hint": TEXT})})


# Releases


def _certificate() -> Schema:
    from indistinct.release.certificate import Certificate

    return of_dataclass(Certificate, more={"holds": FLAG})


def _verdict() -> Schema:
    """Return the schema of a verdict."""
    line = {"kind": TEXT, "state": TEXT, "columns": many(TEXT), "attack": maybe(TEXT)}
    more = {"numbers": by_name(NUMBER), "holds": maybe(TEXT), "remedies": many(TEXT), "words": TEXT}
    lines = many(closed({**line, **more}))
    state = one_of("passed", "failed", "not checked")
    members = {"state": state, "tone": one_of("good", "warning", "bad"), "profile": maybe(TEXT)}
    return closed({**members, "headline": TEXT, "sentence": TEXT, "sentences": many(TEXT), "lines": lines})


def _explanation() -> Schema:
    """Return the schema of an explanation."""
    from indistinct.algorithms.explanation import Change, Proof

    attempt = closed(
        {"algorithm": TEXT, "loss": maybe(NUMBER), "classes": maybe(WHOLE)},
        optional={"suppressed": maybe(WHOLE), "reason": TEXT},
    )
    members = {"metric": TEXT, "better": TEXT, "algorithm": TEXT, "loss": NUMBER, "attempts": many(attempt)}
    proof = of_dataclass(Proof, more={"gap": NUMBER, "proven": FLAG})
    return closed(
        {**members, "columns": by_name(NUMBER), "changes": many(of_dataclass(Change))},
        optional={"proof": proof, "notes": many(TEXT)},
    )


def _membership() -> Schema:
    """Return the schema of membership disclosure."""
    from indistinct.evaluation.assess.membership import Membership

    whole = of_dataclass(Membership, more={"fake_per_original": maybe(NUMBER)})
    counted = {"matching_original": by_name(WHOLE), "matching_fake": by_name(NUMBER), "interval": many(NUMBER)}
    return {**whole, "properties": {**whole["properties"], **counted}}


def _judged() -> dict[str, Schema]:
    """Return the schemas of the fields of a verified release."""
    from indistinct.release.certificate import ModelVerdict

    counts = {"suppressed_rows": maybe(WHOLE), "classes": WHOLE, "k": WHOLE}
    models = {"models": many(of_dataclass(ModelVerdict)), "warnings": many(TEXT), "certificate": _certificate()}
    return {"algorithm": maybe(TEXT), "holds": FLAG, **counts, **models}


_COUNTED = {"rows": WHOLE, "original_rows": maybe(WHOLE), "form": maybe(TEXT)}
_METRICS = {"metrics": by_name(maybe(NUMBER))}


def _release() -> Schema:
    """Return the schema of what `anonymize` and `apply` print."""
    paths = {"output": TEXT, "other_outputs": many(TEXT), "certificate_path": maybe(TEXT)}
    paths |= {"recoding_path": maybe(TEXT), "report_path": maybe(TEXT)}
    always = {**paths, **_COUNTED, **_judged(), "verdict": _verdict(), **_METRICS, "counters": by_name(NUMBER)}
    return closed(always, optional={"not_measured": by_name(TEXT), "explanation": _explanation()})


def _verified() -> Schema:
    return closed({"published": TEXT, **_COUNTED, **_judged()}, optional={"verdict": _verdict()})


def _measured() -> Schema:
    paths = {"published": TEXT, "original": maybe(TEXT), "chart": maybe(TEXT)}
    more = {"not_measured": by_name(TEXT), "membership": by_name(_membership())}
    return closed({**paths, **_COUNTED, **_METRICS}, optional=more)


# Risk


def _risk() -> dict[str, Schema]:
    """Return the fields of the risk of one table."""
    attacked = {"highest": SHARE, "average": SHARE, "at_risk": SHARE}
    after = {**attacked, "uniques": WHOLE, "classes": WHOLE}
    estimates = dict.fromkeys(("zayatz", "pitman", "snb", "dankar", "sampling_fraction", "counted"), maybe(NUMBER))
    estimates |= {"used": maybe(TEXT), "converged": maybe(by_name(FLAG)), "population_size": maybe(NUMBER)}
    changed = closed({"removed": closed(after), "levels": many(closed({"level": WHOLE, **after}))})
    return {
        "prosecutor": closed(attacked),
        "journalist": closed({**attacked, "basis": TEXT}),
        "marketer": closed({"average": SHARE, "expected": maybe(NUMBER)}),
        **dict.fromkeys(("uniques", "classes", "rows", "members", "smallest_class"), WHOLE),
        "population_uniques": closed(estimates),
        "unit": TEXT,
        "class_sizes": closed({"histogram": by_name(WHOLE), "cumulative": by_name(SHARE)}),
        "columns": by_name(changed),
        "sensitive": by_name(_disclosure()),
        "individual": maybe(closed({"people": WHOLE, "expected": NUMBER, "mean": SHARE, "highest": SHARE})),
        **_uniques(),
        "own_values": by_name(WHOLE),
        "identifying_values": maybe(by_name(_pattern())),
    }


def _disclosure() -> Schema:
    """Return the schema of attribute disclosure."""
    recursive = many(closed({"l": WHOLE, "c": maybe(NUMBER)}))
    worst = {"values": by_name(maybe(TEXT)), "members": WHOLE, "largest_share": SHARE, "distinct": WHOLE}
    return closed(
        {
            "unit": TEXT,
            **dict.fromkeys(("largest_share", "mean_share", "homogeneous"), SHARE),
            "l": closed({"distinct": WHOLE, "entropy": NUMBER, "recursive": recursive}),
            "t": by_name(NUMBER),
            "beta": maybe(NUMBER),
            "delta": maybe(NUMBER),
            "worst": many(closed(worst)),
        }
    )


def _uniques() -> dict[str, Schema]:
    """Return the fields about unique people on some columns."""
    special = dict.fromkeys(("highest_score", "mean_score", "highest_dis_suda"), NUMBER)
    special |= {
        "size": WHOLE,
        "special_uniques": WHOLE,
        "by_smallest": by_name(WHOLE),
        "contributions": by_name(NUMBER),
    }
    minimal = many(closed({"columns": many(TEXT), "unique": WHOLE, "minimal": WHOLE}))
    sets = closed({"people": WHOLE, "size": WHOLE, "by_size": by_name(WHOLE), "sets": minimal})
    alone = {"unit": TEXT, "columns": many(TEXT), "alone": WHOLE, "alone_at_most": WHOLE}
    alone |= {"share": SHARE, "share_at_most": SHARE, "counted_sets": WHOLE, "possible_sets": WHOLE}
    together = many(closed({"columns": many(TEXT), "with_class": FLAG, "alone": WHOLE, "share": SHARE}))
    return {
        "special_uniques": maybe(closed(special)),
        "column_sets": many(closed({"size": WHOLE, "sets": WHOLE, "smallest": WHOLE})),
        "fewest_compatible": maybe(WHOLE),
        "unique_sets": maybe(sets),
        "published_columns": maybe(closed({**alone, "sets": together})),
    }


def _assessed() -> dict[str, Schema]:
    """Return the fields of an assessment."""
    from indistinct.evaluation.assess.regulators import PracticeFinding

    state = one_of("passed", "failed", "warning", "not checked")
    limit = {"figure": TEXT, "meaning": TEXT, "limit": NUMBER, "value": maybe(NUMBER), "passed": FLAG, "state": state}
    lines = many(closed({**limit, "source": maybe(TEXT)}))
    return {
        **_risk(),
        "threshold": NUMBER,
        "form": maybe(TEXT),
        "before": maybe(closed(_risk())),
        "practice": many(of_dataclass(PracticeFinding)),
        "profile": maybe(closed({"profile": TEXT, "passed": FLAG, "state": state, "lines": lines})),
        "verdict": _verdict(),
        "notes": many(TEXT),
    }


def _assess() -> Schema:
    return closed({"table": TEXT, **_assessed()})


def _outcome() -> Schema:
    """Return the schema of an attack's outcome."""
    interval = many(SHARE)
    return closed(
        {
            "attack": TEXT,
            "attempts": WHOLE,
            "successes": NUMBER,
            "success_interval": interval,
            "baseline": SHARE,
            "control": maybe(SHARE),
            "control_attempts": maybe(WHOLE),
            "control_interval": maybe(interval),
            "risk": SHARE,
            "interval": many(NUMBER),
            "beyond_chance": NUMBER,
            "succeeds": FLAG,
            "sentence": TEXT,
            "defend": maybe(TEXT),
            "details": by_name(ANY),  # figures of the one attack
        }
    )


def _attack() -> Schema:
    several = {"outcomes": many(_outcome()), "refused": by_name(TEXT), "left_out": many(TEXT)}
    several |= {"succeeds": FLAG, "seconds": NUMBER, "sample": maybe(WHOLE)}
    return {"anyOf": [closed(several), _outcome()]}


def _scan() -> Schema:
    """Return the schema of `scan --json`."""
    from indistinct.exploration.scan.base import Finding, NotChecked

    skipped = many(of_dataclass(NotChecked))
    one = closed(
        {
            "file": TEXT,
            "kind": TEXT,
            "rows": maybe(WHOLE),
            "cells_read": FLAG,
            "verdict": TEXT,
            "clean": FLAG,
            "findings": many(of_dataclass(Finding)),
            "checked": many(TEXT),
            "not_checked": skipped,
            "unread": skipped,
        }
    )
    return {"anyOf": [one, closed({"files": many(one), "not_scanned": by_name(TEXT)})]}


# Utility


def _distributions() -> Schema:
    """Return the schema of `distributions --json`."""
    from indistinct.evaluation.measure.distributions import ColumnDistance

    twice = closed({"before": maybe(NUMBER), "after": maybe(NUMBER)})
    pair = {"columns": many(TEXT), "together": FLAG, "total_variation": NUMBER, "hellinger": NUMBER}
    pair |= {"cramers_v": twice, "pearson": maybe(twice), "spearman": maybe(twice)}
    counted = {"published": TEXT, "rows": WHOLE, "published_rows": WHOLE}
    return closed({**counted, "columns": many(of_dataclass(ColumnDistance)), "pairs": many(closed(pair))})


def _classify() -> Schema:
    """Return the schema of `classify --json`."""
    estimate = closed({"mean": NUMBER, "low": NUMBER, "high": NUMBER})
    score = {"classifier": TEXT, "trained_on": TEXT, "accuracy": estimate, "balanced_accuracy": estimate}
    score |= {"difference": maybe(estimate), "by_fold": many(NUMBER)}
    members = {"target": TEXT, "role": TEXT, "representation": TEXT, "finished": FLAG, "suppressed": SHARE}
    members |= dict.fromkeys(("rows", "values", "folds", "repeats", "seed"), WHOLE)
    members |= {"majority": estimate, "scores": many(closed(score)), "classification_metric": maybe(estimate)}
    return closed({**members, "notes": many(TEXT)})


def _query() -> Schema:
    """Return the schema of `query --json`."""
    number: Schema = {"type": ["number", "string", "null"]}  # a date is a text
    members = {"value": number, "low": number, "high": number, "exact": FLAG, "bounded": FLAG, "error": maybe(NUMBER)}
    group = closed({"group": by_name(maybe(TEXT)), **members})
    answer = closed(
        {"query": TEXT, **members, "suppressed": maybe(WHOLE), "notes": many(TEXT)}, optional={"groups": many(group)}
    )
    figures = closed(dict.fromkeys(("mean", "median", "p95"), maybe(NUMBER)))
    errors = {"workload": TEXT, "plot": maybe(TEXT), "queries": WHOLE, "workload_digest": TEXT, "unanswered": WHOLE}
    errors |= {"absolute": figures, "relative": figures, "sanity": NUMBER, "matching": SHARE}
    return {"anyOf": [answer, closed({**errors, "truth_within_bounds": SHARE})]}


def _explore() -> Schema:
    """Return the schema of `explore --json`."""
    column = closed({"name": TEXT, "height": WHOLE, "levels": many(TEXT)})
    node = many(WHOLE)
    members = {"node": node, "height": WHOLE, "satisfied": FLAG, "minimal": FLAG, "risk": NUMBER}
    members |= dict.fromkeys(("suppressed_rows", "classes", "smallest_class"), WHOLE)
    nodes = {**closed(members), "additionalProperties": maybe(NUMBER)}  # a field for each metric
    return closed(
        {
            "model": TEXT,
            "rows": WHOLE,
            "suppression": WHOLE,
            "columns": many(column),
            "metrics": by_name(TEXT),
            "satisfied": WHOLE,
            "best": maybe(node),
            "pareto": many(node),
            "nodes": many(nodes),
            "chosen": maybe(node),
            "svg": maybe(TEXT),
        }
    )


def _compare() -> Schema:
    """Return the schema of `compare --json`."""
    risk = closed({"highest": maybe(NUMBER), "average": maybe(NUMBER)})
    point = {"algorithm": TEXT, "model": TEXT, "suppression": {"type": ["number", "string"]}, "state": TEXT}
    point |= {"reason": maybe(TEXT), "risk": risk, "metrics": by_name(maybe(NUMBER)), "seconds": NUMBER}
    point |= dict.fromkeys(("rows", "suppressed", "classes", "smallest_class"), maybe(WHOLE))
    points = many(closed({**point, "kept": FLAG, "pareto": FLAG, "command": TEXT}))
    counts = dict.fromkeys(("rows", "done", "infeasible", "failed"), WHOLE)
    return closed({"input": TEXT, "metrics": by_name(TEXT), **counts, "points": points, "files": many(TEXT)})


# Tables, and what is around them


def _pattern() -> Schema:
    pattern = {"name": TEXT, "meaning": TEXT, "share": SHARE, "judged": WHOLE, "threshold": SHARE}
    return closed({**pattern, "holds": FLAG, "certain": FLAG, "safe_harbor": maybe(TEXT)})


def _inspect() -> Schema:
    """Return the schema of `inspect --json`."""
    listed = closed(dict.fromkeys(("letter", "paragraph", "identifier", "asks"), TEXT))
    column = dict.fromkeys(("distinct", "missing", "smallest_group", "labelled_codes"), WHOLE)
    column |= dict.fromkeys(("name", "type", "role", "reason", "figure"), TEXT)
    column |= {"unique_share": SHARE, "patterns": many(_pattern()), "safe_harbor": maybe(listed)}
    column |= {"involved_share": maybe(SHARE), "hierarchy": maybe(by_name(ANY)), "findings": many(TEXT)}
    value_schemas = {"frequent": many(closed({"value": TEXT, "rows": WHOLE})), "value_labels": by_name(TEXT)}
    columns = many(closed({**column, "label": maybe(TEXT)}, optional=value_schemas))
    column_schemas = {"columns": many(TEXT), "unique": WHOLE, "unique_share": SHARE, "minimal": WHOLE}
    together = dict.fromkeys(("members", "looked_at", "size", "found"), WHOLE)
    together |= {"unit": TEXT, "sampled": FLAG, "columns": many(TEXT), "by_size": by_name(SHARE)}
    members = dict.fromkeys(("rows", "classes", "smallest_class", "unique_rows"), WHOLE)
    members |= dict.fromkeys(("warnings", "left_out", "notes", "quasi_identifiers"), many(TEXT))
    members |= {"data": TEXT, "sampled_from": maybe(WHOLE), "unique_share": SHARE, "people": maybe(WHOLE)}
    members |= {"columns": columns, "reading": by_name(ANY), "policy": maybe(TEXT), "page": maybe(TEXT)}
    members |= {"combinations": closed({**together, "sets": many(closed(column_schemas)), "notes": many(TEXT)})}
    project = closed({"hierarchies": by_name(TEXT), "population": maybe(TEXT), "not_taken_over": many(TEXT)})
    return closed(members, optional={"project": project})


def _codebook() -> Schema:
    end: Schema = {"type": ["number", "string", "null"]}
    entry = {"label": maybe(TEXT), "kind": TEXT, "low": end, "high": end, "high_inside": FLAG}
    entries = many(closed({**entry, "values": many(TEXT), "missing": FLAG}, optional={"code": end}))
    return closed({"file": TEXT, "codebook": maybe(TEXT), "columns": by_name(entries)})


def _report() -> Schema:
    """Return the schema of `report --json`."""
    documents = {
        "type": "object",
        "properties": {"certificate": _certificate(), "verdict": _verdict(), "assess": closed(_assessed())},
        "additionalProperties": True,  # what else the report measured, each as its own command prints it
    }
    members = {"report": TEXT, "edition": TEXT, "made": TEXT, "documents": documents}
    figure = closed({"label": TEXT, "path": many(TEXT), "value": ANY, "text": TEXT})
    form = {"form": TEXT, "open_fields": WHOLE, "figures": many(figure), "to_write": many(TEXT)}
    report = {**members, "holds": FLAG, "sections": many(TEXT)}
    external = {"edition": one_of("external"), "documents": _partial(documents)}
    return {"anyOf": [closed(report), closed(report | external), closed({**members, **form})]}


def _partial(schema: Any) -> Any:
    """Return a schema without required fields, because some commands show only part of an object."""
    match schema:
        case Mapping():
            return {key: _partial(each) for key, each in schema.items() if key != "required"}
        case list() | tuple():
            return list(map(_partial, schema))
        case _:
            return schema


def _dbt() -> Schema:
    tests = many(closed({"name": TEXT, "model": TEXT, "path": TEXT}))
    return closed({"policy": TEXT, "tests": tests, "not_written": by_name(TEXT)})


def _ledger() -> Schema:
    from indistinct.release.history.ledger import LedgerEntry

    return closed({"ledger": TEXT, "releases": many(of_dataclass(LedgerEntry))})


def _generate() -> Schema:
    return closed({"output": TEXT, "name": TEXT, "rows": WHOLE, "seed": WHOLE, "columns": many(TEXT)})


def _reproduce() -> Schema:
    """Return the schema of `reproduce --json`."""
    words = ("claim", "source", "place", "setting", "ours", "verdict", "rule", "figures", "differs")
    claim = {**dict.fromkeys(words, TEXT), "held": WHOLE, "tested": WHOLE, "own": FLAG}
    rows = many(many(TEXT))
    example = {"document": TEXT, "name": TEXT, "made": TEXT, "equal": FLAG, "headings": many(TEXT)}
    example |= {"printed": rows, "ours": rows, "erratum": TEXT}
    members = {"title": TEXT, "source": TEXT, "data": TEXT, "rows": many(by_name(ANY)), "findings": many(TEXT)}
    members |= {"differs": many(TEXT), "claims": many(closed(claim))}
    figure = {
        **closed(members, optional={"examples": many(closed(example))}),
        "additionalProperties": True,
    }  # its facts
    return {"anyOf": [closed({"figures": by_name(figure), "missing": by_name(TEXT)}), figure]}


def _serve() -> Schema:
    return closed({"url": TEXT, "token": TEXT, "port": WHOLE})


def _warm_up() -> Schema:
    return closed({"kernels": WHOLE, "folders": many(TEXT), "processor": TEXT})


def _list() -> Schema:
    more = {"parameters": by_name(maybe(TEXT)), "better": TEXT, "meaning": TEXT, "package": TEXT, "broken": TEXT}
    entries = many(closed({"name": TEXT}, optional=more))
    registries = dict.fromkeys(("models", "algorithms", "metrics", "attacks"), entries)
    return closed({**registries, "engines": by_name(many(TEXT)), "generators": many(TEXT)})


def _analyze() -> Schema:
    """Return the schema of `analyze --json`."""
    figures = closed(dict.fromkeys(("estimate", "low", "high", "standard_error"), maybe(NUMBER)))
    sides = {"before": maybe(figures), "after": maybe(figures)}
    term = closed({"term": TEXT, **sides, "overlap": maybe(SHARE), "flips": many(TEXT), "lost": FLAG})
    overlaps = {"least_overlap": maybe(SHARE), "mean_overlap": maybe(SHARE)}
    rule = closed(dict.fromkeys(("column", "rule", "detail"), TEXT))
    rows = closed({"before": WHOLE, "after": WHOLE})
    one = {"analysis": TEXT, "kind": TEXT, "rows": rows, "terms": many(term), **overlaps, "rules": many(rule)}
    analysis = closed({**one, "hidden_terms": WHOLE, "notes": many(TEXT)})
    return closed(
        {"published": TEXT, "analyses": many(analysis), **overlaps, "flips": WHOLE, "draws": WHOLE, "seed": WHOLE}
    )


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "analyze": _analyze,
    "anonymize": _release,
    "apply": _release,
    "assess": _assess,
    "attack": _attack,
    "classify": _classify,
    "codebook": _codebook,
    "compare": _compare,
    "dbt": _dbt,
    "distributions": _distributions,
    "error": _error,
    "explore": _explore,
    "generate": _generate,
    "inspect": _inspect,
    "ledger": _ledger,
    "list": _list,
    "measure": _measured,
    "query": _query,
    "report": _report,
    "reproduce": _reproduce,
    "scan": _scan,
    "serve": _serve,
    "verify": _verified,
    "warm-up": _warm_up,
}
