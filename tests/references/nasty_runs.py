"""Every main verb on a nasty table, on one engine: answers that can be compared with those of another."""

from typing import Any

import indistinct as ind
from references.nasty_tables import MODEL, SCHEMA, rows_of

QUERIES = (
    "SELECT COUNT(*) WHERE age > 30",
    "SELECT COUNT(*) WHERE illness = '*' AND smokes = 'true'",
    "SELECT COUNT(*) WHERE city IS NULL",
    "SELECT AVG(visits) WHERE born >= '2000-01-01'",
)
ATTACKS = ("homogeneity", "record-linkage", "unsorted-matching")
VERBS = ("anonymize", "apply", "verify", "assess", "measure", "query", "scan", "inspect", "attack")


def answers_of(engine: str, source: Any, folder: Any, table: Any) -> dict[str, Any]:
    """Return what each verb answers; the release is written as Parquet, and asked about as a file.

    Attacks look at rows in memory on every engine, so that they get the original as a `table`.
    """
    path, recoding = folder / "release.parquet", folder / "recoding.json"
    how = {"engine": engine, "seed": 3}
    release = ind.anonymize(
        source, SCHEMA, model=MODEL, algorithm="mondrian", output=path, save_recoding=recoding, **how
    )
    # PostgreSQL reads no files: the release is opened by the engine that fits, and the original where it lies.
    known = {"original": source, "engine": "auto" if engine == "postgres" else engine}
    published = ind.published(path, SCHEMA, model=MODEL, recoding=recoding, **known)
    attacked = ind.published(path, SCHEMA, model=MODEL, recoding=recoding, original=table)
    return {
        "anonymize": (rows_of(ind.open(path).data), release.certificate.verdicts),
        "apply": rows_of(ind.apply(recoding, source, **how).table),
        "verify": ind.verify(path, SCHEMA, MODEL, recoding=recoding, **known).verdicts,
        "assess": ind.assess(path, SCHEMA, recoding=recoding, **known).to_json(),
        "measure": ind.measure(published).pairs,
        "query": [str(ind.query(published, asked)) for asked in QUERIES],
        "scan": [str(each) for each in ind.scan(path, schema=SCHEMA).findings if each.severity != "note"],
        "inspect": str(ind.inspect(source)),
        "attack": [str(ind.attack(name, attacked, seed=3)) for name in ATTACKS],
    }
