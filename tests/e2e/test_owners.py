"""The Owners tab in a real browser: the map, the table and one object as a tree, in both themes and on a phone."""

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import find_violations

pytestmark = pytest.mark.e2e
OWNERS = "/reviews/2/plans/1/owners/"


@pytest.mark.long
@pytest.mark.parametrize("query", ["", "?view=table", "?object=0", "?object=0&fold=0&defaults=0"])
def test_owners_have_no_finding_and_fit_a_phone(sign_in, query):
    page = sign_in("alice", reduced_motion="reduce")
    page.goto(OWNERS + query)
    expect(page.locator("#owners table").first).to_be_visible()

    assert find_violations(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
