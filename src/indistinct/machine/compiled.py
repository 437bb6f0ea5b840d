"""How kernels are compiled: once, and kept for later runs in the files of `kernel_files`.

A kept kernel is loaded without importing the compiler. While kernels are compiled, the run's stage says so.
"""

import hashlib
import inspect
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial, wraps
from types import ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from indistinct.machine import kernel_files, stages
from indistinct.machine.arrays import Codes
from indistinct.machine.locks import turn

KERNELS: list[Any] = []
"""Every kernel of the loaded modules, in the order of definition."""

# The target of code that runs on every machine of a platform: no features beyond its baseline.
GENERIC = ("generic", "")
# Compiled code computes with integers of this width, in bytes.
WIDE_BYTES = 8
CONSTANTS = (bool, int, float, str, tuple, np.generic)


def jit(function: Any = None, **options: Any) -> Any:
    """Compile a function when it is first called, without the interpreter's lock; never with `NUMBA_DISABLE_JIT=1`."""
    if function is None:
        return partial(jit, **options)
    if numba.config.DISABLE_JIT:
        return _interpret(function)
    kernel = numba.njit(nogil=True, **options)(function)
    kernel._cache = _KeptKernel(function)
    kernel.compile = partial(_compile_once, kernel, kernel.compile)
    KERNELS.append(kernel)
    return kernel


def inner(function: Any = None, **options: Any) -> Any:
    """Compile a function that only kernels call: it is stored with each of them, and Python cannot call it."""
    if function is None:
        return partial(inner, **options)
    return numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)


def _interpret(function: Any) -> Any:
    """Return a kernel that Python runs, for `NUMBA_DISABLE_JIT=1`, so that a debugger can step through it.

    Compiled code computes with integers of 64 bits, which wrap around. NumPy computes with those of an array's type, so
    that a kernel gets wide copies of narrow arrays, and what it writes is copied back.
    """

    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        copies: dict[int, _WideCopy] = {}
        with np.errstate(over="ignore"):
            result = function(*(_widen(each, copies) for each in arguments))
        for copy in copies.values():
            copy.write_back()
        return result

    return kernel


class _WideCopy:
    """A narrow array of integers and its copy in 64 bits."""

    def __init__(self, narrow: Codes) -> None:
        self.narrow, self.before, self.wide = narrow, narrow.astype(np.int64), narrow.astype(np.int64)

    def write_back(self) -> None:
        changed = self.wide != self.before
        if changed.any():
            self.narrow[changed] = self.wide[changed].astype(self.narrow.dtype)


def _widen(argument: Any, copies: dict[int, _WideCopy]) -> Any:
    """Return an argument of a kernel with wide copies of its narrow arrays; each array is copied once."""
    if isinstance(argument, np.ndarray) and argument.dtype.kind in "iu" and argument.itemsize < WIDE_BYTES:
        return copies.setdefault(id(argument), _WideCopy(argument)).wide
    if isinstance(argument, tuple):
        items = (_widen(each, copies) for each in argument)
        return argument._make(items) if hasattr(argument, "_make") else tuple(items)
    if isinstance(argument, np.integer) and argument.itemsize < WIDE_BYTES:
        return np.int64(argument)
    return argument


def _compile_once(kernel: Any, compile_kernel: Any, signature: Any) -> Any:
    """Load or compile a kernel; of several processes one compiles it, and the others wait for its file.

    The lock of Numba's compiler is taken first, so that a thread waiting for it never blocks the one that has it.
    """
    with global_compiler_lock:
        if signature in kernel.overloads or kernel._cache.find(signature, kernel.targetctx) is not None:
            return compile_kernel(signature)
        is_kept = kernel_files.own_folder() is not None
        stage = stages.PREPARING if is_kept else stages.PREPARING_EACH_RUN
        with stages.interrupt(stage), _turn_of(kernel._cache.own_name(signature, kernel.targetctx)):
            return compile_kernel(signature)


@contextmanager
def _turn_of(name: str) -> Iterator[None]:
    """Let one process at a time compile a kernel."""
    path = kernel_files.lock_path(name)
    if path is None:
        yield
        return
    with turn(path):
        yield


class _KeptKernel:
    """The cache of one kernel, in Numba's interface; it is read when the kernel is first called.

    Most runs call few of all kernels.
    """

    def __init__(self, function: Any) -> None:
        self._function = function

    @property
    def cache_path(self) -> Any:
        folder = kernel_files.own_folder()
        return None if folder is None else str(folder)

    def find(self, signature: Any, context: Any) -> bytes | None:
        """Return the kept kernel: one for every processor of the platform, or one compiled for this processor."""
        platform, *host = context.codegen().magic_tuple()
        for processor in dict.fromkeys((GENERIC, tuple(host))):
            content = kernel_files.read_kernel(self._name(signature, (platform, *processor)))
            if content is not None:
                return content
        return None

    def own_name(self, signature: Any, context: Any) -> str:
        """Return the name of the kernel as compiled by this process."""
        return self._name(signature, context.codegen().magic_tuple())

    def _name(self, signature: Any, target: tuple[str, ...]) -> str:
        """Return the file name of a kernel, by its source, types, versions and processor."""
        module = self._function.__module__
        versions = (numba.__version__, llvmlite.__version__, sys.implementation.cache_tag, getattr(sys, "abiflags", ""))
        stamp = _stamp_of(sys.modules[module])
        known = repr((versions, target, stamp, self._function.__qualname__, repr(signature)))
        short = f"{module.removeprefix('indistinct.')}.{self._function.__name__}"
        return f"{short}-{hashlib.sha256(known.encode()).hexdigest()[:32]}{kernel_files.SUFFIX}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature from the cache, None if it is not there (numba's `Cache`)."""
        content = self.find(sig, target_context)
        if content is None:
            return None
        # Numba would first import and register every function that it can compile, which takes longer than loading.
        # Compiled code only needs the runtime, and the compiler registers the functions itself.
        rtsys.initialize(target_context)
        return CompileResult._rebuild(target_context, *pickle.loads(content))  # noqa: S301  only files that are ours

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled function in the cache (numba's `Cache`)."""
        if data.lifted or data.library.has_dynamic_globals:
            return
        # The type annotations are only of interest to developers of compilers, and contain local paths.
        content = dumps(data._replace(type_annotation="")._reduce())
        kernel_files.keep_kernel(self.own_name(sig, data.target_context), content)

    def flush(self) -> None:
        """Do nothing: a changed source has another file name."""


@cache
def _stamp_of(module: ModuleType) -> str:
    """Return the hash of everything that the kernels of a module depend on.

    That is its source, imported constants, and the same for the modules whose functions it calls.
    """
    made, ahead = hashlib.sha256(), [module]
    for each in ahead:
        names = vars(each)
        constants = {name: repr(value) for name, value in names.items() if isinstance(value, CONSTANTS)}
        made.update(_source_of(each).encode())
        made.update(repr({name: constants[name] for name in sorted(constants) if not name.startswith("__")}).encode())
        called = {value.py_func.__module__ for value in names.values() if isinstance(value, Dispatcher)}
        ahead += [sys.modules[name] for name in sorted(called) if sys.modules[name] not in ahead]
    return made.hexdigest()


def _source_of(module: ModuleType) -> str:
    """Return the source of a module or, where it is not installed, the version of the package."""
    try:
        return inspect.getsource(module)
    except OSError:
        return f"{module.__name__} of indistinct {vars(sys.modules['indistinct'])['__version__']}"
