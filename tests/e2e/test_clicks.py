"""Clicks from a notification to an approval: three, and at most one for each distinct high-risk change.

Reading is no click: objects that must be viewed are scrolled through, in the list of risks or in Changes. An object
with more lines than a page shows is ticked, which is a click; in large applications these are definitions of resources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, StorageState, expect

from tests.e2e.conftest import Product, run_product

pytestmark = pytest.mark.e2e
TO_VIEW, TO_ACKNOWLEDGE = re.compile("high-risk objects? first"), re.compile("to acknowledge")
# Opening the notification, opening the approval, approving; each distinct high risk may cost one more.
BESIDES_RISKS, LOOKS = 3, 1_200


@dataclass
class Reader:
    """A person in a browser, and how often they clicked; `ticks` are the clicks on objects that are too long."""

    page: Page
    clicks: int = 0
    ticks: int = 0

    def click(self, what: Locator) -> None:
        """Click once."""
        what.click()
        self.clicks += 1


def scroll_drawer(page: Page) -> None:
    """Read the list of risks to its end, as far as the wheel turns it."""
    page.locator("#risk-list").hover()
    for _ in range(LOOKS):
        box = page.locator("[data-drawer]")
        if box.evaluate("one => one.scrollTop + one.clientHeight >= one.scrollHeight - 2"):
            return
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(300)


def read_changes(reader: Reader) -> None:
    """Scroll through every object that must be viewed, a part of the screen at a time.

    An object with more lines than a page shows is ticked by hand.
    """
    page = reader.page
    watched = page.locator("#changes [data-watched]")
    missing = page.locator("[data-review-header]").get_by_role("link", name=TO_VIEW)
    expect(page.locator("[data-scroll-object]").first).to_be_visible()
    for _ in range(LOOKS):
        if not missing.count():
            return
        if watched.count():
            page.evaluate(
                """() => {
                  const box = document.querySelector("[data-watched]")?.getBoundingClientRect();
                  if (box && (box.top > innerHeight * 0.7 || box.bottom < innerHeight * 0.2))
                    scrollBy({ top: box.top - innerHeight * 0.3, behavior: "instant" });
                }"""
            )
            page.wait_for_timeout(550)
            page.mouse.wheel(0, 500)
            continue
        target = re.search(r"#object-\d+", missing.get_attribute("href") or "")
        assert target
        one = page.locator(target[0])
        if not one.count():  # the scroll loads on
            page.mouse.wheel(0, 2_000)
            page.wait_for_timeout(300)
            continue
        before = missing.inner_text()
        reader.click(one.locator("[data-viewed-box]"))
        reader.ticks += 1
        expect(missing.filter(has_text=before)).to_have_count(0)
    raise AssertionError(f"some objects never count as viewed: {missing.inner_text()}")


def acknowledge_all(reader: Reader) -> None:
    """Read the risks and acknowledge all of them."""
    page = reader.page
    header = page.locator("[data-review-header]")
    reader.click(header.get_by_role("link", name=TO_ACKNOWLEDGE))
    expect(page.locator("#risk-list .risk-group").first).to_be_visible()
    scroll_drawer(page)
    reader.click(page.locator("#risk-list details.all > summary"))
    reader.click(page.locator("#risk-list details.all button"))
    expect(header.get_by_role("link", name=TO_ACKNOWLEDGE)).to_have_count(0)
    page.keyboard.press("Escape")


def walk_to_approval(page: Page, title: str, password: str) -> Reader:
    """Approve the review of a notification; return who did it, with the clicks."""
    reader = Reader(page)
    told = page.get_by_role("main").get_by_text(f"“{title}").first
    for _ in range(LOOKS):  # it is sent once the plan is there
        page.goto("/notifications/")
        if told.count():
            break
        page.wait_for_timeout(500)
    reader.click(told)
    header = page.locator("[data-review-header]")
    approve = page.get_by_role("link", name=re.compile("Approve plan"))
    to_acknowledge, to_view = (header.get_by_role("link", name=name) for name in (TO_ACKNOWLEDGE, TO_VIEW))
    expect(approve.or_(to_acknowledge).or_(to_view).first).to_be_visible()
    if to_acknowledge.count():
        acknowledge_all(reader)
    expect(approve.or_(to_view).first).to_be_visible()
    if to_view.count():
        reader.click(to_view)
        read_changes(reader)
    reader.click(approve)
    secret = page.get_by_label("Password")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    if secret.count():
        secret.fill(password)
    reader.click(page.get_by_role("button", name="Approve", exact=True))
    expect(page.locator(".messages")).to_contain_text("You approved plan")
    return reader


def open_demo(page: Page) -> str:
    """Resolve the conflict of the demo's upgrade; return the title that its next plan is announced with."""
    page.goto("/reviews/2/plans/1/changes/")
    page.locator("[data-option='1']").first.check()
    page.get_by_role("button", name=re.compile("Resolve 1 field")).first.click()
    page.wait_for_url(re.compile("/plans/2/"))
    expect(page.locator("[data-stream]")).to_have_count(0)
    return "Upgrade the web shop"


@pytest.fixture(scope="module")
def product(tmp_path_factory) -> Iterator[Product]:
    """Return a separate demo, because the test approves its reviews."""
    with run_product(tmp_path_factory.mktemp("clicks")) as found:
        yield found


@pytest.fixture(scope="module")
def sessions() -> dict[str, tuple[StorageState, float]]:
    """Return the cookies of this demo's people, and when they signed in: none at first."""
    return {}


def bring_folder(page: Page, title: str, folder: Path) -> int:
    """Open a review with the files of a folder; return the number of its high risks once it is planned."""
    page.goto("/reviews/new/")
    page.locator("[data-folder]").set_input_files(folder)
    expect(page.get_by_text(re.compile("objects found"))).to_be_visible()
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)
    found = re.search(r"(\d+) high", page.locator("#strip").inner_text())
    assert found
    return int(found[1])


@pytest.mark.long
def test_demo_is_approved_in_few_clicks(sign_in, product):
    """It has four high risks, each another change."""
    title = open_demo(sign_in("alice", reduced_motion="reduce"))

    reader = walk_to_approval(sign_in("bob", reduced_motion="reduce"), title, product.passwords["bob"])

    assert reader.clicks <= BESIDES_RISKS + 4


@pytest.mark.long
@pytest.mark.parametrize("folder", ["kube-prometheus/main-2026-08-10", "kops-channel/v1.36.0"])
def test_large_application_is_approved_in_few_clicks(sign_in, product, public_manifests, folder):
    """Many of its objects have the same high risk, which is acknowledged and read, not clicked through."""
    title = f"Install {folder}"
    high_risks = bring_folder(sign_in("alice", reduced_motion="reduce"), title, public_manifests / folder)

    reader = walk_to_approval(sign_in("bob", reduced_motion="reduce"), title, product.passwords["bob"])

    texts = "".join(path.read_text() for path in (public_manifests / folder).rglob("*.yaml"))
    assert reader.ticks <= texts.count("\nkind: CustomResourceDefinition\n")
    assert reader.clicks - reader.ticks <= BESIDES_RISKS + high_risks
