"""`indistinct serve`: the page for stewards who do not program."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli.options import Json
from indistinct.document.catalogue import require_language
from indistinct.errors import InputError, MissingExtraError, ParameterError


def command(
    port: Annotated[int, typer.Option("--port", metavar="N", help="Port to listen on; by default any free one.")] = 0,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDRESS", help="Address to listen on; 0.0.0.0 in a container, else the loopback address."
        ),
    ] = "127.0.0.1",
    demo: Annotated[bool, typer.Option("--demo", help="Start with a table of invented patients.")] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the web app in a browser.")] = True,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Folder whose files can be opened by path.")
    ] = Path(),
    largest_upload: Annotated[
        float, typer.Option("--largest-upload", metavar="GB", help="Size limit of an upload, in gigabytes.")
    ] = 2.0,
    jobs: Annotated[
        Path | None,
        typer.Option("--jobs", metavar="DIR", help="Private folder where decisions are saved."),
    ] = None,
    save: Annotated[
        bool,
        typer.Option(
            "--save/--no-save",
            help="Save decisions; rows are saved only if 'Save a copy of the table with the job' is ticked.",
        ),
    ] = True,
    idle: Annotated[
        float, typer.Option("--idle", metavar="HOURS", help="End sessions that were not used for this long.")
    ] = 4.0,
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="LANGUAGE", help="Language of the web app: en, de. Default: the browser's."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Serve the web app on this machine, and print the address that opens it.

    It listens on the loopback address only. In a container, --host 0.0.0.0 lets the published port reach it; it still
    answers only browsers that ask for the loopback address. The token in the address opens it once; another address is
    printed for another browser.

    Uploads are kept in a private folder that is removed at the end. Decisions are saved where only you can read them,
    and are there at the next start. Stop with Ctrl-C.
    """
    try:
        from indistinct.web.saving import Shelf, usual_place
        from indistinct.web.server import GIGABYTE, Address, address_to_json, check_host, serve
        from indistinct.web.sessions import Settings
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), extra="web", purpose="the web app") from None
    if not 0 <= port < 1 << 16:
        raise ParameterError(f"a port is a number from 1 to 65535; got {port}", hint="leave it out to take a free one")
    check_host(host)
    if language is not None:
        require_language(language)
    if not 0 < largest_upload < float("inf"):
        raise ParameterError("the largest upload must be more than 0 gigabytes", hint="--largest-upload 2")
    if not 0 < idle < float("inf"):
        raise ParameterError("a session ends after more than 0 hours", hint="--idle 4")
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", hint="name a folder that is there with --folder")

    def started(address: Address) -> None:
        if as_json:
            sys.stdout.write(address_to_json(address) + "\n")
        else:
            # Other messages hide the token; this one is there to show it.
            sys.stdout.write(f"The web app is at {address.url}\nThe address opens it once. Stop with Ctrl-C.\n")
        sys.stdout.flush()
        if browser:
            import webbrowser

            webbrowser.open(address.url)

    def entered(address: Address) -> None:
        sys.stderr.write(f"opened; for another browser: {address.url}\n")

    shelf = Shelf((jobs or usual_place()) if save else None)
    settings = Settings(folder.resolve(), int(largest_upload * GIGABYTE), demo, shelf, idle * 3600, language)
    serve(settings, host=host, port=port, started=started, entered=entered)
