"""Changes between plans in a browser: at a desk and on a phone, with the keyboard, in both themes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import find_violations
from tests.e2e.test_main_job import drop_files
from tests.e2e.test_phone import FIND_BROKEN, FIND_CUT, FIND_SMALL

pytestmark = [pytest.mark.e2e, pytest.mark.long]
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  color: {color}\n  page: |\n{page}"
LINES = [f"    server {number}" for number in range(40)]


def make_manifests(color: str) -> str:
    """Two ConfigMaps, one with a long text whose indented lines differ in the middle."""
    lines = [*LINES[:20], f"      listen {color}", *LINES[20:]]
    page = "\n".join(f"    {line}" for line in ["begin", *lines])
    return "\n---\n".join(CONFIG.format(name=f"compared-{n}", color=color, page=page) for n in (1, 2))


@pytest.fixture(scope="module")
def compared() -> list[str]:
    """The address of the comparison; empty until the first test makes it."""
    return []


@pytest.fixture(params=[390, 1440])
def page(request, sign_in, compared) -> Page:
    """The comparison of two plans, as wide as a phone or a desk."""
    is_phone = request.param < 500
    if not compared:
        alice = sign_in("alice", reduced_motion="reduce")
        alice.goto("/reviews/new/")
        drop_files(alice, {"compared.yaml": make_manifests("blue")})
        alice.get_by_label("Title").fill("Two plans that differ")
        alice.get_by_role("button", name="Create plan").click()
        alice.wait_for_url(re.compile(r"/reviews/\d+/"))
        expect(alice.locator("[data-stream]")).to_have_count(0)
        found = re.search(r"/reviews/\d+/", alice.url)
        assert found
        alice.goto(f"{found[0]}manifests/")
        drop_files(alice, {"compared.yaml": make_manifests("green")})
        alice.get_by_role("button", name="Create next plan").click()
        alice.wait_for_url(re.compile(f"{found[0]}(plans/2/|overview|changes|$)"))
        expect(alice.locator("[data-stream]")).to_have_count(0)
        compared.append(f"{found[0]}compare/?from=1&to=2")
    opened = sign_in("bob", has_touch=is_phone, is_mobile=is_phone, reduced_motion="reduce")
    opened.set_viewport_size({"width": request.param, "height": 844 if is_phone else 1000})
    opened.goto(compared[0])
    expect(opened.get_by_text("2 of 2 objects differ")).to_be_visible()
    return opened


def width_of(page: Page) -> int:
    assert page.viewport_size is not None
    return page.viewport_size["width"]


def test_comparison_fits_and_nothing_is_cut_or_too_small(page):
    least = 44 if width_of(page) < 500 else 24

    assert page.evaluate("document.documentElement.scrollWidth") <= width_of(page)
    assert (page.evaluate(FIND_CUT), page.evaluate(FIND_SMALL, least), page.evaluate(FIND_BROKEN)) == ([], [], [])
    assert find_violations(page) == []


def test_differing_lines_of_an_indented_text_are_lines(page):
    rows = page.locator("details.moved").first

    expect(rows.get_by_text("listen blue")).to_be_visible()
    expect(rows.get_by_text("listen green")).to_be_visible()
    expect(rows).not_to_contain_text("\\n")


def test_keyboard_folds_an_object_and_compares_the_other_way(page):
    first = page.locator("details.moved").first
    expect(first).to_have_attribute("open", "")
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(first).not_to_have_attribute("open", "")

    page.get_by_label("from", exact=True).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile("from=2&to=1"))
    expect(page.locator("details.moved").first).to_contain_text("green")


def test_object_of_the_comparison_leads_to_its_plan(page):
    page.get_by_role("link", name="Open the object in its plan").first.click()

    expect(page).to_have_url(re.compile(r"/plans/2/changes/"))
    expect(page.locator("main")).to_contain_text("compared-1")
