"""What statistical offices ask for, on an invented survey: fewest stars, microaggregation, missing patterns, a sample.

    .venv/bin/python examples/office.py

The proof of the fewest stars needs SciPy: pip install "indistinct[optimal]".
"""

import random

import pyarrow as pa

import indistinct as ind

ROWS = 60


def survey() -> pa.Table:
    """Return some invented answers; who has no job has no hours."""
    dice = random.Random(7)  # noqa: S311
    works = [dice.random() < 0.7 for _ in range(ROWS)]
    return pa.table(
        {
            "age": [dice.choice(["15-29", "30-49", "50-64", "65+"]) for _ in range(ROWS)],
            "region": [dice.choice(["north", "south", "west"]) for _ in range(ROWS)],
            "roof": [dice.choice(["tile", "metal", "thatch"]) for _ in range(ROWS)],
            "hours": [dice.randint(5, 50) if each else None for each in works],
            "income": [dice.randint(0, 90) for _ in range(ROWS)],
        }
    )


def main() -> None:
    """Publish the survey in four ways, and say what each is worth."""
    table = survey()
    names = ind.Schema(quasi=["age", "region", "roof"], insensitive=["hours", "income"])
    starred = ind.anonymize(
        table, names, model="k-anonymity:k=3", algorithm=ind.CellSuppression(search="optimal", importance={"age": 2})
    )
    print(f"fewest stars: {starred.explanation}")  # noqa: T201
    numbers = ind.Schema(quasi=["hours", "income"], insensitive=["age", "region", "roof"])
    for algorithm in (ind.MDAV(numeric="mean"), ind.Mondrian(), ind.Mondrian(missing="pattern")):
        release = ind.anonymize(table, numbers, model="k-anonymity:k=3", algorithm=algorithm)
        print(f"{algorithm.name}: {release.certificate.classes} classes")  # noqa: T201
    sample = ind.anonymize(table, names, model="k-map:k=3", algorithm="optimal", sample=0.5)
    told = sample.certificate
    print(f"a sample of {told.sample:g}: {told.rows} rows, compared with {told.population_size} people")  # noqa: T201


if __name__ == "__main__":
    main()
