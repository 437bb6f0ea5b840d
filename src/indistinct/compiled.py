"""How kernels are compiled: once, and kept for the next run where there is a place to keep them."""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

import numba


def _can_keep() -> bool:
    """Return whether Numba finds a directory for compiled kernels; told to keep them without one, it compiles nothing.

    It looks at `NUMBA_CACHE_DIR`, then beside this file, then in the user's cache.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(given)] if given else [Path(__file__).parent / "__pycache__", _user_cache()]
    return any(_writable(place) for place in places if place is not None)


def _user_cache() -> Path | None:
    from numba.misc.appdirs import AppDirs

    with contextlib.suppress(RuntimeError, KeyError):
        return Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)
    return None


def _writable(place: Path) -> bool:
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError:
        return False


def jit(function: Any = None, **options: Any) -> Any:
    """Compile a function when it is first called, without the interpreter's lock."""
    decorate = numba.njit(cache=KEEP, nogil=True, **options)
    return decorate if function is None else decorate(function)


KEEP = _can_keep()
