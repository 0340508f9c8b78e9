"""Ease of a page: one button that leads, who owned a field, targets for thumbs."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e
PLAN = "/reviews/2/plans/1"
# A field in a line of text is exempt (WCAG 2.5.8); a checkbox is as large as its label.
FIND_SMALL = """least => [...document.querySelectorAll(
  "main :is(button, summary, select, input:not([type=hidden]), textarea, .button, nav a, .master a)")]
  .map(one => one.matches("[type=checkbox], [type=radio]") ? one.closest("label, .opt, .choice") ?? one : one)
  .filter(one => one.checkVisibility({ visibilityProperty: true }) && one.offsetHeight < least
    && !one.closest("noscript, .linklike"))
  .map(one => `${one.tagName} ${one.className} ${one.innerText.trim().slice(0, 30)}: ${one.offsetHeight}`)"""


@pytest.fixture
def page(sign_in) -> Page:
    return sign_in("alice", reduced_motion="reduce")


@pytest.mark.long
def test_only_one_button_leads_once_a_resolution_is_chosen(page):
    page.goto(f"{PLAN}/changes/")
    leading = page.locator(".button.primary:visible")
    expect(leading).to_have_text("Resolve 1 conflict")

    page.locator("[data-option='1']").first.check()

    expect(leading).to_have_accessible_name("Resolve 1 field")


@pytest.mark.long
def test_conflict_begins_with_who_owned_the_field(page):
    page.goto(f"{PLAN}/changes/")
    past = page.locator(".is-conflict .schema").first
    past.scroll_into_view_if_needed()

    expect(past.locator("dt").first).to_have_text("Current owners")
    expect(past.locator("dd").first).to_contain_text("kubectl-set")
    expect(past.locator("dd").nth(1)).to_contain_text("run 1")


@pytest.mark.long
def test_next_object_by_key_is_scrolled_to(page):
    page.goto(f"{PLAN}/changes/")
    for _ in range(5):
        page.keyboard.press("j")
    name = page.locator("[data-item] a[aria-current] .name").inner_text()

    expect(page.locator("[data-scroll-object] h3", has_text=name).first).to_be_in_viewport()
    assert page.evaluate("scrollY") > 0


@pytest.mark.long
def test_list_on_a_phone_opens_the_object(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{PLAN}/changes/")
    page.get_by_role("button", name="Objects").click()

    page.locator("[data-item] a", has_text="inventory").first.click()

    expect(page.locator("[data-scroll-object] h3", has_text="inventory").first).to_be_in_viewport()


@pytest.mark.long
@pytest.mark.parametrize(
    "address",
    ["/", f"{PLAN}/overview/", f"{PLAN}/changes/", f"{PLAN}/graph/", f"{PLAN}/risks/", f"{PLAN}/confirm/", "/runs/1/"],
)
def test_targets_on_a_phone_are_as_large_as_a_thumb(sign_in, address):
    bob = sign_in("bob", has_touch=True, is_mobile=True)
    bob.set_viewport_size({"width": 390, "height": 844})
    bob.goto(address)

    assert bob.evaluate(FIND_SMALL, 400), "targets are found"
    assert bob.evaluate(FIND_SMALL, 44) == []
