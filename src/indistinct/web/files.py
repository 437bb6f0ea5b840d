"""Files in and out: uploads stream into the private folder, and downloads come from it."""

import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.requests import ClientDisconnect

from indistinct.web.guard import SESSION
from indistinct.web.parts import too_large
from indistinct.web.project import UPLOADED, project_file
from indistinct.web.sessions import Session
from indistinct.web.standing import RELEASED
from indistinct.web.tables_standing import MADE
from indistinct.web.worker import TaskError

DOWNLOADS = "downloads"
"""Under this name a session keeps the files that may leave, by their kind."""
ANY = "application/octet-stream"
KINDS = ("table", "policy", "hierarchy", "external", "control", "earlier")
"""The files that can be uploaded: the job's own files, and what an attacker may have in addition to a release."""
ASSETS = Path(__file__).with_name("assets")
MAX_UPLOADS = 8
"""Uploads of one session at a time; a page sends one after another."""


def register(app: FastAPI) -> None:
    """Register the routes for assets, uploads and downloads."""
    app.mount("/assets", StaticFiles(directory=ASSETS))
    app.put("/upload/{kind}")(_upload)
    app.get("/download/{kind}")(_download)


async def _upload(request: Request, kind: str, name: str = "", folder: str = "", first: int = 0) -> Response:
    """Save an upload in the private folder; too large ones are refused before they are read.

    Several files of one table go into a `folder` of their own, which the `first` of them finds empty.
    """
    session: Session = request.scope[SESSION]
    most = session.settings.largest_upload
    if kind not in KINDS:
        return _refuse(404, "there is nothing to be uploaded here")
    if int(request.headers.get("content-length") or 0) > most:
        return _refuse(413, too_large(most))
    if session.uploads >= MAX_UPLOADS:
        return _refuse(429, f"{MAX_UPLOADS} uploads are running already; wait for one of them")
    session.uploads += 1
    try:
        return await _write_upload(request, session, kind, name=name, folder=folder, first=bool(first))
    finally:
        session.uploads -= 1


async def _write_upload(
    request: Request, session: Session, kind: str, *, name: str, folder: str, first: bool
) -> Response:
    """Write an upload to a temporary file, and rename it when it is complete."""
    most = session.settings.largest_upload
    into = session.folder / UPLOADED / kind
    target = into / safe_name(folder) if folder else into
    if folder and first:
        shutil.rmtree(target, ignore_errors=True)
    for each in (into.parent, into, target):
        each.mkdir(mode=0o700, exist_ok=True)
    path, part = target / safe_name(name), into / f".{secrets.token_hex(8)}"
    try:
        passed = await _receive(request, part, most=most)
        if passed is None:
            return _refuse(413, too_large(most))
        part.replace(path)  # two uploads of one name do not mix
    except OSError:
        return _refuse(507, "the file cannot be kept: there is not enough room on the disk of this machine")
    except ClientDisconnect:
        return _refuse(400, "the upload broke off")
    finally:
        part.unlink(missing_ok=True)
    return JSONResponse({"name": target.name if folder else path.name, "bytes": passed})


async def _receive(request: Request, path: Path, *, most: int) -> int | None:
    """Write the body of a request to a path and return its size; None if it is too large."""
    passed = 0
    with path.open("xb") as file:
        path.chmod(0o600)
        async for chunk in request.stream():
            passed += len(chunk)
            if passed > most:
                return None
            file.write(chunk)
    return passed


def safe_name(name: str) -> str:
    """Return a safe file name for an upload: the last part of its path, without control characters.

    >>> safe_name("../../etc/patients.csv")
    'patients.csv'
    """
    last = re.split(r"[/\\\\]", name)[-1]
    kept = re.sub(r"[\x00-\x1f\x7f]", "", last).lstrip(".").strip()
    # File systems limit names to this number of bytes; the end is kept, because it has the file type.
    return kept.encode()[-200:].decode(errors="ignore").lstrip(".") or "table.csv"


def uploaded_path(session: Session, kind: str, event: Mapping[str, Any]) -> Path:
    """Return the path of an upload that a browser names; always one of this session's uploads."""
    if not isinstance(event.get("name"), str):
        message = event.get("message")
        raise TaskError(message if isinstance(message, str) and message else "the upload was refused")
    return session.folder / UPLOADED / kind / safe_name(event["name"])


def _refuse(status: int, message: str) -> Response:
    """Return a refusal after which the connection ends, because an unread body would keep it open."""
    return JSONResponse({"message": message}, status_code=status, headers={"connection": "close"})


def _download(request: Request, kind: str) -> Response:
    """Return a file made by the release step, unless the job was changed since."""
    session: Session = request.scope[SESSION]
    if kind == "project":
        return _give_project(session)
    made: dict[str, Any] = session.result(DOWNLOADS) or {}
    if kind not in made or not Path(made[kind]).is_file() or not session.is_fresh(DOWNLOADS, key_of_downloads(session)):
        return _refuse(404, "this file is not there, or the job was changed since: look for it in the step release")
    if session.refusals():
        return _refuse(409, f"{session.refusals()[0].label} is not valid: correct the field, or leave it as it was")
    path = Path(made[kind])
    return FileResponse(path, headers={"content-disposition": attachment(path.name)}, media_type=ANY)


def _give_project(session: Session) -> Response:
    """Answer with the project file of the session."""
    try:
        name, content = project_file(session)
    except TaskError as error:
        return _refuse(404, error.message)
    return Response(content, headers={"content-disposition": attachment(name)}, media_type=ANY)


def key_of_downloads(session: Session) -> Any:
    """Return the key of downloads: they are outdated when the job or the published file changes."""
    if session.tables is not None:
        made = session.result(MADE)
        return session.tables.policy, None if made is None else made["folder"]
    made = session.result(RELEASED)
    return session.policy, None if made is None else made["certificate"]["output_digest"]


def attachment(name: str) -> str:
    """Return the header that makes a browser save a file under a name instead of showing it.

    >>> attachment("Größe.csv")
    "attachment; filename*=UTF-8''Gr%C3%B6%C3%9Fe.csv"
    """
    return f"attachment; filename*=UTF-8''{quote(safe_name(name), safe='')}"


def allowed_path(session: Session, given: str, *, folders: bool = False) -> Path:
    """Resolve a path that a steward typed; it must be inside the folder of the server."""
    folder = session.settings.folder
    if not given.strip():
        raise TaskError("name a file", hint=FROM_FOLDER)
    try:
        path = (folder / given.strip()).resolve()
    except (OSError, ValueError, RuntimeError):
        raise TaskError("this is no path of a file", hint="check how it is written") from None
    if not path.is_relative_to(folder):
        raise TaskError(
            "this path leads out of the folder that the server may read",
            hint=f"it may read {folder}; start it with --folder for another one",
        )
    if path.is_dir() and not folders:
        raise TaskError("this is a folder", hint="name one file in it")
    return path


FROM_FOLDER = "a path from the folder in which the server was started"
