"""The change record on a screen folds what is long; on paper it has all of it."""

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import find_violations

pytestmark = [pytest.mark.e2e, pytest.mark.long]
RECORD = "/reviews/2/plans/1/record/"


def test_what_is_long_is_folded_on_the_screen_and_printed_whole(sign_in):
    page = sign_in("bob")
    page.goto(RECORD)
    folds, shut = page.locator("[data-fold]"), page.locator("[data-fold]:not([open])")
    expect(page.get_by_role("button", name="Unfold all")).to_be_visible()
    expect(shut).to_have_count(folds.count())
    assert find_violations(page) == []
    folded = page.evaluate("document.documentElement.scrollHeight")

    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(shut).to_have_count(0)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(shut).to_have_count(folds.count())
    page.get_by_role("button", name="Unfold all").click()

    expect(shut).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollHeight") > folded


def test_nothing_is_folded_without_script(sign_in):
    page = sign_in("bob", java_script_enabled=False)
    page.goto(RECORD)

    assert page.locator("[data-fold]").count() > 0
    expect(page.locator("[data-fold]:not([open])")).to_have_count(0)
    expect(page.get_by_role("button", name="Unfold all")).to_have_count(0)
