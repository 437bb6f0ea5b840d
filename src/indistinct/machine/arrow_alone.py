"""Keep Arrow from importing pandas, in processes of our own: commands, and those of the web app."""

import sys
from importlib.abc import MetaPathFinder


class _Absent(MetaPathFinder):
    """An import finder that reports pandas as not installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used here", name=fullname)


def keep_arrow_from_pandas() -> None:
    """Make Arrow look for pandas once while it appears not to be installed; Arrow remembers the answer.

    Where pandas is installed, Arrow imports it to check whether an array is a pandas series, in whatever thread that
    happens first. The import takes as long as everything else together, and Altair fails if it finds pandas half
    imported. Conversions to pandas frames still work.
    """
    import numpy as np
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        for values in ([1], np.array([1])):  # Arrow checks in C++ and in Python
            pa.array(values)
    finally:
        sys.meta_path.remove(absent)
