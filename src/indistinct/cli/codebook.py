"""`indistinct codebook`: what the labels of a published file stand for, as a table or as JSON."""

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
    """Tell what every label of a published file stands for: the ends of ranges, members of sets, groups.

    The file alone is enough; columns that show labels are explained. Roles, from a policy or from flags, choose the
    quasi-identifiers, and hierarchies list the values of their groups. Files of SPSS and Stata are read with their
    value labels, and the codes of these stand beside them. Nothing of the original is read; it is noted how
    many values only a hierarchy has.
    """
    from indistinct.evaluation.codebook import check_form, intervals, text_of_codebook
    from indistinct.job.published import reading_of_release
    from indistinct.release.writing.places import check_targets

    if output is not None:
        check_form(output.suffix)
        check_targets([output], sources=[published], overwrite=overwrite)
    job = policy_of(published, flags, policy=policy, beside=OF_RELEASE)
    roles = job.schema if job.schema.columns else None
    reading = reading_of_release(job.input.reading, reading_of(flags))
    book = intervals(published, roles, hierarchies=job.used_hierarchies, reading=reading)
    if not len(book):
        note("no column of the file shows a label: values stand for themselves")
    if output is not None:
        write_text(output, text_of_codebook(book, output.suffix), overwrite=overwrite)
        labels, columns = plural(len(book), "label"), plural(len(book.columns), "column")
        note(f"{labels} of {columns} {'is' if len(book) == 1 else 'are'} explained in {output}")
    for column, unpublished in book.unpublished.items():
        verbs = (
            "stands in no cell of the file: it comes" if unpublished == 1 else "stand in no cell of the file: they come"
        )
        note(
            f"{plural(unpublished, 'value')} of {column!r} {verbs} from the hierarchy; "
            "give the codebook away only if that may be known"
        )
    if flags.as_json:
        print_json(
            {"file": str(published), "codebook": None if output is None else str(output), "columns": book.to_json()}
        )
    elif output is None:
        show(book.document())
