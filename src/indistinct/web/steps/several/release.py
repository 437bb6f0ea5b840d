"""The step `release` for several tables: the folder as an archive, each table, the certificate, report and policy."""

from pathlib import Path

from indistinct.web import parts
from indistinct.web.files import DOWNLOADS, key_of_downloads
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.steps.release import JOB_TO_GO_ON, WAITS, draw_download, draw_links, reservation
from indistinct.web.steps.several.chores import draw_tables_verdict, release_sentence, tables_release_of
from indistinct.web.tables_standing import judged_tables
from indistinct.web.tasks.published import PACKAGE
from indistinct.web.tasks.several import POLICY, REPORT

FOR_OTHERS = {"certificate": ("The certificate", "what was verified; small counts are hidden. Keep it with the tables")}
FOR_STEWARD = {
    POLICY: ("The policy", "makes the release again: put it next to the original tables, and run indistinct anonymize"),
    REPORT: (
        "The report",
        "verification against the originals, risk by known rows, attack and loss: do not pass it on",
    ),
    "project": (JOB_TO_GO_ON, "policy and decisions; no rows"),
}
TOGETHER = "All tables belong together: the same pseudonyms link them. A second release has other pseudonyms."


async def draw(screen: Screen) -> None:
    """Draw the verdict, and everything that can be taken."""
    session = screen.session
    made = tables_release_of(screen)
    if made is None:
        return
    verdict = draw_tables_verdict(screen, made)
    parts.say(release_sentence(made["certificate"]))
    judged = judged_tables(session, made)
    files: dict[str, Path] = {} if judged is None or session.refusals() else judged["files"]
    rests_on = key_of_downloads(session)
    if not session.is_fresh(DOWNLOADS, rests_on) or session.result(DOWNLOADS) != files:
        session.keep(DOWNLOADS, files, rests_on=rests_on)
    with parts.tag("div", classes="actions take"):
        if PACKAGE in files:
            reserved = reservation(verdict)
            text = f"Download all tables as {files[PACKAGE].name}{reserved}"
            draw_download(text, PACKAGE, classes="button large" if reserved else "main large")
        else:
            parts.say(WAITS, kind="hint").props["id"] = "waits"
    parts.say(TOGETHER, kind="hint")
    with parts.tag("div", classes="sides"):
        tables = {f"table-{name}": (Own(name), "one table of the release") for name in made["files"]}
        draw_links("For the recipient", {**tables, **FOR_OTHERS}, files)
        draw_links("For you alone", FOR_STEWARD, files, also="project")
