"""Every kernel compiled ahead of the first run, by running every registered algorithm on small tables.

Which kernels there are, and with which types each is called, is nowhere listed: the algorithms, models and tables of
the common checks call most of them, and the commands from a file to a release the others. Each algorithm runs in a
process of its own, because a compiler works alone in one. What one of them compiles, the others wait for.
"""

import io
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.cluster.refine import Refine
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.errors import IndistinctError, OutputError, ParameterError, did_you_mean
from indistinct.machine import kernel_files, threads
from indistinct.machine.compiled import KERNELS
from indistinct.machine.stages import PREPARING, watch_stages

if TYPE_CHECKING:
    from indistinct.testing.checks.case import Case


LOCAL_SEARCH, COMMANDS = "--local-search", "--commands"
"""What a process runs that is given no algorithm."""

FROM_FILE_TO_RELEASE = """
generate patients --rows 3000 --seed 1 -o patients.csv
inspect patients.csv -o policy.toml
anonymize policy.toml -o release.csv --save-recoding recoding.json
apply recoding.json patients.csv -o again.csv
verify release.csv --policy policy.toml
assess release.csv --policy policy.toml --original patients.csv
attack all release.csv --policy policy.toml --original patients.csv --seconds 1
scan release.csv --policy policy.toml --original patients.csv
query release.csv "SELECT AVG(age) WHERE sex = 'female'" --policy policy.toml
anonymize patients.csv --identifier name,cost --quasi age,sex,zipcode --sensitive disease --insensitive admitted \\
    --model k-anonymity:k=5 --model distinct-l-diversity:sensitive=disease,l=3 --hierarchy zipcode=mask:right \\
    --hierarchy age=intervals:5,10,20 --suppression 0.02 -o diverse.csv
anonymize patients.csv --person name --quasi age,sex,zipcode --insensitive disease,cost,admitted \\
    --model k-anonymity:k=5 --algorithm mondrian -o people.csv
assess people.csv --person name --quasi age,sex,zipcode --insensitive disease,cost,admitted --original patients.csv
explore patients.csv --identifier name,cost --quasi age,sex,zipcode --sensitive disease --insensitive admitted \\
    --model k-anonymity:k=5 --hierarchy zipcode=mask:right --hierarchy age=intervals:5,10,20
"""


@dataclass(frozen=True, slots=True)
class KernelCount:
    """How many kernels are kept, where, and for which processor."""

    kernels: int
    folders: tuple[str, ...]
    processor: str


def warm_up(algorithms: Sequence[str] = (), *, progress: Callable[[float], None] | None = None) -> KernelCount:
    """Compile every kernel, or those that some algorithms call, and keep them for the runs to come.

    Raises `OutputError` where no directory can be written.
    """
    names = list(algorithms) or list(ALGORITHMS)
    for name in names:
        if name not in ALGORITHMS:
            raise ParameterError(
                f"there is no algorithm {name!r}", hint=did_you_mean(name, ALGORITHMS) or "see `indistinct list`"
            )
    if not algorithms:
        names.insert(0, COMMANDS)
    kept: dict[str, str] = {}
    with ThreadPoolExecutor(threads.workers()) as pool:
        for number, done in enumerate(as_completed([pool.submit(_in_child, name) for name in names]), start=1):
            kept |= done.result()
            if progress is not None:
                progress(number / len(names))
    if not kept:
        raise OutputError(
            "compiled kernels can be kept nowhere",
            hint="set NUMBA_CACHE_DIR to a directory of your own that no other user can write",
        )
    return KernelCount(len(kept), tuple(sorted(set(kept.values()))), _processor())


def _in_child(name: str) -> dict[str, str]:
    """Return the cache file of each kernel that an algorithm, or another named part, uses."""
    ran = subprocess.run(  # noqa: S603  our own module
        [sys.executable, "-m", "indistinct.cli.kernels", name], capture_output=True, text=True, check=True
    )
    cache_files: dict[str, str] = json.loads(ran.stdout.splitlines()[-1])
    return cache_files


@contextmanager
def compile_aside(algorithm: Algorithm) -> Iterator[None]:
    """Once a run has to compile, let a second process compile what an algorithm that chooses calls last.

    That is local search, which also takes longest to compile. The process ends with the run, and its kernels are kept.
    """
    helpers: list[subprocess.Popen[bytes]] = []

    def tell(stage: str, _rows: str) -> None:
        if stage == PREPARING and not helpers:
            quiet = subprocess.DEVNULL
            called = [sys.executable, "-m", "indistinct.cli.kernels", LOCAL_SEARCH]
            helpers.append(subprocess.Popen(called, stdin=quiet, stdout=quiet, stderr=quiet))  # noqa: S603  our own

    if not algorithm.chooses or threads.workers() == 1 or kernel_files.own_folder() is None:
        yield
        return
    try:
        with watch_stages(tell):
            yield
    finally:
        for helper in helpers:
            helper.kill()
            helper.wait()


def _search_locally() -> None:
    """Run local search once."""
    from indistinct.job.publishing import anonymize
    from indistinct.models import KAnonymity
    from indistinct.samples import generate_patients
    from indistinct.schema import Schema

    schema = Schema(identifiers=["name", "cost", "admitted"], quasi=["age", "sex", "zipcode"], sensitive=["disease"])
    local_search = Refine(start="mondrian", rounds=1, seconds=0.0)
    anonymize(generate_patients(200, seed=1), schema, model=KAnonymity(k=5), algorithm=local_search)


def _run_commands() -> None:
    """Run the commands from a file to a release, as small and as large tables are run, in a folder of their own."""
    from indistinct.cli import main

    kernel_files.own_folder()  # a relative NUMBA_CACHE_DIR is meant from here, and it is looked for once
    lines = FROM_FILE_TO_RELEASE.replace("\\\n", " ").strip().splitlines()
    usual = threads.LARGE_ROWS
    for threads.LARGE_ROWS in (usual, 1):
        with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(io.StringIO()):
            for line in lines:
                main(shlex.split(line))
    threads.LARGE_ROWS = usual


def compile_kernels(name: str) -> None:
    """Run an algorithm in all its forms, as small and as large tables are run."""
    from indistinct.evaluation.measure.measure import measure as measure_release
    from indistinct.testing.checks.case import publish_case

    for case in _cases(name):
        for large in (threads.LARGE_ROWS, 1):
            usual, threads.LARGE_ROWS = threads.LARGE_ROWS, large
            try:
                with suppress(IndistinctError):  # that there is no release is an answer as well
                    measure_release(publish_case(case))
            finally:
                threads.LARGE_ROWS = usual


def _cases(name: str) -> "Iterator[Case]":
    """Yield the cases that call all kernels of an algorithm."""
    from indistinct.testing.checks.examples import examples, forms_of, models_for

    for form in forms_of(name):
        models = models_for(parse_algorithm(form))
        for number, model in enumerate(models):
            cases = examples(form, model)
            # What tables call differs by their types, and what models call hardly differs by the table.
            yield from cases.values() if not number else list(cases.values())[1:2] or cases.values()


def _processor() -> str:
    """Return the name of the processor for which kernels are compiled."""
    from llvmlite.binding import get_host_cpu_name
    from numba.core import config

    name: str = config.CPU_NAME or get_host_cpu_name()
    return name


def _main(names: Sequence[str]) -> None:
    """Compile kernels, and print where each is cached as JSON."""
    others = {LOCAL_SEARCH: _search_locally, COMMANDS: _run_commands}
    for name in names:
        others[name]() if name in others else compile_kernels(name)
    kept = {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__}": str(kernel.stats.cache_path)
        for kernel in KERNELS
        if kernel.signatures and kernel.stats.cache_path is not None
    }
    sys.stdout.write(json.dumps(kept) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
