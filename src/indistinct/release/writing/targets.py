"""Where a release goes: checked before any algorithm runs, so that nobody waits for a refusal."""

from collections.abc import Iterable
from pathlib import Path

from indistinct.errors import OutputError
from indistinct.release.writing.formats import FORMATS
from indistinct.release.writing.staging import check_target
from indistinct.tables.addresses import address_of, name_of, without_credentials


def check_targets(targets: Iterable[Path], *, sources: Iterable[Path], overwrite: bool) -> None:
    """Raise `OutputError` if a target is a source, is named twice, or cannot be put at its path."""
    wanted, read = list(targets), list(sources)
    for index, destination in enumerate(wanted):
        if any(_same(destination, source) for source in read):
            raise OutputError(
                f"{without_credentials(destination)} is also read: the output would replace the input",
                hint="choose another path; --overwrite does not allow this",
            )
        if any(_same(destination, other) for other in wanted[:index]):
            raise OutputError(f"{without_credentials(destination)} is named for two outputs", hint="choose two paths")
        check_target(destination, overwrite=overwrite)


def check_format(destination: Path) -> None:
    """Raise `OutputError` if the suffix names no format that a table can be written in."""
    address = address_of(destination)
    suffix = destination.suffix if address is None else Path(name_of(address)).suffix
    if suffix.lower() not in FORMATS:
        raise OutputError(
            f"{without_credentials(destination)}: the suffix {suffix!r} does not say in which format to write"
            if suffix
            else f"{without_credentials(destination)}: there is no suffix to say in which format to write",
            hint=f"end the name in one of {', '.join(FORMATS)}",
        )


def _same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, also through links."""
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()
