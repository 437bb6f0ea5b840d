"""What it costs to count people instead of rows: the same job on visits, with and without a person column."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

import indistinct as ind
from benchmarks.timing import Line, best
from indistinct.samples import generate_visits

QUASI, HIERARCHIES = ["age", "sex", "zipcode"], {"zipcode": ind.Hierarchy.masking()}
MODELS = ("k-anonymity:k=5", "k-anonymity:k=5 & t-closeness:sensitive=diagnosis,t=0.4")


def people_lines(rows: int) -> Iterator[Line]:
    """People who have one vector of quasi-identifiers each, and people who grow older between their visits."""
    visits = generate_visits(rows, seed=1)
    older = pc.add(visits["age"], pa.array([place % 3 // 2 for place in range(rows)], visits["age"].type))
    moving = visits.set_column(visits.column_names.index("age"), "age", older)
    by_rows = ind.Schema(identifiers=["person"], quasi=QUASI, sensitive=["diagnosis"])
    by_people = ind.Schema(person=["person"], quasi=QUASI, sensitive=["diagnosis"])
    for name, table in (("in one cell each", visits), ("in several cells", moving)):
        for model in MODELS:

            def publish(schema: ind.Schema, table: pa.Table = table, model: str = model) -> None:
                ind.anonymize(ind.open(table), schema, model=model, algorithm="mondrian", hierarchies=HIERARCHIES)

            publish(by_people)  # compiles
            people = best(partial(publish, by_people))
            what = f"people {name}, {model.partition('&')[2].strip() or model}"
            yield Line(what, people, "the same in rows", best(partial(publish, by_rows)), None)
