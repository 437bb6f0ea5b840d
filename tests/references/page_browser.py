"""A real browser on the page: Chromium, driven through its own driver, without any request to anywhere else."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from references.page_server import NO_ROOM, PATIENCE, PageServer

STEPS = ("open", "columns", "hierarchies", "privacy", "search", "explore", "risk", "release")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--lang=en-US",
)


class NoBrowserError(Exception):
    """There is no browser here; the words say what is missing."""


@contextmanager
def running_browser(downloads: str) -> Iterator[webdriver.Chrome]:
    """Give a browser without a window that saves downloads in a folder."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        missing = " and ".join(
            [*(["Chromium"] if program is None else []), *(["chromedriver"] if driver is None else [])]
        )
        raise NoBrowserError(f"{missing} cannot be found: on Debian, apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": downloads})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


class Page:
    """One steward in front of the page. What is looked for is waited for, because the page is drawn in steps."""

    def __init__(self, chrome: webdriver.Chrome, server: PageServer) -> None:
        self.chrome, self.server = chrome, server

    def enter(self) -> None:
        """Open the page with a new token, as a new browser would; wait where the server has no room yet."""
        self.leave()
        address = self.server.address
        self.chrome.get(address)
        self.wait("the first step", lambda: self._is_in(address))

    def _is_in(self, address: str) -> bool:
        """Return whether the first step is drawn; a browser that the server had no room for tries again."""
        if self.script("return performance.getEntriesByType('navigation')[0].responseStatus") == NO_ROOM:
            time.sleep(1)
            self.chrome.get(address)
        return bool(self.script("return !!document.querySelector('#file')"))

    def leave(self) -> None:
        """Forget every cookie."""
        self.chrome.execute_cdp_cmd("Network.clearBrowserCookies", {})

    def at(self, step: str) -> None:
        """Go to a step by its address, and wait until it is drawn."""
        self.chrome.get(f"http://{self.server.host}/{step}")
        self.drawn()

    def drawn(self) -> None:
        """Wait until the step is drawn."""
        self.wait("the step", lambda: self.script("return !!document.querySelector('.step > div:not([hidden])')"))
        self.wait("no work", lambda: not self.script("return !!document.querySelector('.work')"))

    def script(self, code: str, *arguments: Any) -> Any:
        return self.chrome.execute_script(code, *arguments)

    def wait(self, what: str, is_so: Any, *, patience: float = PATIENCE) -> Any:
        """Return what becomes true; an element that is drawn anew meanwhile is looked for again."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            with suppress(WebDriverException):
                found = is_so()
                if found:
                    return found
            time.sleep(0.03)
        raise AssertionError(f"waited in vain for {what}; the page says: {self.text[:2000]}")

    @property
    def text(self) -> str:
        """Everything that can be read."""
        return self.script("return document.body.innerText")

    def wait_for(self, text: str, *, patience: float = PATIENCE) -> None:
        self.wait(repr(text), lambda: text in self.text, patience=patience)

    def find(self, name: str) -> WebElement:
        """Return the element of an id."""
        return self.wait(f"#{name}", lambda: self.chrome.find_element(By.ID, name))

    def has(self, name: str) -> bool:
        return bool(self.script("return !!document.getElementById(arguments[0])", name))

    def click(self, name: str) -> None:
        def clicked() -> bool:
            element = self.chrome.find_element(By.ID, name)
            if not element.is_enabled():
                return False
            self.script("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()
            return True

        self.wait(f"#{name} to be clicked", clicked)

    def write(self, name: str, text: str) -> None:
        """Write over what stands in a field, as people do, and leave it.

        Clearing it first would leave it empty for a moment, which the page answers while the text is being typed.
        """

        def written() -> bool:
            element = self.chrome.find_element(By.ID, name)
            element.send_keys(Keys.CONTROL + "a")
            element.send_keys(*([text] if text else [Keys.DELETE]), Keys.TAB)
            return True

        self.wait(f"#{name} to be written into", written)

    def choose(self, name: str, value: str) -> None:
        """Choose from a list."""

        def chosen() -> bool:
            element = self.chrome.find_element(By.ID, name)
            option = element.find_element(By.CSS_SELECTOR, f'option[value="{value}"]')
            option.click()
            return True

        self.wait(f"#{name} to be chosen from", chosen)

    def upload(self, path: Any, *, name: str = "file") -> None:
        self.wait("the field of the file", lambda: self.chrome.find_element(By.ID, name).send_keys(str(path)) is None)

    def error_at(self, name: str) -> str:
        """Return the error that is shown at a field; a screen reader finds it from there."""

        def told() -> str:  # in one look: what is drawn anew meanwhile is looked at again
            text = self.chrome.find_element(By.ID, f"{name}-error").text
            described = self.chrome.find_element(By.ID, name).get_attribute("aria-describedby") or ""
            return text if f"{name}-error" in described.split() else ""

        return self.wait(f"an error at #{name} that the field names", told)

    def value(self, name: str) -> str:
        """Return what stands in a field."""
        return self.wait(f"#{name}", lambda: (self.chrome.find_element(By.ID, name).get_attribute("value") or "",))[0]

    def demo(self) -> None:
        """Open the invented patients."""
        self.click("demo")
        self.wait_for("Rows 1 to")
        self.drawn()

    def looks(self, *, width: int = 1280, dark: bool = False) -> None:
        """Look at the page with a window so wide, by day or by night."""
        told = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", told)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def barriers(self) -> list[str]:
        """Return what axe-core finds that keeps people out: serious and critical, with the elements."""
        if not self.script("return !!window.axe"):
            self.script(files("axe_core_python").joinpath("axe.min.js").read_text())
        found = self.chrome.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations))"
        )
        return [
            f"{each['id']}: {node['target']} {node.get('failureSummary', '')}"
            for each in found
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]

    def complaints(self) -> list[str]:
        """Return what the browser wrote to its console as severe since it was last asked."""
        return [each["message"] for each in self.chrome.get_log("browser") if each["level"] == "SEVERE"]


def focused(page: Page) -> str:
    """Return what has the focus: the text of a link, or else its id."""
    return page.script("const e = document.activeElement; return e.matches('a') ? e.textContent.trim() : e.id")
