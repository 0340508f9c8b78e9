"""History, evidence and the page of a cluster in a real browser: by keyboard, at 360 pixels, in both themes."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e

AUDITED = [
    "/history/",
    "/history/1/",
    "/history/?text=frontend",
    "/history/people/alice/",
    "/history/clusters/demo/",
    "/history/managers/applyviz/",
    "/history/objects/demo/apps/Deployment/shop/frontend/",
    "/history/evidence/",
    "/history/retention/",
    "/history/verify/",
]
OF_AUTHORS = [
    "/clusters/demo/",
    "/clusters/demo/state/",
    "/clusters/demo/findings/unreviewed/",
    "/clusters/demo/managers/applyviz/",
    "/clusters/demo/adopt/apps/Deployment/shop/frontend/",
]


def describe(findings: list[dict]) -> list[str]:
    return [f"{f['id']}: {node['target']} {node['failureSummary']}" for f in findings for node in f["nodes"][:3]]


def look_now(page):
    """Ask for a scan and wait for its end."""
    page.goto("/clusters/demo/")
    page.locator("#findings").evaluate("findings => findings.dataset.before = ''")
    page.get_by_role("button", name="Scan now").click()  # disabled while a scan runs, so the click waits
    expect(page.locator("#findings:not([data-before])")).to_contain_text("scanned on")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_history_pages_have_no_finding(sign_in, theme):
    author, auditor = sign_in("alice", color_scheme=theme), sign_in("bob", color_scheme=theme)
    look_now(author)
    found = {}
    for page, addresses in ((auditor, AUDITED), (author, OF_AUTHORS)):
        for address in addresses:
            assert page.goto(address).status == 200, address
            page.wait_for_load_state("networkidle")
            violations = describe(Axe().run(page).response["violations"])
            if violations:
                found[address] = violations

    assert found == {}


def test_history_pages_fit_a_phone(sign_in):
    author, auditor = sign_in("alice"), sign_in("bob")
    wide = {}
    for page, addresses in ((auditor, AUDITED), (author, OF_AUTHORS)):
        page.set_viewport_size({"width": 360, "height": 800})
        for address in addresses:
            page.goto(address)
            page.wait_for_load_state("networkidle")
            needed = page.evaluate("document.documentElement.scrollWidth")
            if needed > 360:
                wide[address] = needed

    assert wide == {}


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
