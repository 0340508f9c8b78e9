"""A session ends while a person types: the form says so, keeps the input, and can be sent after a new sign-in."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.e2e, pytest.mark.long]
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n"
SESSION = "applyviz_session"


def sign_in_elsewhere(page: Page, name: str, password: str) -> None:
    """Follow the link of the notice, which opens another tab, and sign in there."""
    with page.context.expect_page() as opened:
        page.locator("form [data-signed-out] a").click()
    tab = opened.value
    tab.get_by_label("Name").fill(name)
    tab.get_by_label("Password").fill(password)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("button", name="Sign out")).to_be_visible()
    tab.close()


def test_form_is_kept_and_sent_after_a_sign_in_in_another_tab(sign_in, product, sessions):
    page = sign_in("alice", is_let_in=False)
    sessions.pop("alice")  # its cookie is of no use to later tests
    page.goto("/reviews/new/")
    page.get_by_label("Title").fill("Kept")
    page.get_by_label("Paste").fill(MANIFEST)
    page.context.clear_cookies(name=SESSION)
    page.get_by_role("button", name="Create plan").click()

    said = page.locator("form [data-signed-out]")
    ended, other = said.get_by_text("your session has ended"), said.get_by_text("Another account is signed in now")
    expect(ended).to_be_visible()
    expect(other).to_be_hidden()
    expect(said).to_be_focused()
    expect(page.get_by_label("Paste")).to_have_value(MANIFEST)
    sign_in_elsewhere(page, "bob", product.passwords["bob"])
    page.get_by_role("button", name="Create plan").click()
    expect(other).to_be_visible()
    page.context.clear_cookies(name=SESSION)
    page.get_by_role("button", name="Create plan").click()
    expect(ended).to_be_visible()
    sign_in_elsewhere(page, "alice", product.passwords["alice"])
    page.get_by_role("button", name="Create plan").click()

    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Kept")


def test_refused_form_is_kept_too(sign_in, sessions):
    page = sign_in("alice", is_let_in=False)
    sessions.pop("alice")
    page.goto("/reviews/new/")
    page.get_by_label("Title").fill("Refused")
    page.get_by_label("Paste").fill("kind: [")
    with page.expect_response(lambda answer: answer.status == 422):
        page.get_by_role("button", name="Create plan").click()
    expect(page.get_by_text("1 problem in the manifests")).to_be_visible()
    page.context.clear_cookies(name=SESSION)
    page.get_by_role("button", name="Create plan").click()

    expect(page.locator("form [data-signed-out]").get_by_text("your session has ended")).to_be_visible()
    expect(page.get_by_label("Paste")).to_have_value("kind: [")


def test_form_is_busy_until_the_server_answers(sign_in):
    page = sign_in("alice")
    page.goto("/reviews/new/")
    page.get_by_label("Title").fill("Slow")
    page.get_by_label("Paste").fill(MANIFEST)
    held = []
    page.route("**/account/", lambda asked: held.append(asked))
    page.get_by_role("button", name="Create plan").click(no_wait_after=True)

    expect(page.locator("form[aria-busy=true] button[data-sending]")).to_have_text("Create plan")
    expect(page).to_have_url(re.compile("/reviews/new/$"))
    held[0].continue_()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))


def test_part_that_is_asked_for_says_that_the_session_ended(sign_in, sessions):
    page = sign_in("bob", is_let_in=False)
    sessions.pop("bob")
    page.goto("/reviews/2/plans/1/changes/?only=4")
    page.context.clear_cookies(name=SESSION)
    page.locator("#pane").get_by_role("link", name="Diff", exact=True).click()

    expect(page.locator(".lost[data-signed-out]").get_by_text("your session has ended")).to_be_visible()


def test_notice_stays_below_the_bar_of_a_phone(sign_in, sessions):
    page = sign_in("bob", is_let_in=False)
    sessions.pop("bob")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/reviews/2/plans/1/changes/?only=4&view=diff")
    page.context.clear_cookies(name=SESSION)
    page.locator("[data-line-comments]").get_by_role("link", name="on lines").click()
    notice = page.locator(".lost[data-signed-out]")
    expect(notice).to_be_visible()
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")

    bar = page.locator(".title-bar").bounding_box()
    assert notice.bounding_box()["y"] >= bar["y"] + bar["height"]
