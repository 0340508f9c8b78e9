"""Links of Home, notifications and the list of risks lead to the place of an object in Changes."""

import re
import secrets
import time

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import PATIENCE
from tests.e2e.test_review_shell import ROLE, make_review

pytestmark = pytest.mark.e2e
PLAN = "/reviews/2/plans/1"
SIZES = pytest.mark.parametrize(
    "size", [{"width": 1440, "height": 900}, {"width": 390, "height": 844}], ids=["desk", "phone"]
)


def expect_place(page: Page, name: str) -> Locator:
    """The tab is Changes, and the head of the object is on the screen, below what sticks to the top."""
    expect(page).to_have_url(re.compile(r"/changes/\?(expand=[\w-]+&)?at=\d+#"))
    expect(page.locator("[data-review-tab][aria-current]")).to_contain_text("Changes")
    found = re.search(r"at=(\d+)#", page.url)
    assert found
    head = page.locator(f"#object-{found[1]}-name")
    expect(head).to_contain_text(name)
    expect(head).to_be_in_viewport(ratio=1)
    return page.locator(f"#object-{found[1]}")


@pytest.mark.long
@SIZES
def test_author_comes_from_home_to_the_conflict(sign_in, size):
    page = sign_in("alice", reduced_motion="reduce")
    page.set_viewport_size(size)
    page.goto("/")

    page.locator(".attention li", has=page.locator("[href*='/reviews/2/']")).locator(".button").first.click()

    expect(page).to_have_url(re.compile(r"/changes/\?at=\d+#conflict-"))
    expect(page.locator("[data-review-tab][aria-current]")).to_contain_text("Changes")
    conflict = page.locator("[data-scroll-object]", has=page.locator(".change.is-conflict")).first
    expect(conflict.locator("h3")).to_contain_text("checkout")
    expect(page.locator(".change.is-conflict [data-option]").first).to_be_in_viewport()


@pytest.mark.long
@SIZES
def test_approver_comes_from_a_notification_to_the_high_risk(sign_in, size):
    author, page = sign_in("alice"), sign_in("bob", reduced_motion="reduce")
    name = f"place-{secrets.token_hex(3)}"
    address = make_review(author, ROLE.replace("{name}", name), title=name)
    page.set_viewport_size(size)
    asked = page.locator(".notice-row", has_text="needs your approval").filter(has_text=name)
    deadline = time.monotonic() + PATIENCE
    page.goto("/notifications/")
    while not asked.is_visible() and time.monotonic() < deadline:  # each look is at a page that is loaded whole
        page.reload()
    asked.click()
    expect(page).to_have_url(re.compile(f"{address}overview/"))

    page.locator("[data-review-header] a", has_text="view 1 high-risk object").click()

    expect_place(page, name)


@pytest.mark.long
@SIZES
def test_object_in_the_list_of_risks_leads_to_its_place(sign_in, size):
    page = sign_in("bob", reduced_motion="reduce")
    page.set_viewport_size(size)
    page.goto(f"{PLAN}/overview/")
    page.locator("#strip a[data-risks]").first.click()
    entry = page.locator("#risk-list .risk-entry .title a").first
    name = entry.inner_text()

    entry.click()

    expect_place(page, name)


@pytest.mark.long
def test_link_of_the_drawer_to_the_page_below_closes_it(sign_in):
    page = sign_in("bob", reduced_motion="reduce")
    page.goto(f"{PLAN}/changes/")
    page.locator("#strip a[data-risks]").first.click()
    page.locator("#risk-list .risk-entry .title a").first.click()
    page.wait_for_url(re.compile(r"at=\d+"))
    page.locator("#strip a[data-risks]").first.click()

    page.locator("#risk-list .risk-entry .title a").first.click()

    expect(page.locator("[data-drawer]")).to_be_hidden()
    expect(page.locator("[data-scroll-object] h3").first).to_be_visible()


@pytest.mark.long
def test_member_of_identical_changes_and_what_stays_have_places(sign_in):
    page = sign_in("bob", reduced_motion="reduce")
    page.goto(f"{PLAN}/changes/")
    page.locator(".is-alike .members a", has_text="notifications").first.click()
    expect_place(page, "Service/notifications")

    page.locator("[data-group=unchanged] summary").click()
    calm = page.locator("[data-group=unchanged] [data-item] a").first
    name = calm.locator(".name").inner_text()
    calm.click()
    expect(expect_place(page, name)).to_contain_text("No changes")
