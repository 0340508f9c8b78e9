"""Targets as large as a thumb on pages that an author opens from others: panels, one object, ticks, refusals."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_phone import FIND_SHIFTED, FIND_SMALL, LEAST, PLAN, SIZE

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAST_ON_A_DESK = 24
PAGES = [
    f"{PLAN}/graph/?node=deployment/checkout",
    f"{PLAN}/owners/?view=table",
    f"{PLAN}/owners/?object=34",
    f"{PLAN}/objects/0/hand-over/",
    f"{PLAN}/ownership/",
    "/runs/1/objects/0/",
    "/clusters/demo/objects/",
    "/clusters/demo/objects/?q=nothing",
]


@pytest.fixture
def phone(sign_in) -> Page:
    """The browser of an author, as small as a phone."""
    page = sign_in("alice", has_touch=True, is_mobile=True, reduced_motion="reduce", is_let_in=False)
    page.set_viewport_size(SIZE)
    return page


@pytest.mark.parametrize("address", PAGES)
def test_targets_of_an_author_are_as_large_as_a_thumb(phone, address):
    phone.goto(address)

    assert phone.evaluate(FIND_SMALL, 400), "targets are found"
    assert phone.evaluate(FIND_SMALL, LEAST) == []


def test_way_back_from_a_page_that_is_not_there_is_as_large_as_a_thumb(phone):
    answer = phone.goto("/reviews/404/")

    assert answer is not None
    assert (answer.status, phone.evaluate(FIND_SMALL, LEAST)) == (404, [])


@pytest.fixture
def paused(sign_in):
    """The cluster of the demo is paused, with a reason of several lines."""
    page = sign_in("dana")
    page.goto("/clusters/demo/manage/")
    page.locator("summary", has_text="Pause cluster…").click()
    page.get_by_label("Reason").fill("Upgrade of the control plane and of all node pools until the evening")
    page.get_by_role("button", name="Pause Demo sandbox now").click()
    yield
    page.goto("/clusters/demo/manage/")
    page.get_by_role("button", name="Resume cluster").click()
    expect(page.locator("summary", has_text="Pause cluster…")).to_be_visible()


@pytest.mark.usefixtures("paused")
def test_link_to_a_paused_cluster_stands_beside_its_label(sign_in):
    page = sign_in("bob", has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.set_viewport_size(SIZE)

    page.goto(f"{PLAN}/confirm/")

    expect(page.locator("dd a", has_text="Demo sandbox is paused")).to_be_visible()
    assert (page.evaluate(FIND_SHIFTED), page.evaluate(FIND_SMALL, LEAST)) == ([], [])


def open_everything(page: Page) -> None:
    """Open every fold of the form of a review, and what its options show."""
    page.goto("/reviews/new/")
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.get_by_label("Prune by allowlist").check()


def test_every_field_of_a_new_review_is_as_large_as_a_thumb(phone):
    open_everything(phone)

    assert phone.get_by_label("All objects, whatever their labels").is_visible()
    assert phone.evaluate(FIND_SMALL, LEAST) == []


def test_every_field_of_a_new_review_can_be_hit_with_a_mouse(sign_in):
    desk = sign_in("alice")

    open_everything(desk)

    assert desk.evaluate(FIND_SMALL, LEAST_ON_A_DESK) == []


@pytest.mark.parametrize("address", ["/settings/policies/new/", "/settings/webhooks/new/", "/settings/people/bob/"])
def test_every_field_of_the_settings_can_be_hit_with_a_mouse(sign_in, address):
    desk = sign_in("dana")

    desk.goto(address)

    assert desk.evaluate(FIND_SMALL, LEAST_ON_A_DESK) == []
