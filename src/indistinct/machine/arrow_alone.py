"""Arrow without pandas, in processes of our own: commands, and those of the page."""

import sys
from importlib.abc import MetaPathFinder


class _Absent(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used here", name=fullname)


def keep_arrow_from_pandas() -> None:
    """Let Arrow ask for pandas once, in vain, which it remembers.

    Where pandas is installed, Arrow imports it to ask whether an array is one of its series, at whatever moment and in
    whatever thread that happens first. It takes as long as everything else together, and Altair, which looks whether
    pandas is there, fails where it is only half there. Whoever asks Arrow for a frame of pandas still gets one.
    """
    import numpy as np
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        for values in ([1], np.array([1])):  # it asks in two languages
            pa.array(values)
    finally:
        sys.meta_path.remove(absent)
