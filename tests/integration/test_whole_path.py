"""The whole path in a real browser: from a file to downloads that the command line verifies."""

import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pytest
from selenium.webdriver.common.by import By

from indistinct.cli import main
from indistinct.reproduce.datasets import generate_patients
from references.page_browser import Page, focused
from references.page_server import running_page, wait_for
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
    go_on(page, "columns")
    page.click("accept")
    page.wait_for("Accepted:")  # the step is drawn anew, and its links move
    go_on(page, "hierarchies")
    go_on(page, "privacy")
    go_on(page, "search")
    page.click("search")
    page.wait("a release", lambda: "k reached" in standing(page))
    page.drawn()
    assert "violations 0" in standing(page)
    page.wait("the focus where the search began", lambda: focused(page) == "search")
    assert page.barriers() == []
    reached = standing(page)
    page.chrome.refresh()
    page.wait("the same after a reload", lambda: standing(page) == reached)
    go_on(page, "explore")
    page.click("explore-all")
    page.wait_for("keep the promise")
    assert page.barriers() == []
    page.at("risk")
    page.click("assess")
    page.wait_for("The highest risk of being found is")
    assert page.barriers() == []
    page.at("release")
    page.click("prepare")
    page.wait_for("every promise holds")
    assert page.barriers() == []
    out = tmp_path / "taken"
    out.mkdir()
    release, policy = taken(page, "table", out), taken(page, "policy", out)
    capsys.readouterr()
    assert main(["verify", str(release), "--policy", str(policy), "--original", str(source)]) == 0
    assert "holds" in capsys.readouterr().out
    saves = {"behavior": "allow", "downloadPath": str(tmp_path / "saved")}
    page.chrome.execute_cdp_cmd("Browser.setDownloadBehavior", saves)
    page.click("take-table")
    [saved] = wait_for(lambda: list((tmp_path / "saved").glob("*.csv")), "the download")
    assert saved.read_bytes() == release.read_bytes()


def test_nothing_is_green_beside_a_column_that_points_at_everybody(page, tmp_path):
    page.upload(patients(tmp_path))
    page.wait_for("Rows 1 to")
    page.at("columns")
    page.click("accept")
    page.choose("role-cost", "insensitive")
    page.at("search")
    page.click("search")
    page.wait("a release", lambda: "k reached" in standing(page), patience=120)
    page.drawn()
    green = "#step .notice.good, dl.strip .good"
    assert "verdict 1 warning" in standing(page)
    assert page.chrome.find_elements(By.CSS_SELECTOR, green) == []
    page.at("risk")
    page.choose("profile", "public")
    page.click("assess")
    page.wait_for("FAILS the profile public", patience=120)
    page.wait("the strip", lambda: "FAILS public" in standing(page))
    assert "'cost'" in page.find("verdict").text
    assert page.chrome.find_elements(By.CSS_SELECTOR, green) == []
    assert page.barriers() == []


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
