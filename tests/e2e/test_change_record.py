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


def test_lines_of_a_change_stand_beside_their_sign_on_a_phone(sign_in):
    page = sign_in("bob", has_touch=True, is_mobile=True)
    page.set_viewport_size({"width": 390, "height": 844})

    page.goto(RECORD)
    page.get_by_role("button", name="Unfold all").click()

    lines = page.locator(".diff tr:is(.is-added, .is-removed):not(:has(.gutter:first-child))")
    tops = lines.evaluate_all(
        "all => all.map(one => [...one.querySelectorAll('.sign, .text')].map(cell => cell.getBoundingClientRect().top))"
    )
    assert tops
    assert [(sign, text) for sign, text in tops if sign != text] == []


def test_owner_takes_no_line_for_each_part_of_its_name(sign_in):
    page = sign_in("bob")

    page.goto(RECORD)
    page.get_by_role("button", name="Unfold all").click()

    name = page.locator(".printed .owner .name").first
    name.evaluate(
        "one => { one.textContent = 'kube-controller-manager'; one.nextElementSibling.textContent = 'Update · scale'; }"
    )
    box = name.bounding_box()
    assert box is not None
    assert box["height"] < 24


def test_button_that_compares_a_file_is_as_wide_as_its_words(sign_in):
    page = sign_in("bob")

    page.goto(RECORD)

    box = page.get_by_role("button", name="Compare").bounding_box()
    assert box is not None
    assert box["width"] < 120
