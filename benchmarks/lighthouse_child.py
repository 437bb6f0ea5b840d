"""Airbnb's Mondrian on Adult, in an environment of its own: print its settings, stars, rows dropped and CPU seconds.

Run by `make lighthouse` with the Python of `.venv-lighthouse`, because the package wants NumPy below 2. Nothing of
`indistinct` is imported here.
"""

import logging
import os
import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")


# Its own getting-started guide: these columns of all 48,842 rows, unknown cells missing, k = 5.
EXAMPLE = ("age", "hours-per-week", "workclass", "native-country", "salary-class")


def main() -> None:
    import pandas as pd

    folder = Path(os.environ.get("INDISTINCT_DATA") or "../shared/data")
    table = pd.read_csv(folder / "adult-arx" / "adult.csv", sep=";")[["age", *NAMES]]
    with redirect_stdout(StringIO()):  # it compiles before time is taken
        _measure("adult-8", table.head(1000), 5, NAMES)
    for k in map(int, sys.argv[1:] or ("2", "5", "10")):
        _measure("adult-8", table, k, NAMES)
        if k == 5:
            every = pd.read_csv(folder / "adult.csv", keep_default_na=False)[list(EXAMPLE)]
            _measure("guide-5", every.mask(every == "?"), k, EXAMPLE[2:])


def _measure(setting: str, table: "pd.DataFrame", k: int, names: tuple[str, ...]) -> None:
    """Print a setting, k, the share of starred cells of some columns, rows dropped and changed, CPU seconds, and years.

    Years are the mean width of a class's ages: it publishes their mean, and rows that publish the same are a class.
    """
    from project_lighthouse_anonymize.gtrees import make_flat_default_gtree  # type: ignore[import-not-found]
    from project_lighthouse_anonymize.wrappers.k_anonymize import k_anonymize  # type: ignore[import-not-found]

    known = {name: set(table[name].dropna()) for name in names}
    began = time.process_time()
    made, quality, _ = k_anonymize(
        logging.getLogger("lighthouse"),
        table.assign(id=range(len(table))),
        qids=list(table.columns),
        k=k,
        qid_to_gtree={name: make_flat_default_gtree(values) for name, values in known.items()},
        id_col="id",
        parallelism=None,
    )
    taken = time.process_time() - began
    starred = sum((made[name].notna() & ~made[name].isin(known[name])).sum() for name in names)
    share = starred / (len(made) * len(names))
    ages = table["age"].iloc[made["id"]].to_numpy()
    shown = made[list(table.columns)].astype(str).agg("|".join, axis=1).to_numpy()
    classes = table.iloc[: len(ages)].assign(age=ages, shown=shown).groupby("shown")["age"]
    width = (classes.transform("max") - classes.transform("min")).mean()
    figures = (len(table) - len(made), int(quality["n_generalized"]), f"{taken:.1f}", f"{width:.2f}")
    print(setting, k, f"{share:.4f}", *figures, flush=True)


if __name__ == "__main__":
    main()
