"""Releases ranked by what a study's own analysis loses."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import indistinct as ind
from indistinct.cli import app
from indistinct.errors import InfeasibleError, ParameterError

FORMULA = "cost ~ age"
SCHEMA = ind.Schema(quasi=["age", "town"], insensitive=["cost"])
HIERARCHIES = {
    "age": ind.Hierarchy.intervals([10, 20, 40]),
    "town": ind.Hierarchy.masking(),
}


def people(rows: int = 400) -> pa.Table:
    random = np.random.default_rng(3)
    age = random.integers(20, 80, rows)
    town = random.choice(["11", "12", "21", "22"], rows)
    return pa.table({"age": age, "town": town, "cost": 5.0 * age + random.normal(0, 60, rows)})


def test_comparisons_are_ranked_by_the_analysis() -> None:
    found = ind.compare(
        people(),
        SCHEMA,
        algorithms="auto,node:levels=3|0,node:levels=0|2",
        models="k-anonymity:k=4",
        suppression=0.3,
        hierarchies=HIERARCHIES,
        analysis=FORMULA,
        workers=1,
    )
    losses = {trial.point.algorithm: trial.metrics["analysis-loss"] for trial in found.trials if trial.state == "done"}
    assert next(iter(found.metrics)) == "analysis-loss"
    assert "auto" not in losses
    assert len(losses) > 3  # those that auto tries, and the nodes
    assert losses["node:levels=0|2"] < losses["node:levels=3|0"]
    assert found.best().metrics["analysis-loss"] == min(losses.values())


def test_the_loss_is_what_analyze_says_of_the_release() -> None:
    table = people()
    found = ind.compare(table, SCHEMA, algorithms="mondrian", models="k-anonymity:k=4", analysis=FORMULA, workers=1)
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=4", algorithm="mondrian")
    overlap = ind.analyze(release, FORMULA, original=table).mean_overlap
    assert overlap is not None
    assert found.best().metrics["analysis-loss"] == pytest.approx(1 - overlap, abs=0.1)  # rows come in another order


def test_nodes_are_ranked_by_the_analysis() -> None:
    found = ind.explore(
        people(), SCHEMA, model="k-anonymity:k=4", hierarchies=HIERARCHIES, suppression=0.3, analysis=FORMULA
    )
    assert found.best()["node"] == (0, 2)
    assert found.best("loss")["node"] != (0, 2)
    rows = found.ranked()
    assert all(np.isfinite(row["analysis-loss"]) == row["satisfied"] for row in rows)


@pytest.mark.parametrize(("formula", "message"), [("cost ~ agee", "agee"), ((), "not known")])
def test_what_cannot_be_preferred_is_said_before_any_work(formula: str | tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ind.compare(people(50), SCHEMA, algorithms="mondrian", models="k-anonymity:k=2", analysis=formula)


def test_nothing_is_best_where_nothing_holds() -> None:
    found = ind.compare(people(50), SCHEMA, algorithms="auto", models="k-anonymity:k=60", analysis=FORMULA, workers=1)
    with pytest.raises(InfeasibleError, match="60"):
        found.best()


def test_the_command_line_publishes_what_the_analysis_prefers(tmp_path: Path) -> None:
    import pyarrow.csv as csv

    csv.write_csv(people(), tmp_path / "people.csv")
    flags = ["--quasi", "age,town", "--insensitive", "cost", "--model", "k-anonymity:k=4"]
    asked = ["anonymize", str(tmp_path / "people.csv"), *flags, "-o", str(tmp_path / "release.csv")]
    runner = CliRunner()
    result = runner.invoke(app, [*asked, "--prefer", "analysis", "--formula", FORMULA])
    assert result.exit_code == 0, result.output
    assert "chosen by what the analyses lose" in result.output
    assert (tmp_path / "release.csv").exists()
    for wrong in (["--formula", FORMULA], ["--prefer", "cost"], ["--prefer", "analysis"]):
        assert isinstance(runner.invoke(app, [*asked, "--overwrite", *wrong]).exception, ParameterError)
