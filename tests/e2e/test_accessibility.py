"""Every page in both themes and four widths: no finding of axe, and nothing wider than the screen."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from playwright.sync_api import Page, expect

from tests.e2e.test_main_job import drop_files

pytestmark = pytest.mark.e2e

# Each page with who opens it; what the demo lacks is made first.
PAGES = {
    "alice": [
        "/",
        "/reviews/",
        "/reviews/new/",
        "/reviews/2/",
        "/reviews/2/manifests/",
        "/reviews/2/plans/1/",
        "/reviews/2/overview/",
        "/reviews/2/plans/1/overview/",
        "/reviews/2/plans/1/changes/",
        "/reviews/2/plans/1/graph/",
        "/reviews/2/plans/1/graph/?node=deployment/checkout",
        "/reviews/2/plans/1/graph/?view=table",
        "/reviews/2/plans/1/owners/",
        "/reviews/2/plans/1/owners/?view=table",
        "/reviews/2/plans/1/owners/?object=34",
        "/reviews/2/plans/1/requests/",
        "/reviews/2/plans/1/activity/",
        "/reviews/2/plans/1/risks/",
        "/reviews/2/plans/1/objects/",
        "/reviews/2/plans/1/objects/0/diff/",
        "/reviews/2/plans/1/objects/0/requests/",
        "/reviews/2/plans/1/objects/0/owners/",
        "/reviews/2/plans/1/objects/0/yaml/",
        "/reviews/2/plans/1/objects/0/fields/0/",
        "/reviews/2/plans/1/record/",
        "{review}compare/",
        "/reviews/1/",
        "/runs/1/",
        "/runs/1/objects/0/",
        "/clusters/",
        "/clusters/demo/",
        "/clusters/demo/rules/",
        "/clusters/demo/managers/applyviz/",
        "/clusters/demo/findings/drifted/",
        "/notifications/",
        "/notifications/choices/",
        "/settings/tokens/accounts/new/",
        "/account/",
        "/account/password/",
        "/guide/",
        "/guide/fields/",
        "/guide/conflicts/",
        "/playground/",
        "/playground/conflicts-1/",
        "/playground/conflicts-1/fields/0/",
        "/playground/lists-by-key-1/diff/",
    ],
    "bob": ["/reviews/2/plans/1/confirm/", "/history/verify/", "/search/?q=checkout", "/runs/1/requests/"],
    "dana": [
        "/clusters/new/",
        "/clusters/demo/manage/",
        "/clusters/demo/manage/connection/",
        "/reauthenticate/",
        "/reviews/2/plans/1/emergency-apply/",
        "/history/",
        "/history/1/",
        "/history/people/alice/",
        "/history/clusters/demo/",
        "/history/managers/applyviz/",
        "/history/objects/demo/apps/Deployment/shop/frontend/",
        "/history/evidence/",
        "/history/retention/",
        "/settings/policies/",
        "/settings/policies/new/",
        "/settings/policies/{slug}/",
        "/settings/policies/{slug}/edit/",
        "/settings/calendar/",
        "/settings/people/",
        "/settings/people/new/",
        "/settings/people/pending/",
        "/settings/people/alice/",
        "/settings/teams/",
        "/settings/teams/new/",
        "/settings/teams/{slug}/",
        "/settings/identities/",
        "/settings/identities/new/",
        "/settings/tokens/",
        "/settings/tokens/new/",
        "/settings/webhooks/",
        "/settings/webhooks/new/",
        "/settings/installation/",
        "{webhook}",
    ],
}
WIDTHS = (360, 900, 1440, 2560)
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: compared}\ndata: {a: b}\n"
# Addresses that answer with a part of a page, a file, a stream or another address.
NO_PAGES = {
    "login-demo",
    "reviews:list-changes",
    "reviews:scroll-objects",
    "answer-kubectl",
    "api:no-address",
    "api:show-caller",
    "api:show-latest",
    "api:show-plan",
    "api:show-run",
    "clusters:show-state",
    "worker-requests:show-worker-request",
    "history:export-entries",
    "history:export-evidence",
    "logout",
    "notifications:open-notification",
    "notifications:show-bell",
    "reviews:export-graph",
    "reviews:keep-requests",
    "reviews:plan-events",
    "reviews:show-file",
    "reviews:show-patch",
    "runs:run-events",
}
# Pages that another test looks at in a state that the demo is not in.
ELSEWHERE = {
    "reviews:propose-rule",
    "reviews:resolve-everywhere",
    "reviews:edit-comment",
    "reviews:show-watch",
    "clusters:adopt-object",
    "login",
    "claim",
}


def describe(findings: list[dict]) -> list[str]:
    return [f"{f['id']}: {node['target']} {node['failureSummary']}" for f in findings for node in f["nodes"][:3]]


def make_plans(page: Page) -> str:
    """A review with two plans; gives its address."""
    page.goto("/reviews/new/")
    drop_files(page, {"compared.yaml": MANIFEST})
    page.get_by_label("Title").fill("Two plans")
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)
    found = re.search(r"/reviews/\d+/", page.url)
    assert found
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    page.request.post(f"{found[0]}replan/", form={"csrfmiddlewaretoken": token}, headers={"Referer": page.url})
    page.goto(found[0])
    expect(page.locator("[data-stream]")).to_have_count(0)
    return found[0]


def make_settings(page: Page, slug: str) -> str:
    """A team, a policy of a cluster that nobody uses, and a webhook; gives the webhook's address."""
    page.goto("/settings/teams/new/")
    page.get_by_label("Slug").fill(slug)
    page.get_by_label("Name", exact=True).fill(slug)
    page.get_by_role("button", name="Create team").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(slug)
    page.goto("/settings/policies/new/")
    page.get_by_label("Slug").fill(slug)
    page.get_by_label("Clusters").fill("elsewhere")
    page.get_by_role("button", name="Publish version").click()
    expect(page.locator(".messages")).to_contain_text("Version 1 published.")
    page.goto("/settings/webhooks/new/")
    page.get_by_label("Name").fill(slug)
    page.get_by_label("Address").fill("https://example.com/hook")
    page.get_by_label("Secret").fill(secrets.token_hex(32))
    page.get_by_role("button", name="Add webhook").click()
    page.wait_for_url(re.compile(r"/settings/webhooks/\d+/"))
    return page.url.partition("/settings")[1] + page.url.partition("/settings")[2]


def find_wide(page: Page) -> dict[int, int]:
    """What the page needs where that is more than the width of a screen, by that width."""
    wide = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        needed = page.evaluate("document.documentElement.scrollWidth")
        if needed > width:
            wide[width] = needed
    page.set_viewport_size({"width": 1440, "height": 1000})
    return wide


@contextmanager
def every_page(sign_in, theme: str) -> Iterator[Iterator[tuple[Page, str]]]:
    """Each page in the browser of who may open it; what is made for it is taken back."""
    browsers = {name: sign_in(name, color_scheme=theme) for name in PAGES}
    slug = f"a{secrets.token_hex(4)}"
    places = {"slug": slug, "review": make_plans(browsers["alice"])}
    places["webhook"] = make_settings(browsers["dana"], slug)
    try:
        yield ((browsers[name], address.format(**places)) for name, addresses in PAGES.items() for address in addresses)
    finally:
        browsers["dana"].goto(f"/settings/policies/{slug}/")
        browsers["dana"].get_by_role("button", name="Archive policy").click()
        expect(browsers["dana"].locator(".messages")).to_contain_text("Policy archived.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_have_no_finding_and_fit_every_screen(sign_in, theme):
    found, wide = {}, {}
    with every_page(sign_in, theme) as pages:
        for page, address in pages:
            answer = page.goto(address)
            assert (address, answer and answer.status) == (address, 200)
            for row in page.locator("[data-field-row] > summary").all()[:2]:
                row.click()
            violations = describe(Axe().run(page).response["violations"])
            if violations:
                found[address] = violations
            if theme == "light" and (needed := find_wide(page)):
                wide[address] = needed

    assert (found, wide) == ({}, {})


def walk_patterns(resolver: URLResolver, names: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Each address pattern with its whole name."""
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from walk_patterns(one, f"{names}{one.namespace}:" if one.namespace else names)
        else:
            yield names + str(one.name), one


def takes_get(pattern: URLPattern) -> bool:
    """Whether a view answers GET, asked of its own guard."""
    methods = getattr(pattern.callback, "methods", ("GET",))
    return "GET" in methods


def test_every_page_is_looked_at():
    known = {
        resolve(
            address.format(slug="x", review="/reviews/1/", webhook="/settings/webhooks/1/").partition("?")[0]
        ).view_name
        for addresses in PAGES.values()
        for address in addresses
    }
    pages = {name for name, pattern in walk_patterns(get_resolver()) if takes_get(pattern)}

    assert sorted(pages - known - NO_PAGES - ELSEWHERE) == []


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
def test_approval_and_login_have_no_finding(sign_in, product, browser, theme):
    page = sign_in("bob", color_scheme=theme)
    page.goto("/reviews/2/plans/1/confirm/")
    consent = describe(Axe().run(page).response["violations"])
    visitor = browser.new_page(color_scheme=theme)
    visitor.goto(f"{product.url}/login/")
    login = describe(Axe().run(visitor).response["violations"])
    visitor.close()

    assert (consent, login) == ([], [])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_claim_of_an_account_has_no_finding_and_fits_every_screen(sign_in, browser, theme):
    page = sign_in("dana", color_scheme=theme)
    page.goto("/settings/people/new/")
    page.get_by_label("Name").fill(f"frank-{secrets.token_hex(3)}")
    page.get_by_role("button", name="Create account").click()
    link = page.locator("[data-claim]").inner_text()
    invited = (describe(Axe().run(page).response["violations"]), find_wide(page))
    visitor = browser.new_page(color_scheme=theme)
    visitor.goto(link)
    claim = (describe(Axe().run(visitor).response["violations"]), find_wide(visitor))
    visitor.get_by_label("New password", exact=True).fill(secrets.token_urlsafe(12))
    visitor.get_by_label("Repeat new password").fill("another")
    visitor.get_by_role("button", name="Set password").click()
    expect(visitor.get_by_label("Repeat new password")).to_have_attribute("aria-invalid", "true")
    refused = (describe(Axe().run(visitor).response["violations"]), find_wide(visitor))
    visitor.close()

    assert (invited, claim, refused) == (([], {}), ([], {}), ([], {}))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_verified_history_has_no_finding(sign_in, theme):
    page = sign_in("bob", color_scheme=theme)
    page.goto("/history/verify/")
    page.get_by_role("button", name="Verify integrity").click()
    page.get_by_text("entries are intact").wait_for()
    verified = describe(Axe().run(page).response["violations"])
    page.goto("/history/?text=frontend")
    expect(page.get_by_role("link", name="JSON Lines")).to_have_count(1)

    assert (verified, describe(Axe().run(page).response["violations"])) == ([], [])
