"""NIST's own scores of our releases, in an environment of its own: print one line of figures for each table.

Run by `make sdnist` with the Python of `.venv-sdnist`, because sdnist pins old libraries. Nothing of `indistinct` is
imported here: releases come as CSV files from `indistinct anonymize`, the program that is named first.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# The feature set that the archive of the Collaborative Research Cycle calls demographic-focused.
FEATURES = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE")
TABLES = ("ma2019", "tx2019", "national2019")
ALGORITHMS = ("auto", "mondrian:choose=loss")
STAR = "*"
OTHERS = [name for name in FEATURES if name != "AGEP"]
HEADINGS = (
    *("table", "k", "algorithm", "rows", "without a star", "stars", "k-marginal", "k-marginal of all rows"),
    *("unique exact matches", "unique", "propensity", "slope", "intercept", "true slope", "true intercept"),
)


def main() -> None:
    program, *chosen = sys.argv[1:]
    folder = Path(os.environ.get("INDISTINCT_DATA") or "../shared/data") / "nist-crc"
    print("\t".join(HEADINGS))
    for table in TABLES:
        for k in map(int, chosen or ("6", "12")):
            for algorithm in ALGORITHMS:
                with tempfile.TemporaryDirectory() as made:
                    figures = _score(folder, table, _publish(program, folder, table, k, algorithm, Path(made)))
                print("\t".join(map(str, (table, k, algorithm, *figures))), flush=True)


def _publish(program: str, folder: Path, table: str, k: int, algorithm: str, made: Path) -> Path:
    """Write the features of a table as text, and publish them with values exact or starred."""
    import pandas as pd

    source, target = made / "source.csv", made / "release.csv"
    pd.read_csv(folder / f"{table}.csv", dtype=str, keep_default_na=False)[list(FEATURES)].to_csv(source, index=False)
    command = [program, "anonymize", str(source), "--quasi", ",".join(FEATURES), "--model", f"k-anonymity:k={k}"]
    for name in FEATURES:
        command += ["--hierarchy", f"{name}=suppression"]
    command += ["--algorithm", algorithm, "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    return target


def _score(folder: Path, table: str, released: Path) -> tuple[object, ...]:
    """Return what NIST's metrics give for the published rows that have no star, as the archive does for sdcMicro.

    The k-marginal score is given of all rows as well, a star being a code of its own: the metric takes any code, while
    the report of sdnist drops every column that has one that its dictionary does not list.
    """
    import pandas as pd
    import sdnist.report  # type: ignore[import-not-found]  # noqa: F401  # first: its modules import each other
    from sdnist.metrics.kmarginal import KMarginal  # type: ignore[import-not-found]
    from sdnist.metrics.propensity import PropensityMSE  # type: ignore[import-not-found]
    from sdnist.metrics.regression import LinearRegressionMetric  # type: ignore[import-not-found]
    from sdnist.metrics.unique_exact_matches import unique_exact_matches  # type: ignore[import-not-found]
    from sdnist.report.dataset.binning import (  # type: ignore[import-not-found]
        add_bin_for_NA,
        percentile_rank_synthetic,
        percentile_rank_target,
    )
    from sdnist.report.dataset.transform import transform  # type: ignore[import-not-found]
    from sdnist.report.dataset.validate import validate  # type: ignore[import-not-found]
    from sdnist.utils import to_num  # type: ignore[import-not-found]

    dictionary = json.loads((folder / "data_dictionary.json").read_text(encoding="utf-8"))
    original = pd.read_csv(folder / f"{table}.csv", dtype=str, keep_default_na=False)[list(FEATURES)]
    published = pd.read_csv(released, dtype=str, keep_default_na=False)[list(FEATURES)]
    starred = published == STAR

    def check(frame: "pd.DataFrame") -> "pd.DataFrame":
        checked, log = validate(frame, dictionary, list(FEATURES))
        if log["values_out_of_bound"]:
            raise SystemExit(f"sdnist refuses columns: {', '.join(log['values_out_of_bound'])}")
        return checked

    def bin_ages(frame: "pd.DataFrame", ranked: "pd.DataFrame") -> "pd.DataFrame":
        """Return codes with ages in the twentieths of the original, as sdnist compares marginals."""
        return transform(frame[OTHERS], schema).join(add_bin_for_NA(ranked, frame, ["AGEP"])["AGEP"])

    target, kept = check(original), check(published[~starred.any(axis=1)].reset_index(drop=True))
    # What sdnist's data folder says of its tables, as far as `transform` reads it.
    schema = {
        name: {"values": [], **({"has_null": True, "null_value": "N"} if "N" in dictionary[name]["values"] else {})}
        for name in FEATURES
    }
    ranked = percentile_rank_target(target, ["AGEP"])
    # Nobody's age is N, which is what the bins of sdnist leave alone; -9 is no code of another column.
    every = published.replace({name: {STAR: "N" if name == "AGEP" else "-9"} for name in FEATURES})
    marginals = [
        KMarginal(
            bin_ages(target, ranked), bin_ages(frame, percentile_rank_synthetic(frame, target, ranked, ["AGEP"])), []
        ).compute_score()
        for frame in (kept, every)
    ]
    matched, _, unique, _ = unique_exact_matches(target, kept)
    with tempfile.TemporaryDirectory() as scratch:
        coded = [transform(frame, schema) for frame in (target, kept)]
        propensity = PropensityMSE(*coded, Path(scratch), list(FEATURES)).compute_score()
        numbers = [to_num(frame[["EDU", "PINCP_DECILE", "RAC1P", "SEX"]].copy()) for frame in (target, kept)]
        line = LinearRegressionMetric(*numbers, dictionary, Path(scratch) / "line")
        line.compute()
    return (
        *(len(published), len(kept), f"{starred.to_numpy().mean():.4f}", *map(int, marginals), matched, unique),
        *(f"{propensity:.3f}", line.s_slope, line.s_intercept, line.t_slope, line.t_intercept),
    )


if __name__ == "__main__":
    main()
