"""The whole path in a real browser: from a file to downloads that the command line verifies."""

import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from indistinct.cli import main
from indistinct.samples import generate_patients
from references.arx_projects import clinic_project
from references.page_browser import Page
from references.page_server import PATIENCE, running_page, wait_for
from references.sheets import spreadsheet

EXAMPLES = Path(__file__).parents[2] / "examples"


def patients(folder):
    path = folder / "patients.csv"
    pyarrow.csv.write_csv(generate_patients(5_000, seed=2026), path)
    return path


def hospital(folder):
    subprocess.run([sys.executable, EXAMPLES / "hospital.py", folder], check=True, capture_output=True)
    return folder / "june.csv"


def go_on(page, step):
    """Follow the one main link of a step."""
    page.wait(
        f"the way to {step}",
        lambda: page.chrome.find_element(By.CSS_SELECTOR, f"#step a.main[href='/{step}']").click() is None,
    )
    page.wait(step, lambda: page.chrome.current_url.endswith(f"/{step}"))
    page.drawn()


def standing(page):
    return page.script("return document.querySelector('dl.strip').innerText").replace("\n", " ")


def verdict(page):
    """Return the one sentence that is said of the release."""
    return page.wait(
        "the verdict", lambda: page.script("return document.querySelector('#verdict .sentence').innerText")
    )


def judged(page):
    """Wait until every check of a release has its answer; other solutions and reports may still follow."""
    running = "return document.querySelector('#chores')?.innerText ?? ''"

    def is_judged():
        left = page.script(running)
        return "Risk:" not in left and "Attacks:" not in left and "Checking " not in verdict(page)

    page.wait("all checks", is_judged, patience=4 * PATIENCE)


def settled(page):
    """Wait until nothing follows any more by itself, which takes a minute where nothing else runs."""
    page.wait("what follows", lambda: not page.has("chores") and "Checking " not in page.text, patience=4 * PATIENCE)


def taken(page, kind, folder):
    """Return a file that is offered; whoever else is in gets nothing of it."""
    [cookie] = page.chrome.get_cookies()
    address = page.find(f"take-{kind}").get_attribute("href").partition(page.server.host)[2]
    answer = page.server.ask("GET", address, cookie=f"{cookie['name']}={cookie['value']}")
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    assert page.server.ask("GET", address, cookie=page.server.cookie).status == 404
    assert page.server.ask("GET", address).status == 403
    path = folder / answer.headers["content-disposition"].rpartition("''")[2]
    path.write_bytes(answer.body)
    return path


@pytest.mark.parametrize("table", [patients, hospital])
def test_from_upload_to_a_release_that_the_command_line_verifies(page, tmp_path, capsys, table):
    source = table(tmp_path)
    page.upload(source)
    page.wait_for("Rows 1 to")
    page.drawn()
    page.click("who-public")
    page.wait("the answer", lambda: page.find("who-public").is_selected() and page.find("undo").is_enabled())
    page.click("shape-least")
    page.wait("both answers", lambda: page.find("shape-least").is_selected() and page.find("who-public").is_selected())
    go_on(page, "columns")
    page.click("find")
    page.wait("the search", lambda: page.chrome.current_url.endswith("/search"))
    page.wait("a release", lambda: "k reached" in standing(page))
    page.drawn()
    reached = standing(page).partition(" verdict ")[0]
    page.chrome.refresh()
    page.wait("the same after a reload", lambda: reached in standing(page))
    assert page.barriers() == []
    go_on(page, "release")
    page.find("take-table")  # when every check has an answer, while reports are still being written
    page.find("take-package")
    settled(page)
    assert page.barriers() == []
    said = verdict(page)
    assert said in standing(page)
    for step in ("search", "explore", "risk"):
        page.at(step)
        assert verdict(page) == said
        assert page.barriers() == []
    page.at("explore")
    move_slider(page)
    page.at("release")
    out = tmp_path / "taken"
    out.mkdir()
    release, policy = taken(page, "table", out), taken(page, "policy", out)
    capsys.readouterr()
    assert main(["verify", str(release), "--policy", str(policy), "--original", str(source)]) == 0
    assert "The privacy guarantee is satisfied" in capsys.readouterr().out
    saves = {"behavior": "allow", "downloadPath": str(tmp_path / "saved")}
    page.chrome.execute_cdp_cmd("Browser.setDownloadBehavior", saves)
    page.click("take-table")
    [saved] = wait_for(lambda: list((tmp_path / "saved").glob("*.csv")), "the download")
    assert saved.read_bytes() == release.read_bytes()


def move_slider(page):
    """Move the slider by keys, by its end keys and by a click on a point: slider, words and panel agree."""
    slider, last = "return document.getElementById('solution-slider')", 0

    def agree(at):
        place, words = page.script(f"{slider}.value"), page.script(f"{slider}.getAttribute('aria-valuetext')")
        shown = page.script("return document.querySelector('#solution .sentence').innerText")
        pressed = page.script("return document.querySelector('#front [aria-pressed=true]').dataset.pick")
        return place == pressed == str(at) and words in shown

    last = int(page.script(f"{slider}.max"))
    for keys, place in (([Keys.HOME], 0), ([Keys.ARROW_RIGHT], 1), ([Keys.END], last), ([Keys.ARROW_LEFT] * last, 0)):
        for key in keys:
            page.find("solution-slider").send_keys(key)
        page.wait(f"solution {place}", lambda place=place: agree(place))
    page.script("document.querySelector('#front [data-pick=\"1\"]').dispatchEvent(new Event('click', {bubbles: true}))")
    page.wait("the point that was picked", lambda: agree(1))


COUNT = (
    "document.addEventListener('click', (event) => { const it = event.target; "
    "if (event.isTrusted && (it.matches('input') || !it.closest('label'))) "
    "sessionStorage.clicks = Number(sessionStorage.clicks ?? 0) + 1; }, true);"
)
"""Counts what is pressed in the browser, over all pages of a tab. A label presses its field, which counts."""


@pytest.fixture
def clicks(page):
    """What returns how often the steward clicked so far."""
    told = page.chrome.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": COUNT})
    page.chrome.refresh()
    page.find("file")
    page.script("sessionStorage.clicks = 0")
    yield lambda: int(page.script("return sessionStorage.clicks"))
    page.script("sessionStorage.removeItem('clicks')")
    page.chrome.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", told)


def answer_and_find(page):
    """Answer both questions, find a release, and settle what is asked by the first button until it passes."""
    for name in ("who-public", "shape-least"):
        page.click(name)
        page.wait(name, lambda name=name: page.find(name).is_selected() and page.find("undo").is_enabled())
    go_on(page, "columns")
    page.wait("who stands out", lambda: page.has("standing"))
    while page.has("decide-0-0"):
        before = page.find("step").text
        page.click("decide-0-0")
        page.wait("what was settled", lambda before=before: page.find("step").text != before)
        page.drawn()
    page.click("find")
    page.wait("a release", lambda: "k reached" in standing(page))
    judged(page)
    while "FAILS" in verdict(page):
        before = page.find("verdict").text
        page.click("verdict-0-0")
        page.wait("another release", lambda before=before: page.find("verdict").text != before)
        page.drawn()
        judged(page)
    go_on(page, "release")
    page.click("take-table")


@pytest.mark.parametrize(("table", "most"), [(None, 8), (hospital, 12)])
def test_a_new_user_needs_few_clicks(page, clicks, tmp_path, table, most):
    saves = {"behavior": "allow", "downloadPath": str(tmp_path / "saved")}
    page.chrome.execute_cdp_cmd("Browser.setDownloadBehavior", saves)
    chosen = 0
    if table is None:
        page.click("demo")
    else:
        page.upload(table(tmp_path))
        chosen = 2  # the field, and the file in the list that the system shows
    page.wait_for("Rows 1 to")
    page.drawn()
    answer_and_find(page)
    assert "passes the limits of the profile public" in verdict(page)
    assert wait_for(lambda: list((tmp_path / "saved").glob("*-release.csv")), "the download")
    assert 4 < clicks() + chosen <= most, f"{clicks() + chosen} clicks"


def test_the_remedies_of_the_demo_lead_to_a_release_with_nothing_to_decide(page):
    page.click("demo")
    page.wait_for("Rows 1 to")
    page.drawn()
    answer_and_find(page)
    for _ in range(6):
        if "to decide" not in verdict(page):
            break
        before = page.find("verdict").text
        page.click("verdict-0-0")
        page.wait("another release", lambda before=before: page.find("verdict").text != before)
        page.drawn()
        judged(page)
    # On a busy machine some attacks are not through in time, which the sentence ends with.
    assert verdict(page).startswith("The release passes the profile public")


def test_a_value_is_seen_on_its_levels_and_all_suggestions_take_one_click(page):
    page.demo()
    page.at("hierarchies")
    assert "02100 → 0210* → 021** → 02*** → 0**** → *" in page.text
    assert not page.has("builder"), "nothing is unfolded at first"
    page.click("all-suggestions")
    page.wait("all of them", lambda: not page.has("all-suggestions"))
    assert "69 → 65-69 → 60-69 → 60-79 → *" in page.text
    page.click("column-2")
    page.find("builder")
    page.click("bounds")
    page.choose("finest", "2")
    drawn = "return document.querySelector('#finest').getAttribute('value') === '2'"
    page.wait("the bound as the server draws it", lambda: page.script(drawn))
    page.choose("coarsest", "1")
    assert "no level is left" in page.error_at("coarsest")
    for width in (1280, 390):
        page.looks(width=width, dark=width == 390)
        assert page.barriers() == []
    page.looks()
    page.click("as-code")
    assert 'levels = "2.."' in page.find("code-policy").text


def test_sets_of_columns_are_ticked(page):
    page.demo()
    page.at("privacy")
    page.choose("add-model", "subset-anonymity")
    for box in ("new-sets-0-0", "new-sets-0-1", "new-sets-1-2"):  # as fast as somebody clicks
        page.click(box)
    page.wait("the third", lambda: page.has("new-sets-2-0") and page.find("new-sets-1-2").is_selected())
    assert page.value("new-size") == "", "sets take the place of their size"
    for width in (1280, 390):
        page.looks(width=width, dark=width == 390)
        assert page.barriers() == []
    page.looks()
    page.click("add")
    page.wait_for("An attacker who knows age and sex, or zipcode of a person is left with at least 5 rows.")


def test_nothing_is_green_beside_a_column_that_points_at_everybody(page, tmp_path):
    page.upload(patients(tmp_path))
    page.wait_for("Rows 1 to")
    page.click("who-public")
    page.wait("the answer", lambda: page.find("who-public").is_selected() and page.find("undo").is_enabled())
    page.at("columns")
    page.choose("role-cost", "insensitive")
    page.wait("the finding", lambda: "cost is published unmodified" in page.text)
    page.click("find")
    page.wait("a release", lambda: "k reached" in standing(page))
    green = "#step .notice.good, #verdict.good, dl.strip .good"
    page.wait_for("FAILS the profile public")
    assert page.chrome.find_elements(By.CSS_SELECTOR, green) == []
    settled(page)
    report = taken_text(page, "report-internal")
    assert verdict(page) in report, "the report says the same sentence"
    page.at("search")
    page.click("verdict-0-0")  # one click settles what is found, measures again, and can be taken back
    page.wait("another verdict", lambda: "cost" not in page.find("verdict").text and "k reached" in standing(page))
    settled(page)
    page.click("undo")
    page.wait("the verdict of before", lambda: "'cost'" in page.find("verdict").text)
    assert page.barriers() == []


def taken_text(page, kind):
    page.at("release")
    [cookie] = page.chrome.get_cookies()
    page.find(f"take-{kind}")
    answer = page.server.ask("GET", f"/download/{kind}", cookie=f"{cookie['name']}={cookie['value']}")
    assert answer.status == 200
    return answer.body.decode()


def test_a_workbook_of_several_sheets_asks_for_one(page, tmp_path):
    path, visits = tmp_path / "visits.xlsx", [["age", "sex"], *([30 + place, "f"] for place in range(8))]
    path.write_bytes(spreadsheet({"Visits": visits, "Read me": [["note"], ["nothing"]]}))
    page.upload(path)
    page.wait_for("Which one is the table?")
    assert page.find("sheet-1").text == "Read me"
    page.click("sheet-0")
    page.wait_for("Rows 1 to 8 of 8")
    assert "Which one" not in page.text


def test_one_change_keeps_the_rest_and_can_be_undone(page):
    page.demo()
    page.at("columns")
    before = page.find("role-age").get_attribute("value")
    page.choose("role-age", "insensitive")
    page.wait("the change", lambda: page.find("role-age").get_attribute("value") != before)
    page.at("columns")
    assert page.find("role-age").get_attribute("value") == "insensitive"
    page.click("undo")
    page.wait("the role before", lambda: page.find("role-age").get_attribute("value") == before)


def test_a_change_in_one_tab_is_seen_in_the_other(page, chrome):
    page.demo()
    page.at("columns")
    first = chrome.current_window_handle
    chrome.switch_to.new_window("tab")
    try:
        page.at("columns")
        page.choose("role-age", "insensitive")
        page.wait("the change", lambda: page.find("role-age").get_attribute("value") == "insensitive")
        chrome.switch_to.window(first)
        assert page.wait("the other tab to see it", lambda: page.find("role-age").get_attribute("value") != "quasi")
    finally:
        for handle in chrome.window_handles:
            if handle != first:
                chrome.switch_to.window(handle)
                chrome.close()
        chrome.switch_to.window(first)


def test_a_search_stops_at_once_and_goes_on_without_the_browser(page, chrome, tmp_path):
    large = tmp_path / "large.csv"
    pyarrow.csv.write_csv(generate_patients(12_000, seed=1), large)
    page.upload(large)
    page.wait_for("Rows 1 to")
    page.at("search")
    page.click("search")
    page.click("stop")
    page.wait_for("stopped")
    page.click("search")
    page.find("stop")
    chrome.get("about:blank")  # a browser that goes away in the middle
    page.chrome.get(f"http://{page.server.host}/search")
    assert page.wait("a release", lambda: "k reached" in standing(page))


def test_a_demo_begins_with_invented_patients(chrome, tmp_path):
    with running_page(tmp_path / "folder", "--demo", temporary=tmp_path / "temporary") as server:
        steward = Page(chrome, server)
        steward.enter()
        steward.wait_for("Rows 1 to")
        assert "5,000" in standing(steward)
        chrome.get("about:blank")


def test_a_job_is_found_after_the_server_was_started_again(chrome, tmp_path):
    source = patients(tmp_path)
    places = {"folder": tmp_path / "folder", "temporary": tmp_path / "temporary"}
    places["folder"].mkdir()
    (places["folder"] / "patients.csv").write_bytes(source.read_bytes())
    with running_page(places["folder"], temporary=places["temporary"]) as server:
        steward = Page(chrome, server)
        steward.enter()
        steward.write("path", "patients.csv")
        steward.click("open-path")
        steward.wait_for("Rows 1 to")
        steward.click("who-internal")
        wait_for(lambda: list((places["temporary"] / "jobs").glob("*/policy.toml")), "the saved job")
        [cookie] = chrome.get_cookies()
    assert list(places["temporary"].glob("jobs/*/rows")) == []
    with running_page(places["folder"], temporary=places["temporary"]) as server:
        assert server.ask("GET", "/open", cookie=f"{cookie['name']}={cookie['value']}").status == 403
        steward = Page(chrome, server)
        steward.enter()
        steward.wait("the list of jobs", lambda: steward.has("saved-0"))
        assert steward.barriers() == []
        steward.click("saved-0")
        steward.wait_for("Rows 1 to")
        steward.wait("the answer", lambda: steward.find("who-internal").is_selected())
        other = Page(chrome, server)
        other.enter()  # another browser sees nothing of it
        assert not other.has("saved-0")
        chrome.get("about:blank")


def test_several_files_of_one_table_are_opened_together(page, tmp_path):
    made = generate_patients(400, seed=8)
    for place in range(2):
        pyarrow.csv.write_csv(made.slice(200 * place, 200), tmp_path / f"visits-{place}.csv")
    page.upload(f"{tmp_path / 'visits-0.csv'}\n{tmp_path / 'visits-1.csv'}")
    page.wait_for("Rows 1 to 12 of 400")


def test_a_project_of_arx_is_opened_with_its_decisions(page, tmp_path):
    page.upload(str(clinic_project(tmp_path / "clinic.deid")))
    page.wait_for("Rows 1 to")
    assert "the utility measure, Loss" in page.find("not-taken-over").text
    assert page.barriers() == []
