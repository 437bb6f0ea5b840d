"""Every kernel compiled ahead of the first run, by running every registered algorithm on small tables.

Which kernels there are, and with which types each is called, is nowhere listed: the algorithms, models and tables of
the common checks call them all. Each algorithm runs in a process of its own, because a compiler works alone in one.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass

from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.errors import IndistinctError, OutputError, ParameterError
from indistinct.machine import arrays
from indistinct.machine.compiled import KERNELS
from indistinct.schema import did_you_mean
from indistinct.study.measure import measuring
from indistinct.testing.checks.case import Case, publish_case
from indistinct.testing.checks.examples import examples, forms_of, models_for


@dataclass(frozen=True, slots=True)
class Kept:
    """How many kernels are kept, where, and for which processor."""

    kernels: int
    folders: tuple[str, ...]
    processor: str


def warm_up(algorithms: Sequence[str] = (), *, progress: Callable[[float], None] | None = None) -> Kept:
    """Compile every kernel, or those that some algorithms call, and keep them for the runs to come.

    Raises `OutputError` where no directory can be written.
    """
    names = list(algorithms) or list(ALGORITHMS)
    for name in names:
        if name not in ALGORITHMS:
            raise ParameterError(
                f"{name!r} is no algorithm", hint=did_you_mean(name, ALGORITHMS) or "see `indistinct list`"
            )
    kept: dict[str, str] = {}
    with ThreadPoolExecutor(arrays.workers()) as pool:
        for number, done in enumerate(as_completed([pool.submit(_in_child, name) for name in names]), start=1):
            kept |= done.result()
            if progress is not None:
                progress(number / len(names))
    if not kept:
        raise OutputError(
            "compiled kernels can be kept nowhere", hint="name a directory that can be written: NUMBA_CACHE_DIR"
        )
    return Kept(len(kept), tuple(sorted(set(kept.values()))), _processor())


def _in_child(name: str) -> dict[str, str]:
    """Return where each kernel is kept that one algorithm called."""
    ran = subprocess.run(  # noqa: S603  our own module
        [sys.executable, "-m", "indistinct.cli.kernels", name], capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(ran.stdout.splitlines()[-1])
    return found


def compile_kernels(name: str) -> None:
    """Run an algorithm in all its forms, as small and as large tables are run."""
    for case in _cases(name):
        for large in (arrays.LARGE, 1):
            usual, arrays.LARGE = arrays.LARGE, large
            try:
                with suppress(IndistinctError):  # that there is no release is an answer as well
                    measuring.measure(publish_case(case))
            finally:
                arrays.LARGE = usual


def _cases(name: str) -> Iterator[Case]:
    for form in forms_of(name):
        models = models_for(parse_algorithm(form))
        for number, model in enumerate(models):
            cases = examples(form, model)
            # What tables call differs by their types, and what models call hardly differs by the table.
            yield from cases.values() if not number else list(cases.values())[1:2] or cases.values()


def _processor() -> str:
    from llvmlite.binding import get_host_cpu_name
    from numba.core import config

    name: str = config.CPU_NAME or get_host_cpu_name()
    return name


def _main(names: Sequence[str]) -> None:
    for name in names:
        compile_kernels(name)
    kept = {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__}": str(kernel.stats.cache_path)
        for kernel in KERNELS
        if kernel.signatures and kernel.stats.cache_path is not None
    }
    sys.stdout.write(json.dumps(kept) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
