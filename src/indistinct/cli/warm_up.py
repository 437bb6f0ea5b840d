"""`indistinct warm-up`: kernels are compiled ahead of the first run, as containers want it."""

from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.screen import print_json, progress, show


def command(
    algorithm: Annotated[
        list[str] | None,
        typer.Option("--algorithm", metavar="NAME", help="Only what this algorithm calls; may be given several times."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compile all kernels ahead, so that the first run starts faster.

    Kernels are kept in NUMBA_CACHE_DIR if that is set, else in the user's cache directory, else next to the package;
    never in a directory that others can write. They fit the processor that compiled them; with NUMBA_CPU_NAME=generic
    they fit every processor of its family.
    """
    from indistinct.cli.kernels import warm_up

    with progress("compiling") as share:
        kept = warm_up(algorithm or (), progress=share)
    if as_json:
        print_json({"kernels": kept.kernels, "folders": list(kept.folders), "processor": kept.processor})
        return
    show(f"{kept.kernels} kernels are kept for the processor {kept.processor}")
