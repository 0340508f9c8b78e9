"""History, evidence and the page of a cluster in a real browser: by keyboard, with downloads and a scan."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e


def look_now(page):
    """Ask for a scan and wait for its end."""
    page.goto("/clusters/demo/")
    page.locator("#findings").evaluate("findings => findings.dataset.before = ''")
    page.get_by_role("button", name="Scan now").click()  # disabled while a scan runs, so the click waits
    expect(page.locator("#findings:not([data-before])")).to_contain_text("scanned on")


def test_words_are_looked_for_by_keyboard(sign_in):
    page = sign_in("bob")
    page.goto("/history/")
    page.get_by_label("Text").focus()
    page.keyboard.type("frontend")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=frontend**")

    expect(page.locator("#entries tbody tr").first).to_be_visible()
    page.get_by_role("link", name="Entry ").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("in the chain of run").or_(page.get_by_text("in the global chain"))).to_be_visible()


def test_evidence_is_for_a_period_and_prints(sign_in):
    page = sign_in("bob")
    page.goto("/history/evidence/")
    page.get_by_role("heading", name="Approvals (with role at the time)").wait_for()
    expect(page.get_by_text("approver").first).to_be_visible()

    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Show")).to_be_hidden()
    page.emulate_media(media="screen")
    with page.expect_download() as started:
        page.get_by_role("link", name="JSON Lines").click()
    assert started.value.suggested_filename.startswith("evidence-")


def test_cluster_is_looked_at_and_an_object_adopted(sign_in):
    page = sign_in("alice")
    look_now(page)
    page.get_by_role("heading", name="Status and permissions").wait_for()
    page.get_by_text("Cluster permissions (SelfSubjectAccessReview)").click()
    page.get_by_text("customresourcedefinitions").wait_for()
    page.goto("/clusters/demo/adopt/apps/Deployment/shop/frontend/")
    page.get_by_role("button", name="Open review").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Bring Deployment frontend under review")
