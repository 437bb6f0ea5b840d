"""Take the pictures of `page.md`: `python docs/guides/page_pictures.py` drives the page on its invented patients."""

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from references.page_browser import STEPS, Page, running_browser  # noqa: E402
from references.page_server import running_page  # noqa: E402

# The folder of this run says nothing to a reader.
PLAIN = "document.querySelectorAll('#path-hint').forEach(each => each.textContent = 'Inside your folder')"


def main() -> None:
    """Write a picture of each step beside the guide."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with (
            running_page(root / "data", "--demo", temporary=root / "temporary") as server,
            running_browser(folder) as chrome,
        ):
            page = Page(chrome, server)
            page.looks()
            page.enter()
            page.wait_for("Rows 1 to")
            page.drawn()
            for step in STEPS:
                page.at(step)
                _do(page, step)
                page.script("window.scrollTo(0, 0); document.activeElement.blur()")
                page.script(PLAIN)
                chrome.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
                chrome.save_screenshot(str(HERE / f"page-{step}.png"))


def _do(page: Page, step: str) -> None:
    """Do what a step is for, where that takes a while, and wait until it is all there."""
    if step == "open":
        for answer in ("who-public", "shape-least"):
            page.click(answer)
            page.wait(answer, lambda answer=answer: page.find(answer).is_selected())
    if step == "columns":
        page.click("column-age")
        drawn = "return document.querySelectorAll('.column-picture svg').length > 0"
        page.wait("the picture of a column", lambda: page.script(drawn))
    if step == "search":
        page.click("search")
        page.wait_for("k reached", patience=120)
        page.wait("what follows", lambda: not page.has("chores"))
    page.drawn()


if __name__ == "__main__":
    main()
