"""How kernels are compiled: once, and kept for the next run where there is a directory to keep them in.

Numba keeps them in `NUMBA_CACHE_DIR`, or beside the source, or in the user's cache directory. Where none of them can be
written every run compiles anew.
"""

from functools import partial
from typing import Any

import numba


def jit(function: Any = None, **options: Any) -> Any:
    """Compile a function when it is first called, without the interpreter's lock."""
    if function is None:
        return partial(jit, **options)
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no directory can be written
        return numba.njit(nogil=True, **options)(function)
