"""In a browser: an author asks people for a review by name, at a desk and on a phone, and they find it first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import ROOT, run_product
from tests.e2e.test_phone import FIND_CUT, FIND_SMALL

# A product of their own takes half a minute.
pytestmark = [pytest.mark.e2e, pytest.mark.long]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: b}}\n"
ADD = """
from applyviz.records.enums import Role
from applyviz.workflow.people.administrator_recovery import get_or_add, grant_role
for name in {names}:
    grant_role(get_or_add(name, reason="test"), Role.APPROVER, reason="test")
"""
EXTRA = 11
"""So many approvers besides Bob that the list has a field to find a name."""


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """A separate product, whose demo has more approvers."""
    with run_product(tmp_path_factory.mktemp("reviewers")) as found:
        names = [f"reviewer-{number:02}" for number in range(EXTRA)]
        manage(found.home, "shell", "-c", ADD.format(names=names))
        yield found


@pytest.fixture(scope="module")
def sessions():
    """Nobody has signed in there yet."""
    return {}


def manage(home: Path, *words: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")}
    command = [sys.executable, "manage.py", *words]
    subprocess.run(command, cwd=ROOT, env={**environment, "APPLYVIZ_HOME": str(home)}, check=True, capture_output=True)


def keep(page: Page, name: str) -> None:
    """Keep a picture of the page where a person asked for them, in both themes."""
    folder = os.environ.get("APPLYVIZ_PICTURES")
    for theme in ("light", "dark") if folder else ():
        page.emulate_media(color_scheme=theme)
        page.screenshot(path=str(Path(folder or "") / f"{name}-{page.viewport_size['width']}-{theme}.png"))
    page.emulate_media(color_scheme="light")


def open_review(alice: Page, name: str) -> str:
    """An author opens a review; gives its address."""
    alice.goto("/reviews/new/")
    alice.get_by_label("Title").fill(f"Settings of {name}")
    alice.get_by_label("Namespace").fill("shop")
    alice.locator("textarea[name=text]").fill(MANIFEST.format(name=name))
    alice.get_by_role("button", name="Create plan").click()
    alice.wait_for_url(re.compile(r"/reviews/\d+/"))
    found = re.search(r"/reviews/\d+/", alice.url)
    assert found
    alice.goto(f"{found[0]}overview/")
    expect(alice.locator(".track")).to_contain_text("0 of 1")
    return found[0]


def choose_two(alice: Page, sheet: Locator) -> None:
    """Find a name while typing, keep what is checked, save."""
    alice.get_by_role("link", name="Request reviewers…").click()
    expect(sheet.get_by_role("heading", name="Request reviewers")).to_be_visible()
    expect(sheet.get_by_role("searchbox")).to_be_focused()
    keep(alice, "sheet")
    assert alice.evaluate(FIND_CUT) == []
    sheet.get_by_label("reviewer-03").check()
    sheet.get_by_role("searchbox").fill("bo")
    expect(sheet.get_by_label("reviewer-04")).to_have_count(0)
    expect(sheet.get_by_label("reviewer-03")).to_be_checked()
    expect(sheet.get_by_role("searchbox")).to_be_focused()
    sheet.get_by_label("bob").check()
    keep(alice, "sheet-found")
    sheet.get_by_role("button", name="Save request").click()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_author_asks_by_name_and_is_shown_who_approved(sign_in, size):
    alice, bob = (sign_in(name) for name in ("alice", "bob"))
    for page in (alice, bob):
        page.set_viewport_size(size)
    review = open_review(alice, f"asked-{size['width']}")
    overview, sheet = alice.locator("#overview"), alice.locator("dialog[data-sheet]")
    keep(alice, "overview-before")

    choose_two(alice, sheet)
    expect(alice.locator(".messages")).to_contain_text("Review requested from bob, reviewer-03.")
    expect(overview).to_contain_text(re.compile(r"○\s+bob\s+awaiting review"))
    expect(alice.locator(".track")).to_contain_text("0 of 1 · asked: bob, reviewer-03")
    keep(alice, "overview-asked")

    # Whoever was asked finds it first, and is named once they approved.
    bob.goto("/")
    first = bob.locator(".attention li").first
    expect(first).to_contain_text("asked of you · needs your approval")
    keep(bob, "home")
    bob.goto(f"{review}overview/")
    expect(bob.locator("#why")).to_contain_text("Your review was requested.")
    keep(bob, "bob-overview")
    bob.get_by_role("link", name=re.compile("Approve plan 1")).click()
    expect(bob.locator("dialog .facts")).to_contain_text(re.compile(r"Requested\s+○\s+bob\s+awaiting review"))
    keep(bob, "approve-sheet")
    bob.get_by_role("button", name="Approve", exact=True).click()
    expect(bob.locator(".messages")).to_contain_text("You approved plan 1.")
    alice.goto(f"{review}overview/")
    expect(overview).to_contain_text(re.compile(r"✓\s+bob\s+approved"))
    keep(alice, "overview-approved")
    alice.get_by_role("link", name="Change…").click()
    expect(sheet.get_by_label("bob")).to_be_checked()
    for name in ("bob", "reviewer-03"):
        sheet.get_by_label(name).uncheck()
    sheet.get_by_role("button", name="Save request").click()
    expect(alice.locator(".messages")).to_contain_text("No reviewers are requested.")
    expect(overview.get_by_role("link", name="Request reviewers…")).to_be_visible()


def test_page_and_its_targets_fit_a_phone_and_a_desk(sign_in):
    alice = sign_in("alice")
    for size, least in ((PHONE, 44), (DESK, 24)):
        alice.set_viewport_size(size)
        alice.goto("/reviews/2/reviewers/")
        expect(alice.get_by_role("heading", level=1)).to_contain_text("Request reviewers")
        keep(alice, "page")
        assert alice.evaluate(FIND_CUT) == []
        assert alice.evaluate(FIND_SMALL, least) == []


# Answers come late, after what a person did meanwhile; a late one cannot be given up any more.
LATE = "const send = fetch; window.fetch = async (...of) => { const got = await send(...of); \
await new Promise((go) => setTimeout(go, 400)); return got; };"


def test_keys_alone_find_and_ask(sign_in):
    alice = sign_in("alice")
    alice.add_init_script(LATE)
    open_review(alice, "by-keys")
    alice.get_by_role("link", name="Request reviewers…").press("Enter")
    sheet = alice.locator("dialog[data-sheet]")
    box = sheet.get_by_role("searchbox")
    expect(box).to_be_focused()
    box.press_sequentially("bob", delay=300)
    expect(sheet.locator("[name=reviewers]")).to_have_count(1)
    box.press("Enter")  # looks for the name, and saves nothing
    sheet.get_by_label("bob").focus()
    alice.keyboard.down("Space")
    alice.wait_for_timeout(1500)  # the answers to all searches arrive before the key is up again
    alice.keyboard.up("Space")
    expect(sheet.get_by_label("bob")).to_be_checked()
    sheet.get_by_label("bob").press("Control+Enter")
    expect(alice.locator(".messages")).to_contain_text("Review requested from bob.")


def test_refusal_in_the_sheet_keeps_it_open(sign_in):
    alice, other = sign_in("alice", is_let_in=False), sign_in("alice")  # the refusal is an error on the console
    review = open_review(alice, "closed-meanwhile")
    alice.get_by_role("link", name="Request reviewers…").click()
    sheet = alice.locator("dialog[data-sheet]")
    sheet.get_by_label("bob").check()
    other.goto(f"{review}overview/")
    other.locator("summary", has_text="Close review").click()
    other.get_by_role("button", name="Close without applying").click()
    expect(other.locator(".messages")).to_contain_text("Review closed")
    sheet.get_by_role("button", name="Save request").click()
    expect(sheet).to_contain_text("this review is closed, so no reviewers can be requested")
    expect(sheet.get_by_role("button", name="Close")).to_be_visible()
    keep(alice, "refused")
