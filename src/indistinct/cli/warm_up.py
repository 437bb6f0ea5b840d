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
    """Compile every kernel now, so that the first run need not.

    Kernels are kept in NUMBA_CACHE_DIR if that is set, else in the user's cache directory, else beside the package;
    never in a directory that others can write. They serve the processor that compiled them; NUMBA_CPU_NAME=generic
    for this command alone makes them serve any of its family.
    """
    from indistinct.cli.kernels import warm_up

    with progress("compiling") as share:
        kept = warm_up(algorithm or (), progress=share)
    if as_json:
        print_json({"kernels": kept.kernels, "folders": list(kept.folders), "processor": kept.processor})
        return
    show(f"{kept.kernels} kernels are kept for the processor {kept.processor}")
