"""Tasks for the page's own processes: they sleep, fail, die and tell."""

import os
import time

from indistinct.errors import InputError

CELL = "Erika Mustermann"
"""A cell that no message may quote."""


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
    time.sleep(60)


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
