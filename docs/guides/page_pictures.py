"""Take the pictures of `web-app.md`: `python docs/guides/page_pictures.py` drives the page on its invented patients."""

import sys
import tempfile
from base64 import b64decode
from pathlib import Path

from selenium.webdriver.remote.webdriver import WebDriver

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from references.page_browser import STEPS, Page, running_browser  # noqa: E402
from references.page_server import running_page  # noqa: E402

DROP_COST = "decide-0-2"
README_PICTURE = HERE.parent / "pictures" / "web-app.png"
README_HEIGHT = 470
"""The upper part of the last step, in pixels: down to the button that downloads the release."""
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
                if step == "release":
                    save_upper_part(chrome, README_PICTURE)
                if step == "columns":  # as the guide does: the cost to the cent is dropped
                    page.click(DROP_COST)
                    page.wait("the decision", lambda: not page.has(DROP_COST))


def save_upper_part(chrome: WebDriver, target: Path) -> None:
    """Write a picture of the upper part of what is drawn."""
    clip = {"x": 0, "y": 0, "width": 1280, "height": README_HEIGHT, "scale": 1}
    taken = chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
    target.write_bytes(b64decode(taken["data"]))


def _do(page: Page, step: str) -> None:
    """Do what a step is for, where that takes a while, and wait until it is all there."""
    if step == "open":
        for answer in ("who-public", "shape-same"):
            page.click(answer)
            page.wait(answer, lambda answer=answer: page.find(answer).is_selected())
    if step == "columns":
        page.click("column-age")
        drawn = "return document.querySelectorAll('.column-picture svg').length > 0"
        page.wait("the picture of a column", lambda: page.script(drawn))
    if step == "search":
        page.click("search")
        page.wait_for("k reached", patience=120)
        page.wait("what follows", lambda: not page.has("chores") and "Checking " not in page.text, patience=400)
    page.drawn()


if __name__ == "__main__":
    main()
