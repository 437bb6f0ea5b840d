"""The frame of the page in a real browser: reload, back, undo, two tabs, the keyboard, and people who see little."""

import pyarrow.csv
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from indistinct.samples import generate_patients
from references.page_browser import STEPS, focused


def test_the_browser_is_told_nothing_that_it_could_keep(demo):
    assert demo.script("return document.cookie") == ""
    assert demo.script("return Object.keys(localStorage)") == []
    kept = demo.script("return JSON.stringify(sessionStorage)")
    assert "patients" not in kept
    assert "token" not in demo.chrome.current_url


def test_reload_keeps_what_was_done(demo):
    demo.wait_for("Rows 1 to")
    before = demo.find("step").text
    demo.chrome.refresh()
    demo.wait_for("Rows 1 to")
    demo.wait("the same again", lambda: demo.find("step").text == before)


def test_every_step_has_an_address_and_back_leads_back(demo):
    demo.complaints()
    for step in STEPS:
        demo.at(step)
        # In one script: the page may be drawn anew between two questions.
        current = "[...document.querySelectorAll('nav a[aria-current=step]')].map((link) => link.href)"
        links, heading = demo.script(f"return [{current}, document.querySelector('h1').textContent]")
        assert [link.endswith(f"/{step}") for link in links] == [True]
        assert heading.strip()
        assert len(demo.chrome.find_elements(By.CSS_SELECTOR, "main:not([role=none])")) == 1
        assert "5,000" in demo.script("return document.querySelector('dl.strip').innerText")
    demo.chrome.back()
    demo.drawn()
    assert demo.chrome.current_url.endswith(f"/{STEPS[-2]}")
    assert demo.complaints() == []


@pytest.mark.parametrize("step", STEPS)
def test_nobody_is_kept_out(demo, step):
    demo.at(step)
    for width in (1280, 390):
        for dark in (False, True):
            demo.looks(width=width, dark=dark)
            assert demo.barriers() == [], f"at {width} pixels, {'dark' if dark else 'light'}"
        reach = "return ['header', '.strip'].map(each => document.querySelector(each).getBoundingClientRect().width)"
        assert demo.script(reach) == [demo.script("return document.documentElement.clientWidth")] * 2
        beside = demo.script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beside <= 0, f"wider than {width} pixels"


def press(page, key):
    ActionChains(page.chrome).send_keys(key).perform()


def test_the_keyboard_alone_reaches_everything(demo):
    demo.script("document.activeElement.blur()")
    press(demo, Keys.TAB)
    assert focused(demo) == "Skip to the step"
    reached = []
    for _ in range(40):
        press(demo, Keys.TAB)
        reached.append(focused(demo))
        if reached[-1] == "Go on to columns":
            break
    assert reached[:8] == [step.capitalize() for step in STEPS]
    assert reached[8] in ("undo", "as-code")
    assert {"who-public", "shape-same"} <= set(reached)
    shown = demo.script("return getComputedStyle(document.activeElement).outlineStyle")
    assert shown != "none"
    press(demo, Keys.ENTER)
    demo.wait("the next step", lambda: demo.chrome.current_url.endswith("/columns"))
    demo.drawn()


def test_whoever_skips_is_at_the_step(demo):
    press(demo, Keys.TAB)
    press(demo, Keys.ENTER)
    demo.wait(
        "the step to have the focus", lambda: focused(demo) == "step" or demo.chrome.current_url.endswith("#step")
    )
    press(demo, Keys.TAB)
    inside = "return document.activeElement.closest('#step') !== null"
    assert demo.wait("a control of the step", lambda: demo.script(inside))


def record_focus(page):
    """Let the browser note what has the focus after each change of the page, before anything else can run."""
    page.script(
        "window.noted = []; new MutationObserver(() => window.noted.push(document.activeElement.id))"
        ".observe(document.documentElement, {childList: true, subtree: true, attributes: true})"
    )


def test_a_step_that_is_drawn_anew_never_loses_the_focus(page):
    page.demo()
    page.at("privacy")
    record_focus(page)
    field = page.find("suppression")
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys("3", Keys.ENTER)
    page.wait("the step anew", lambda: page.find("suppression") != field)
    page.wait("the way back", lambda: page.find("undo").is_enabled())
    assert set(page.script("return window.noted")) == {"suppression"}


def test_a_button_that_goes_with_its_work_leaves_the_focus_to_the_one_that_began_it(page, tmp_path):
    large = tmp_path / "large.csv"
    pyarrow.csv.write_csv(generate_patients(12_000, seed=1), large)
    page.upload(large)
    page.wait_for("Rows 1 to")
    page.at("search")
    page.find("search").send_keys(Keys.ENTER)
    page.find("stop").send_keys(Keys.ENTER)
    page.wait_for("stopped")
    page.wait("the focus where the search began", lambda: focused(page) == "search")


def test_an_error_calls_back_to_its_field(page):
    page.demo()
    page.at("privacy")
    page.write("suppression", "2 or 3")
    assert page.error_at("suppression")
    page.wait("the field to have the focus", lambda: focused(page) == "suppression")


def test_the_job_is_shown_as_code_and_can_be_copied(demo):
    demo.chrome.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": f"http://{demo.server.host}"},
    )
    demo.find("as-code").send_keys(Keys.ENTER)
    policy = demo.wait("the policy", lambda: demo.find("code-policy").text)
    assert "[input]" in policy
    assert demo.script("return document.getElementById('code').open")
    assert demo.barriers() == []
    demo.click("code-policy-copy")
    read = "const done = arguments[0]; navigator.clipboard.readText().then(done, e => done('' + e))"
    demo.wait("a copy", lambda: demo.chrome.execute_async_script(read).strip() == policy.strip())
    press(demo, Keys.ESCAPE)
    demo.wait("the dialog to be gone", lambda: not demo.has("code"))
    demo.wait("the focus to be back", lambda: focused(demo) == "as-code")
    demo.click("as-code")
    demo.click("code-close")
    demo.wait("the dialog to be gone", lambda: not demo.has("code"))


def test_bad_input_is_told_at_its_field(page, tmp_path):
    folder = page.server.folder
    (folder / "outside").unlink(missing_ok=True)
    (tmp_path / "secret.csv").write_text("name\nErika Mustermann\n")
    (folder / "outside").symlink_to(tmp_path)
    (folder / "no-table.csv").write_bytes(b"PK\x03\x04\x00\xff\xfe Erika Mustermann")
    told = {
        "": "name a file",
        "../../etc/passwd": "leads out of the folder",
        "/etc/passwd": "leads out of the folder",
        "outside/secret.csv": "leads out of the folder",
    }
    for path, message in told.items():
        page.write("path", path)
        page.click("open-path")
        page.wait(message, lambda m=message: m in page.error_at("path"))
    for path in ("nowhere.csv", "no-table.csv", "a\x00b.csv"):
        page.write("path", path.replace("\x00", ""))
        page.click("open-path")
        page.wait("an error", lambda: page.chrome.find_elements(By.CSS_SELECTOR, "[role=alert]"))
        assert "Mustermann" not in page.text


def test_a_file_that_is_too_large_is_refused_before_it_is_sent(page, tmp_path):
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(5 * 10**9)  # it takes no room
    page.upload(large)
    assert "larger than 0.001 GB" in page.error_at("file")


def test_a_file_that_is_no_table_is_told_and_nothing_is_lost(page, tmp_path):
    page.demo()
    page.at("open")
    (tmp_path / "nonsense.parquet").write_bytes(b"Erika Mustermann\x00" * 100)
    page.upload(tmp_path / "nonsense.parquet")
    page.wait("an error", lambda: page.chrome.find_elements(By.CSS_SELECTOR, "[role=alert]"))
    assert "Mustermann" not in page.text
    page.at("open")
    page.wait_for("Rows 1 to")


HOSTILE = (
    "<img src=x onerror=window.planted=1>,<script>window.planted=2</script>,"
    '{{constructor.constructor(\'window.planted=3\')()}},"a""><svg onload=window.planted=4>"\n'
)


def test_what_is_in_a_table_is_text(page, tmp_path):
    cells = "<b onclick=window.planted=5>x</b>,</script><script>window.planted=6</script>,{{7*7}}x,`${8*8}`\n"
    name = "<img src=x onerror=window.planted=9>.csv"
    (tmp_path / name).write_text(HOSTILE + cells * 3)
    page.upload(tmp_path / name)
    page.wait_for("Rows 1 to")
    assert "{{7*7}}x" in page.text
    assert "<b onclick=window.planted=5>x</b>" in page.text
    for step in STEPS:
        page.at(step)
        assert page.script("return window.planted ?? null") is None
        assert b"planted" not in page.server.ask("GET", f"/{step}", cookie=cookie(page)).body
    page.click("as-code")
    page.find("code-policy")
    assert page.script("return window.planted ?? null") is None


def test_what_is_in_a_release_is_text(page, tmp_path):
    lines = [HOSTILE.strip().replace("\n", "")]
    for place in range(120):
        sex, ill = ("<b onclick=window.planted=5>x</b>", "</script><script>window.planted=6</script>")[
            :: 1 - 2 * (place % 2)
        ]
        lines.append(f"{20 + place % 40},{sex},{{{{7*7}}}}{place % 2},{ill}")
    (tmp_path / "hostile.csv").write_text("\n".join(lines) + "\n")
    page.upload(tmp_path / "hostile.csv")
    page.wait_for("Rows 1 to")
    page.click("who-internal")
    page.wait("the answer", lambda: page.find("who-internal").is_selected() and page.find("undo").is_enabled())
    page.at("search")
    page.click("search")
    page.wait("a release", lambda: "k reached" in page.text)
    page.wait("what follows", lambda: not page.has("chores"))
    for step in STEPS:
        page.at(step)
        assert page.script("return window.planted ?? null") is None
        assert page.script("return document.querySelectorAll('#step [onclick], #step img, #step script').length") == 0
    page.at("release")
    assert page.has("take-report")


def test_a_new_verdict_is_shown_from_its_beginning(page):
    page.demo()
    page.click("who-public")
    page.wait("the answer", lambda: page.find("who-public").is_selected() and page.find("undo").is_enabled())
    page.looks(width=390)
    page.at("search")
    page.click("search")
    page.wait("a verdict", lambda: page.has("verdict-0-0") and not page.has("chores"))
    page.script("scrollTo(0, document.body.scrollHeight)")
    before = page.find("verdict").text
    page.script("document.getElementById('verdict-0-0').click()")
    page.wait("another verdict", lambda: page.find("verdict").text != before)
    top = "return document.getElementById('verdict').getBoundingClientRect().top"
    page.wait("its beginning", lambda: 0 <= page.script(top) < page.script("return innerHeight * 0.75"))
    page.script("scrollTo(0, document.body.scrollHeight)")
    page.script("document.querySelector('#step a.main').click()")
    page.wait("the next step", lambda: page.chrome.current_url.endswith("/release"))
    page.drawn()
    assert page.script("return scrollY") == 0, "a step begins at its top"


def cookie(page):
    [found] = page.chrome.get_cookies()
    return f"{found['name']}={found['value']}"


def test_a_field_that_is_not_valid_keeps_its_text_and_nothing_runs(page):
    page.demo()
    page.at("privacy")
    # A field that is cleared before it is written into says so for a moment.
    page.write("model-0-k", "20,")
    page.wait("the reason", lambda: "whole number" in page.error_at("model-0-k"))
    page.write("suppression", "2 or 3")
    page.wait("the reason", lambda: "not a number" in page.error_at("suppression"))
    page.at("search")
    page.wait_for("Nothing is searched, assessed or prepared until this is valid")
    page.wait("an action that waits", lambda: not page.find("search").is_enabled())
    page.at("privacy")
    assert page.value("model-0-k") == "20,", "it stays until it is corrected"
    assert "whole number" in page.error_at("model-0-k")
    page.write("suppression", "2")
    page.wait("one error left", lambda: not page.has("suppression-error"))
    page.write("model-0-k", "7")
    page.wait("no error", lambda: not page.has("not-valid"))
    page.at("search")
    page.wait("the action", lambda: page.find("search").is_enabled())
    page.wait("the new k", lambda: "k asked\n7" in page.text)


@pytest.mark.parametrize("way", ["undo", "leave-as-it-was"])
def test_what_was_typed_can_be_taken_back(page, way):
    page.demo()
    page.at("privacy")
    before = page.value("model-0-k")
    page.write("model-0-k", "x")
    page.wait("the reason", lambda: "whole number" in page.error_at("model-0-k"))
    page.at("search")
    page.wait("the notice", lambda: page.has("not-valid"))
    page.click(way)
    page.wait("the action", lambda: not page.has("not-valid") and page.find("search").is_enabled())
    page.at("privacy")
    assert page.value("model-0-k") == before


def test_a_number_that_bounds_a_column_is_not_dropped_by_a_typing_error(page):
    page.demo()
    page.at("columns")
    page.choose("role-age", "insensitive")
    page.click("column-age")
    page.wait("its details", lambda: page.has("publish-age"))
    page.click("publish-age")
    page.choose("way-age", "numbers")
    page.write("top-age", "60")
    page.wait("the bound", lambda: "before," in page.text)
    page.write("top-age", "6o")
    page.wait("the reason", lambda: "must be a number" in page.error_at("top-age"))
    page.at("hierarchies")
    page.wait("the notice", lambda: "age: top-code at" in page.text)
    page.at("search")
    page.wait("the notice", lambda: page.has("not-valid"))
    page.wait("an action that waits", lambda: not page.find("search").is_enabled())
