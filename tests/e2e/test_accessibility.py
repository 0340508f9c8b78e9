"""Every page in both themes and three widths: no finding of axe, and nothing wider than the screen."""

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.e2e

PAGES = [
    "/",
    "/reviews/",
    "/reviews/new/",
    "/reviews/2/",
    "/reviews/2/plans/1/objects/0/diff/",
    "/reviews/2/plans/1/objects/0/requests/",
    "/reviews/2/plans/1/objects/0/owners/",
    "/reviews/2/plans/1/objects/0/yaml/",
    "/reviews/1/",
    "/reviews/2/plans/1/record/",
    "/runs/1/",
    "/history/",
    "/history/1/",
    "/history/objects/demo/apps/Deployment/shop/frontend/",
    "/clusters/",
    "/clusters/demo/",
    "/clusters/demo/rules/",
    "/guide/",
    "/guide/fields/",
    "/guide/conflicts/",
    "/playground/",
    "/playground/conflicts-1/",
    "/playground/lists-by-key-1/diff/",
]
WIDTHS = (360, 900, 1440, 2560)


def describe(findings: list[dict]) -> list[str]:
    return [f"{f['id']}: {node['target']} {node['failureSummary']}" for f in findings for node in f["nodes"][:3]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_have_no_finding(sign_in, theme):
    page = sign_in("alice", color_scheme=theme)
    found = {}
    for address in PAGES:
        page.goto(address)
        for row in page.locator("[data-field-row] > summary").all()[:2]:
            row.click()
        violations = describe(Axe().run(page).response["violations"])
        if violations:
            found[address] = violations

    assert found == {}


SETTINGS = ("policies/", "policies/new/", "calendar/", "teams/", "teams/new/", "people/", "people/new/", "people/bob/")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_settings_have_no_finding(sign_in, theme):
    page = sign_in("dana", color_scheme=theme)
    found = {}
    for address in SETTINGS:
        page.goto(f"/settings/{address}")
        violations = describe(Axe().run(page).response["violations"])
        if violations:
            found[address] = violations

    assert found == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_consent_and_login_have_no_finding(sign_in, product, browser, theme):
    page = sign_in("bob", color_scheme=theme)
    page.goto("/reviews/2/plans/1/confirm/")
    consent = describe(Axe().run(page).response["violations"])
    visitor = browser.new_page(color_scheme=theme)
    visitor.goto(f"{product.url}/login/")
    login = describe(Axe().run(visitor).response["violations"])
    visitor.close()

    assert (consent, login) == ([], [])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_verified_history_has_no_finding(sign_in, theme):
    page = sign_in("bob", color_scheme=theme)
    page.goto("/history/verify/")
    page.get_by_role("button", name="Verify the chain").click()
    page.get_by_text("entries are intact").wait_for()
    verified = describe(Axe().run(page).response["violations"])
    page.goto("/history/?text=frontend")
    offered = page.get_by_role("link", name="JSON Lines").count()

    assert (verified, offered, describe(Axe().run(page).response["violations"])) == ([], 1, [])


def test_no_page_is_wider_than_the_screen(sign_in):
    page = sign_in("alice")
    wide = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for address in PAGES:
            page.goto(address)
            needed = page.evaluate("document.documentElement.scrollWidth")
            if needed > width:
                wide[address, width] = needed

    assert list(wide.items()) == []
