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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_cluster_is_looked_at_and_an_object_adopted(sign_in):
    page = sign_in("alice")
    look_now(page)
    page.get_by_role("heading", name="Status and permissions").wait_for()
    page.get_by_text("Cluster permissions (SelfSubjectAccessReview)").click()
    page.get_by_text("customresourcedefinitions").wait_for()
    page.goto("/clusters/demo/adopt/apps/Deployment/shop/frontend/")
    page.get_by_role("button", name="Open review").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Bring Deployment frontend under review")


@pytest.mark.long
@pytest.mark.parametrize("width", [1440, 390])
def test_findings_of_a_cluster_are_filtered(sign_in, width):
    page = sign_in("alice", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 844})
    look_now(page)
    page.goto("/clusters/demo/findings/unreviewed/")
    page.locator("#filter-findings").fill("coredns")
    page.locator("#filter-findings").press("Enter")

    expect(page.locator("tbody tr a.mono")).to_have_count(1)
    page.get_by_role("link", name="All findings").click()
    expect(page.locator("tbody tr a.mono").nth(1)).to_be_visible()
    page.goto("/clusters/demo/findings/unreviewed/?q=nowhere")
    expect(page.get_by_text("No finding matches.")).to_be_visible()


@pytest.mark.long
def test_entries_are_one_line_high_at_a_desk_and_name_the_field_that_was_found(sign_in):
    page = sign_in("bob", reduced_motion="reduce")
    page.goto("/history/")
    heights = page.locator("#entries tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert len(heights) > 20
    assert max(heights) <= 40

    page.goto("/history/?field=replicas")
    found = page.locator("#entries tbody tr td:nth-child(3)")
    expect(found.first).to_contain_text("replicas")
    expect(found.first).to_contain_text("→")
    cut = "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => cell.innerText)"
    assert found.evaluate_all(cut) == [], "the field that was found is there with its values"
    assert page.locator("#entries tbody tr td.wrap").evaluate_all(cut) == []


@pytest.mark.long
def test_entries_on_a_phone_leave_no_room_for_what_they_do_not_have(sign_in):
    page = sign_in("bob", reduced_motion="reduce")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/history/")

    empty = page.locator("#entries tbody td:visible").evaluate_all(
        "cells => cells.filter(cell => !cell.innerText.trim()).length"
    )
    assert empty == 0
    heights = page.locator("#entries tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert sum(heights) / len(heights) <= 150
    ends = page.locator("#entries td.wrap:has(.sub)").evaluate_all(
        """cells => cells.map(cell => {
          const [object, manager] = cell.querySelectorAll("a");
          const [one, other] = [object, manager].map(link => {
            const range = document.createRange();
            range.selectNodeContents(link);
            return range.getBoundingClientRect();
          });
          return other.top - one.bottom;
        })"""
    )
    assert ends
    assert max(ends) < 15, "no empty line between an object and its field manager"
