"""The graph of a plan in a browser: by keyboard, without a script, on a phone."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e
GRAPH = "/reviews/2/plans/1/graph/"


def test_arrows_follow_references_and_enter_opens_the_object(sign_in):
    page = sign_in("alice")
    page.goto(GRAPH)
    node = page.get_by_role("link", name="update Service catalog")
    node.focus()

    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("link", name="update Deployment catalog")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(node).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("link", name="update Service frontend")).to_be_focused()
    assert page.locator(".line.is-near").count() > 0
    page.keyboard.press("Space")
    expect(page.locator(".graph-panel h2")).to_contain_text("Service/frontend")
    page.locator("[data-node][aria-current]").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/objects/*/changes/**")


def test_escape_clears_what_is_chosen(sign_in):
    page = sign_in("alice")
    page.goto(f"{GRAPH}?node=deployment/checkout")
    expect(page.locator(".graph-panel h2")).to_contain_text("Deployment/checkout")

    page.locator("[data-node][aria-current]").focus()
    page.keyboard.press("Escape")

    expect(page.locator(".graph-panel h2")).to_have_count(0)


def test_graph_can_be_read_and_walked_without_a_script(sign_in):
    page = sign_in("alice", java_script_enabled=False)
    page.goto(GRAPH)

    page.get_by_role("link", name="blocked Deployment checkout").click()
    expect(page.locator(".graph-panel")).to_contain_text("svc/checkout")
    page.get_by_role("link", name="Table", exact=True).click()
    expect(page.locator(".references tbody tr")).not_to_have_count(0)


def test_phone_shows_the_references_as_a_list(sign_in):
    page = sign_in("alice")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(GRAPH)

    expect(page.locator("svg[data-graph]")).to_be_hidden()
    expect(page.locator(".graph-phone .references")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
