"""`indistinct codebook`: what the labels of a published file mean, as a table or as JSON."""

from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import policy_of, reading_of
from indistinct.cli.options import OF_RELEASE, READING, ROLES, SCREEN, Flags, share_options
from indistinct.cli.output import write_text
from indistinct.cli.screen import note, print_json, show
from indistinct.figures import plural


@share_options(*ROLES, "hierarchy", *READING, *SCREEN)
def command(
    published: Annotated[Path, typer.Argument(metavar="FILE", help="The published file, of any tool.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write: .csv or .json.")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """List what each label of a published file covers: the ends of ranges, the members of sets and groups.

    The file alone is enough: every column with labels is explained. Roles, from a policy or from flags, limit the
    codebook to quasi-identifiers; hierarchies add the members of groups. For SPSS and Stata files it shows codes next
    to value labels. The original is not read; a note gives the number of values that only a hierarchy has.
    """
    from indistinct.evaluation.codebook import check_form, intervals, text_of_codebook
    from indistinct.job.published import reading_of_release
    from indistinct.release.writing.places import check_targets

    if output is not None:
        check_form(output.suffix)
        check_targets([output], sources=[published], overwrite=overwrite)
    job = policy_of(published, flags, policy=policy, allowed=OF_RELEASE)
    roles = job.schema if job.schema.columns else None
    reading = reading_of_release(job.input.reading, reading_of(flags))
    book = intervals(published, roles, hierarchies=job.used_hierarchies, reading=reading)
    if not len(book):
        note("no column of the file has a generalized label: all values are unmodified")
    if output is not None:
        write_text(output, text_of_codebook(book, output.suffix), overwrite=overwrite)
        labels, columns = plural(len(book), "label"), plural(len(book.columns), "column")
        note(f"{labels} of {columns} {'is' if len(book) == 1 else 'are'} explained in {output}")
    for column, unpublished in book.unpublished.items():
        verbs = "is in no cell of the file: it comes" if unpublished == 1 else "are in no cell of the file: they come"
        note(
            f"{plural(unpublished, 'value')} of {column!r} {verbs} from the hierarchy; "
            "share the codebook only if readers may know them"
        )
    if flags.as_json:
        print_json(
            {"file": str(published), "codebook": None if output is None else str(output), "columns": book.to_json()}
        )
    elif output is None:
        show(book.document())
