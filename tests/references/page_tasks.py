"""Tasks for the page's own processes: they sleep, fail, die and tell."""

import os
import sys
import threading
import time

from indistinct.errors import InputError

CELL = "Erika Mustermann"
"""A cell that no message may quote."""


PREPARED = []
"""The thread in which a process got ready, and how many others there were."""


def prepare_slowly():
    time.sleep(0.3)
    PREPARED.append(threading.current_thread() is threading.main_thread())


def prepared(_desk):
    return list(PREPARED)


def draw_a_picture(_desk):
    """Draw as tasks do, with Arrow at work beside it; return whether pandas was imported for that."""
    import numpy as np
    import pyarrow as pa

    from indistinct.drawing.columns import bars_of_numbers, draw_bars

    pa.array([1, None])
    pa.array(np.arange(3))
    drawn = draw_bars("", bars_of_numbers(np.arange(3.0), np.ones(3, dtype=np.int64)))
    return "<svg" in drawn, "pandas" in sys.modules


def add(_desk, one, other=0):
    return one + other


def number_of_process(_desk):
    return os.getpid()


def slow(_desk, seconds):
    time.sleep(seconds)


def niceness(_desk):
    return os.nice(0)


def tell(desk):
    desk.enter("reading", "7 of 9 rows")
    desk.report(0.5)
    time.sleep(900)


def die(_desk):
    os._exit(9)


def quote(_desk):
    raise ValueError(f"cannot read {CELL!r}")


def explain(_desk):
    raise InputError("this is no table", hint="give another one", values={"cell": CELL})


def quote_in_a_thread(_desk):
    import threading

    thread = threading.Thread(target=quote, args=(None,))
    thread.start()
    thread.join()
    return "done"


def warn(_desk):
    import warnings

    warnings.warn(f"strange: {CELL}", stacklevel=1)
    return "done"


def keep(desk, key):
    return desk.keep(key, time.monotonic_ns), sorted(desk.kept)
