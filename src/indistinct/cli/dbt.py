"""`indistinct dbt`: the guarantee of a policy as tests that dbt runs in a warehouse."""

from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.output import write_text
from indistinct.cli.screen import note, print_json, show
from indistinct.errors import OutputError


def command(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy (.toml) whose models are tested.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder of the project's tests.")
    ] = Path("tests"),
    release: Annotated[
        Path | None,
        typer.Option("--release", metavar="FILE", help="A release of the policy, whose columns are tested."),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Write dbt tests that fail where a published table violates the privacy models of a policy.

    k-anonymity, alpha-k, distinct, entropy and recursive l-diversity, and t-closeness by equal distance are written as
    SQL for PostgreSQL, DuckDB, Snowflake, BigQuery and Databricks. The tests read the published table alone, as
    `verify` does without the original. Other models are refused by name.
    """
    from indistinct.job.dbt_tests import dbt_tests
    from indistinct.job.policy.reading import read_policy
    from indistinct.release.writing.places import check_targets
    from indistinct.tables import open_table

    columns = None if release is None else open_table(release, published=True).columns
    made = dbt_tests(read_policy(policy), columns=columns)
    folder = output if output.name == "generic" else output / "generic"
    paths = {folder / f"{test.name}.sql": test for test in made.tests}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make the folder {folder}: {error.strerror}", hint="name a folder of the project, such as -o tests"
        ) from None
    check_targets(paths, sources=[], overwrite=overwrite)
    for path, test in paths.items():
        write_text(path, test.text, overwrite=overwrite)
    for spec, reason in made.not_written.items():
        note(f"no test is written for {spec}: {reason}")
    if as_json:
        written = [{"name": test.name, "model": test.model, "path": str(path)} for path, test in paths.items()]
        print_json({"policy": str(policy), "tests": written, "not_written": dict(made.not_written)})
        return
    show("written", *(f"    {path}" for path in paths))
    show("\nadd them to the published model in its .yml:\n", "    data_tests:")
    show(*(f"      - {test.name}" for test in made.tests))
