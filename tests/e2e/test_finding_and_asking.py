"""Filters and searches find rows where readers look for them, and acts with wide effects ask first."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.e2e, pytest.mark.long]
CHANGES = "/reviews/2/plans/1/changes/"
SIZES = pytest.mark.parametrize("size", [(1440, 900), (390, 844)])


def open_page_of(sign_in, name, size, address):
    page = sign_in(name, reduced_motion="reduce")
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.goto(address)
    return page


@SIZES
def test_objects_of_a_cluster_are_filtered_and_turned_over(sign_in, size):
    page = open_page_of(sign_in, "bob", size, "/clusters/demo/objects/")
    names = page.locator(".live-objects tbody tr:not(.kind-head)")
    first = names.first.inner_text()

    page.get_by_role("link", name="Next").click()
    expect(names.first).not_to_have_text(first)
    page.locator("#filter-objects").fill("deployment checkout")
    page.locator("#filter-objects").press("Enter")
    expect(names).to_have_count(1)
    expect(names).to_contain_text("checkout")
    page.get_by_role("link", name="All objects").click()
    expect(page.get_by_text(re.compile(r"page 1 of \d"))).to_be_visible()


@SIZES
@pytest.mark.parametrize(("typed", "found"), [("LEGACY_TAX_API", "checkout"), ("removed", "checkout")])
def test_changes_are_searched_by_field_and_by_what_happens_to_it(sign_in, size, typed, found):
    page = open_page_of(sign_in, "bob", size, CHANGES)
    if size[0] < 500:
        page.get_by_role("button", name="Objects").click()

    page.locator("#find-object").fill(typed)

    expect(page.locator("#object-groups .found")).to_contain_text("of 50")
    expect(page.locator("#object-groups [data-item]").filter(has_text=found).first).to_be_visible()


@SIZES
def test_search_leads_to_the_field(sign_in, size):
    page = open_page_of(sign_in, "bob", size, "/search/?q=LEGACY_TAX_API")

    page.get_by_role("main").get_by_role("link", name=re.compile("LEGACY_TAX_API")).first.click()

    expect(page.locator(".opened-field, .change").filter(has_text="LEGACY_TAX_API").first).to_be_visible()


@SIZES
def test_live_pods_and_health_stand_beside_a_run(sign_in, size):
    page = open_page_of(sign_in, "bob", size, "/runs/1/")

    page.get_by_role("link", name="Live", exact=True).click()

    expect(page.locator("#live [role=status]")).to_contain_text(re.compile(r"\d+ of \d+ objects are ready"))
    expect(page.locator("#live li").filter(has_text="Deployment/frontend").first).to_contain_text("pods")


@SIZES
def test_pausing_a_cluster_asks_first(sign_in, size):
    page = open_page_of(sign_in, "dana", size, "/clusters/demo/manage/")
    now = page.get_by_role("button", name="Pause Demo sandbox now")
    expect(now).to_be_hidden()

    page.locator("summary", has_text="Pause cluster…").click()

    expect(now).to_be_visible()
    page.goto("/clusters/demo/")
    expect(page.get_by_role("main")).not_to_contain_text("paused")
