"""What attackers infer from releases of a census-like table, and what the defence costs (Kifer 2009, Cohen 2022)."""

from collections.abc import Mapping

from indistinct.algorithms.base import Progress
from indistinct.evaluation.attack.attack import attack
from indistinct.evaluation.attack.base import Outcome, wilson
from indistinct.evaluation.measure.measure import measure
from indistinct.figures import percent
from indistinct.job.publishing import anonymize
from indistinct.models import KAnonymity
from indistinct.release.release import Release
from indistinct.samples import CENSUS_QUASI, census_hierarchies, generate_census
from indistinct.schema import Schema
from indistinct_papers.base import Cell, Reproduction

ROWS = 20_000
HEADINGS = ("k or l", "algorithm", "attack", "attempts", "successes", "share", "from", "to", "baseline", "gcp")
RANGES, REGIONS = "mondrian", "mondrian:extent=region"
# Which attack is tried on which releases in classes.
CASES: tuple[tuple[str, str], ...] = (
    ("optimal", "downcoding"),
    (RANGES, "downcoding"),
    (REGIONS, "downcoding"),
    ("two-level", "combinatorial-refinement"),
    (REGIONS, "combinatorial-refinement"),
)


def reproduce_inference_attacks(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Attack anatomy by deFinetti, and releases in classes by downcoding and combinatorial refinement."""
    table, hierarchies = generate_census(ROWS, seed=1), census_hierarchies()
    hierarchies = {name: hierarchies[name] for name in CENSUS_QUASI}
    apart = Schema(quasi=[name for name in table.column_names if name != "occupation"], sensitive=["occupation"])
    schema, rows = Schema(quasi=CENSUS_QUASI, sensitive=["salary"]), list[tuple[Cell, ...]]()
    columns: dict[str, Mapping[str, Mapping[str, int]]] = {}
    for place, size in enumerate(sizes):
        anatomized = anonymize(table, apart, algorithm=f"anatomy:l={size}")
        rows.append(_row(size, f"anatomy:l={size}", attack("definetti", anatomized, original=table), None))
        made: dict[str, Release] = {}
        for algorithm, name in CASES:
            if algorithm not in made:
                made[algorithm] = anonymize(
                    table, schema, model=KAnonymity(size), algorithm=algorithm, hierarchies=hierarchies
                )
            found = attack(name, made[algorithm], original=table, hierarchies=hierarchies)
            rows.append(_row(size, algorithm, found, measure(made[algorithm], ["gcp"])["gcp"]))
            columns[f"{name} {algorithm} {size}"] = found.details["columns"]
        progress((place + 1) / len(sizes))
    return Reproduction(
        title="What is inferred from buckets and from labels that are as tight as their classes",
        source="D. Kifer (2009), SIGMOD; A. Cohen (2022), USENIX Security; S. Chhillar et al. (2025), arXiv",
        data=f"generated census, {ROWS:,} rows; deFinetti guesses the occupation, other attacks finer values of cells",
        headings=HEADINGS,
        rows=tuple(rows),
        findings=tuple(findings(rows)),
        facts={"columns": columns},
        differs=("other tables than the papers', which print shares of their own data; ours are generated",),
    )


def _row(size: int, algorithm: str, found: Outcome, loss: float | None) -> tuple[Cell, ...]:
    tally = found.tally
    low, high = wilson(tally.successes, tally.attempts)
    shares = [round(share, 4) for share in (tally.share, low, high, found.baseline)]
    return (size, algorithm, found.attack, tally.attempts, round(tally.successes), *shares, loss and round(loss, 4))


def findings(rows: list[tuple[Cell, ...]]) -> list[str]:
    """Return what the rows say: the gain of deFinetti, what ranges give away, and the price of regions."""
    told = []
    by_case = {(row[0], row[1], row[2]): [float(cell or 0) for cell in row[3:]] for row in rows}
    for size in dict.fromkeys(row[0] for row in rows):
        _, _, _, low, high, chance, _ = by_case[size, f"anatomy:l={size}", "definetti"]
        told.append(
            f"l = {size}: deFinetti gains {100 * (low - chance):.1f} to {100 * (high - chance):.1f} points over 1/l"
        )
        tight, wide = (by_case[size, algorithm, "downcoding"] for algorithm in (RANGES, REGIONS))
        told.append(
            f"k = {size}: of cells that Mondrian generalized {percent(tight[2])} come back from ranges and "
            f"{percent(wide[2])} from regions, which cost a GCP of {wide[6]:.3f} instead of {tight[6]:.3f}"
        )
    return told
