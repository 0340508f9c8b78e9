"""A run in the browser: what it shows, what would undo it, being told, and what another tool applies."""

import time

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import find_violations, find_wide
from tests.e2e.conftest import PATIENCE

pytestmark = pytest.mark.e2e

MANIFEST = """apiVersion: v1
kind: ConfigMap
metadata: {name: release, namespace: shop}
data: {version: "2"}
"""


def test_run_survives_reload_and_shows_what_was_sent(sign_in):
    page = sign_in("bob")
    page.goto("/runs/1/")
    page.locator("#objects a").first.click()
    page.locator("#pane .request").first.wait_for()
    page.reload()

    expect(page.get_by_text("Applied.")).to_be_visible()
    expect(page.get_by_text("stops at the first failure")).to_have_count(1)


@pytest.mark.long
def test_what_would_undo_a_run_is_a_review_that_needs_approval(sign_in):
    page = sign_in("alice")
    page.goto("/runs/1/")
    page.get_by_role("button", name="Revert…").click()
    expect(page.get_by_text("Reverts run 1").first).to_be_visible()
    expect(page.locator("[data-stream]")).to_have_count(0)
    assert find_violations(page) == []
    bob = sign_in("bob")
    told = bob.get_by_text("needs your approval").first
    deadline = time.monotonic() + PATIENCE
    bob.goto("/notifications/")
    while not told.is_visible() and time.monotonic() < deadline:  # each look is at a page that is loaded whole
        bob.reload()
    expect(told).to_be_visible()
    expect(bob.locator(".bell .count")).to_be_visible()


@pytest.mark.long
def test_what_another_tool_applies_is_verified_and_never_applied(sign_in):
    page = sign_in("alice")
    page.goto("/reviews/new/")
    page.get_by_label("Paste").fill(MANIFEST)
    page.get_by_label("Title").fill("The next release")
    page.get_by_label("Applied by").select_option("helm")
    page.get_by_label("Namespace").fill("shop")
    page.get_by_role("button", name="Create plan").click()
    page.get_by_text("Helm applies this.").wait_for()
    page.get_by_role("button", name="Verify now").click()

    expect(page.locator("#watch").get_by_text("1 not applied yet")).to_be_visible()
    expect(page.get_by_role("link", name="Approve plan")).to_have_count(0)
    assert find_violations(page) == []


@pytest.mark.long
@pytest.mark.parametrize("width", [1440, 390])
def test_runs_are_found_from_the_navigation_and_filtered(sign_in, width):
    page = sign_in("bob")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/")
    if width == 390:
        page.get_by_role("button", name="Menu").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Runs", exact=True).click()
    rows = page.locator("#runs tbody tr")
    expect(rows.filter(has_text="run 1")).to_be_visible()
    if width == 390:
        page.locator(".filters-label").click()
    page.get_by_label("State").select_option("canceled")
    expect(page.get_by_text("No runs match")).to_be_visible()
    assert "state=canceled" in page.url
    page.get_by_label("State").select_option("applied")
    expect(rows.filter(has_text="run 1")).to_be_visible()
    expect(page.locator("#filter-count")).to_contain_text("(1)")
    assert (find_violations(page), find_wide(page)) == ([], {})
    page.set_viewport_size({"width": width, "height": 900})
    rows.filter(has_text="run 1").get_by_role("link").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Run 1")


def test_search_is_a_key_away_and_leads_to_the_run(sign_in):
    page = sign_in("bob")
    page.goto("/clusters/")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
    page.keyboard.type("run 1")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Run 1", exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Run 1")


@pytest.mark.long
def test_run_is_read_with_keys_and_its_timeline_has_a_name(sign_in):
    page = sign_in("bob")
    page.goto("/runs/1/")
    page.keyboard.press("j")
    page.keyboard.press("j")

    expect(page.locator("[data-row]").nth(1)).to_be_focused()
    expect(page.get_by_role("img", name="Timeline of the run by step.")).to_be_visible()


@pytest.mark.long
def test_run_is_whole_without_script(browser, product):
    context = browser.new_context(base_url=product.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/login/?next=/runs/1/")
    page.get_by_label("Name").fill("bob")
    page.get_by_label("Password").fill(product.passwords["bob"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Requests", exact=False).first.click()
    expect(page.get_by_role("table", name="Requests")).to_be_visible()
    page.get_by_role("link", name="Timeline").click()

    expect(page.locator(".run-table tbody tr").first).to_be_visible()
    expect(page.locator(".run-timeline rect.rq").first).to_be_attached()
    context.close()
