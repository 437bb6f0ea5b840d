"""Airbnb's Mondrian on Adult, in an environment of its own: print k, the share of starred cells and rows dropped.

Run by `make lighthouse` with the Python of `.venv-lighthouse`, because the package wants NumPy below 2. Nothing of
`indistinct` is imported here.
"""

import logging
import os
import sys
import time
from pathlib import Path

NAMES = ("sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")
STAR = "*"


def main() -> None:
    import pandas as pd
    from project_lighthouse_anonymize.gtrees import make_flat_default_gtree  # type: ignore[import-not-found]
    from project_lighthouse_anonymize.wrappers.k_anonymize import k_anonymize  # type: ignore[import-not-found]

    folder = Path(os.environ.get("INDISTINCT_DATA") or "../shared/data")
    table = pd.read_csv(folder / "adult-arx" / "adult.csv", sep=";")[["age", *NAMES]]
    table["id"] = range(len(table))
    for k in map(int, sys.argv[1:] or ("2", "5", "10")):
        trees = {name: make_flat_default_gtree(set(table[name])) for name in NAMES}
        began = time.process_time()
        made, *_ = k_anonymize(
            logging.getLogger("lighthouse"),
            table.copy(),
            qids=["age", *NAMES],
            k=k,
            qid_to_gtree=trees,
            id_col="id",
            parallelism=None,
        )
        known = {name: set(table[name]) for name in NAMES}
        starred = sum((~made[name].isin(known[name])).sum() for name in NAMES)
        share = starred / (len(made) * len(NAMES))
        print(k, f"{share:.4f}", len(table) - len(made), f"{time.process_time() - began:.1f}")


if __name__ == "__main__":
    main()
