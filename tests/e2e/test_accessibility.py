"""Every page in both themes and five widths: no finding of axe, and nothing wider than the screen."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import CORE_WIDTHS, WIDTHS, find_violations, find_wide
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
        "/reviews/2/follow/",
        "/reviews/2/reviewers/",
        "/reviews/2/plans/1/",
        "/reviews/2/overview/",
        "/reviews/2/plans/1/overview/",
        "/reviews/2/plans/1/changes/",
        "/reviews/2/plans/1/changes/?q=checkout",
        "/reviews/2/plans/1/graph/",
        "/reviews/2/plans/1/graph/?node=deployment/checkout",
        "/reviews/2/plans/1/graph/?view=table",
        "/reviews/2/plans/1/owners/",
        "/reviews/2/plans/1/owners/?view=table",
        "/reviews/2/plans/1/owners/?object=34",
        "/reviews/2/plans/1/addons/",
        "/reviews/2/plans/1/requests/",
        "/reviews/2/plans/1/activity/",
        "/reviews/2/plans/1/risks/",
        "/reviews/2/plans/1/changes/?only=0&view=diff",
        "/reviews/2/plans/1/changes/?only=0&view=requests",
        "/reviews/2/plans/1/changes/?only=0&view=owners",
        "/reviews/2/plans/1/changes/?only=0&view=yaml",
        "/reviews/2/plans/1/objects/0/fields/0/",
        "/reviews/2/plans/1/objects/0/fields/0/comments/",
        "/reviews/2/plans/1/objects/0/lines/?text=after",
        "/reviews/2/plans/1/comments/collected/",
        "/reviews/2/plans/1/objects/0/hand-over/",
        "/reviews/2/plans/1/objects/0/take/",
        "/reviews/2/plans/1/objects/0/last-applied/",
        "/reviews/2/plans/1/ownership/",
        "/reviews/2/plans/1/others/",
        "/reviews/2/plans/1/record/",
        "{review}compare/",
        "/reviews/1/",
        "/runs/",
        "/runs/?state=failed",
        "/runs/1/",
        "/runs/1/live/",
        "/runs/1/objects/0/",
        "/clusters/",
        "/clusters/demo/",
        "/clusters/demo/objects/",
        "/clusters/demo/managers/",
        "/clusters/demo/applysets/",
        "/clusters/demo/runs/",
        "/clusters/demo/settings/",
        "/clusters/demo/rules/",
        "/clusters/demo/managers/applyviz/",
        "/clusters/demo/findings/drifted/",
        "/clusters/demo/findings/unreviewed/",
        "/clusters/demo/objects/?q=nothing",
        "/clusters/demo/adopt/apps/Deployment/shop/frontend/",
        "/notifications/",
        "/notifications/choices/",
        "/settings/tokens/accounts/new/",
        "/account/",
        "/account/password/",
        "/account/identities/",
        "/guide/",
        "/guide/fields/",
        "/guide/conflicts/",
        "/playground/",
        "/playground/sets/",
        "/playground/sets/prune-1/",
        "/playground/sets/deletions-1/",
        "/playground/channels/",
        "/playground/channels/channels-1/",
        "/playground/conflicts-1/",
        "/playground/conflicts-1/fields/0/",
        "/playground/lists-by-key-1/diff/",
    ],
    "bob": [
        "/reviews/2/plans/1/schedule/",
        "/reviews/3/plans/1/schedule/",
        "/reviews/2/plans/1/confirm/",
        "/history/verify/",
        "/history/?text=frontend",
        "/search/?q=checkout",
        "/runs/1/requests/",
        "/runs/1/graph/",
    ],
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
        "/settings/presets/",
        "/settings/presets/new/",
        "/settings/presets/shop/",
        "/settings/repositories/",
        "/settings/repositories/new/",
        "{repository}",
        "/settings/repositories/pushes/new/",
        "{push}",
        "/settings/webhooks/",
        "/settings/webhooks/new/",
        "/settings/installation/",
        "{webhook}",
    ],
}
# What people see every day; the long lane looks at all pages.
MAIN = {
    "/",
    "/reviews/new/",
    "/reviews/2/plans/1/overview/",
    # The objects of one name, a conflict among them: axe takes 12 s for all changes.
    "/reviews/2/plans/1/changes/?q=checkout",
    "/reviews/2/plans/1/risks/",
    "/reviews/2/plans/1/confirm/",
    "/runs/1/",
}
SAMPLES = {
    "slug": "x",
    "review": "/reviews/1/",
    "webhook": "/settings/webhooks/1/",
    "repository": "/settings/repositories/1/",
    "push": "/settings/repositories/pushes/1/",
}
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: compared}\ndata: {a: b}\n"
# Addresses that answer with a part of a page, a file, a stream or another address.
NO_PAGES = {
    "login-demo",
    "reviews:list-changes",
    "reviews:scroll-objects",
    "answer-kubectl",
    "api:no-address",
    "api:show-caller",
    "api:follow-branch",
    "api:request-reviewers",
    "take-push",
    "api:show-latest",
    "api:show-plan",
    "api:show-run",
    "clusters:download-kubeconfig",
    "clusters:show-state",
    "worker-requests:show-worker-request",
    "history:export-entries",
    "history:export-evidence",
    "logout",
    "notifications:open-notification",
    "notifications:show-bell",
    "reviews:export-graph",
    "reviews:keep-requests",
    "reviews:live-comparison",
    "reviews:plan-events",
    "reviews:show-file",
    "reviews:show-patch",
    "reviews:show-edited",
    "runs:run-events",
}
# Pages that another test looks at in a state that the demo is not in.
ELSEWHERE = {
    "reviews:propose-rule",
    "reviews:resolve-everywhere",
    "reviews:edit-comment",
    "reviews:show-watch",
    "reviews:show-source-changes",
    "login",
    "claim",
    "verify-identity",
}


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
    page.request.post(f"{found[0]}plans/1/replan/", form={"csrfmiddlewaretoken": token}, headers={"Referer": page.url})
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


def make_credential(page: Page, slug: str) -> str:
    """A deploy key for a repository; gives the address of its page."""
    page.goto("/settings/repositories/new/")
    page.get_by_label("Address").fill(f"git@git.example.com:team/{slug}.git")
    page.get_by_label("Host keys").fill(HOST_KEY)
    page.get_by_role("button", name="Add credential").click()
    page.wait_for_url(re.compile(r"/settings/repositories/\d+/"))
    return page.url.partition("/settings")[1] + page.url.partition("/settings")[2]


def make_push_webhook(page: Page, slug: str) -> str:
    """A push webhook of a repository; gives the address of its page."""
    page.goto("/settings/repositories/pushes/new/")
    page.get_by_label("Repository").fill(f"https://github.com/team/{slug}")
    page.get_by_role("button", name="Add push webhook").click()
    address = page.get_by_role("link", name="Deliveries").get_attribute("href")
    assert address
    return address


@contextmanager
def every_page(sign_in) -> Iterator[Iterator[tuple[Page, str]]]:
    """Every page in the browser of who may open it; what is made for it is taken back."""
    browsers = {name: sign_in(name) for name in PAGES}
    slug = f"a{secrets.token_hex(4)}"
    places = {"slug": slug, "review": make_plans(browsers["alice"])}
    places["webhook"] = make_settings(browsers["dana"], slug)
    places["repository"] = make_credential(browsers["dana"], slug)
    places["push"] = make_push_webhook(browsers["dana"], slug)
    try:
        yield ((browsers[name], address.format(**places)) for name, addresses in PAGES.items() for address in addresses)
    finally:
        browsers["dana"].goto(f"/settings/policies/{slug}/")
        browsers["dana"].get_by_text("Archive policy…").click()
        browsers["dana"].get_by_role("button", name="Archive policy", exact=True).click()
        expect(browsers["dana"].locator(".messages")).to_contain_text("Policy archived.")


@contextmanager
def main_pages(sign_in) -> Iterator[Iterator[tuple[Page, str]]]:
    """The pages of every day, for which nothing has to be made."""
    browsers = {name: sign_in(name) for name in PAGES}
    yield ((browsers[name], address) for name in PAGES for address in PAGES[name] if address in MAIN)


@pytest.mark.parametrize(
    ("which", "widths"), [(main_pages, CORE_WIDTHS), pytest.param(every_page, WIDTHS, marks=pytest.mark.long)]
)
def test_pages_have_no_finding_and_fit_every_screen(sign_in, which, widths):
    found, wide = {}, {}
    with which(sign_in) as pages:
        for page, address in pages:
            answer = page.goto(address)
            assert (address, answer and answer.status) == (address, 200)
            for row in page.locator("[data-field-row] > summary").all()[:2]:
                row.click()
            if violations := find_violations(page):
                found[address] = violations
            if needed := find_wide(page, widths):
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
        resolve(address.format(**SAMPLES).partition("?")[0]).view_name
        for addresses in PAGES.values()
        for address in addresses
    }
    pages = {name for name, pattern in walk_patterns(get_resolver()) if takes_get(pattern)}

    assert sorted(pages - known - NO_PAGES - ELSEWHERE) == []


def test_login_has_no_finding(product, browser):
    visitor = browser.new_page()
    visitor.goto(f"{product.url}/login/")

    assert find_violations(visitor) == []
    visitor.close()


@pytest.mark.long
def test_claim_of_an_account_has_no_finding_and_fits_every_screen(sign_in, browser):
    page = sign_in("dana")
    page.goto("/settings/people/new/")
    page.get_by_label("Name").fill(f"frank-{secrets.token_hex(3)}")
    page.get_by_role("button", name="Create account").click()
    link = page.locator("[data-claim]").inner_text()
    invited = (find_violations(page), find_wide(page))
    visitor = browser.new_page()
    visitor.goto(link)
    claim = (find_violations(visitor), find_wide(visitor))
    visitor.get_by_label("New password", exact=True).fill(secrets.token_urlsafe(12))
    visitor.get_by_label("Repeat new password").fill("another")
    visitor.get_by_role("button", name="Set password").click()
    expect(visitor.get_by_label("Repeat new password")).to_have_attribute("aria-invalid", "true")
    refused = (find_violations(visitor), find_wide(visitor))
    visitor.close()

    assert (invited, claim, refused) == (([], {}), ([], {}), ([], {}))


@pytest.mark.long
def test_verified_history_has_no_finding(sign_in):
    page = sign_in("bob")
    page.goto("/history/verify/")
    page.get_by_role("button", name="Verify integrity").click()
    page.get_by_text("entries are intact").wait_for()
    verified = find_violations(page)
    page.goto("/history/?text=frontend")
    expect(page.get_by_role("link", name="JSON Lines")).to_have_count(1)

    assert (verified, find_violations(page)) == ([], [])
