"""How kernels are compiled: once, and kept for the next run where there is a directory to keep them in.

Numba keeps them in `NUMBA_CACHE_DIR`, or beside the source, or in the user's cache directory. Where none of them can be
written every run compiles anew. A kernel that was kept is loaded without what only a compiler needs.
"""

from functools import partial
from typing import Any

import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.runtime import rtsys

from indistinct.machine.stages import enter_compiling

KERNELS: list[Any] = []
"""Every kernel of the modules that are loaded, in the order of their definition."""


def jit(function: Any = None, **options: Any) -> Any:
    """Compile a function when it is first called, without the interpreter's lock."""
    if function is None:
        return partial(jit, **options)
    kernel = numba.njit(nogil=True, **options)(function)
    kernel._cache = _Kept(function)
    KERNELS.append(kernel)
    return kernel


def inner(function: Any = None, **options: Any) -> Any:
    """Compile a function that only kernels call: it is kept with each of them, and Python cannot call it."""
    if function is None:
        return partial(inner, **options)
    return numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)


class _Kept:
    """The cache of a kernel. It is looked for when the kernel is first called: most runs call few of all kernels."""

    def __init__(self, function: Any) -> None:
        self._function, self._found = function, None

    def _cache(self) -> Any:
        if self._found is None:
            try:
                self._found = FunctionCache(self._function)
            except RuntimeError:  # no directory can be written
                self._found = NullCache()
        return self._found

    @property
    def cache_path(self) -> Any:
        return self._cache().cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._load(sig, target_context)
        if found is None:
            enter_compiling(True)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        cache = self._cache()
        if isinstance(cache, NullCache):
            return None
        # Numba would first import and register every function that it can compile, which takes longer than loading.
        # Compiled code needs the runtime alone, and the compiler registers them itself.
        rtsys.initialize(target_context)
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        self._cache().save_overload(sig, data)
        enter_compiling(False)

    def flush(self) -> None:
        self._cache().flush()
