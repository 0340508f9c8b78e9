"""Comments on fields in the scroll of Changes: opened in place, collected, and sent together."""

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import find_violations

pytestmark = pytest.mark.e2e


def test_a_comment_is_collected_where_the_field_is_read_and_sent(sign_in):
    page = sign_in("bob")
    page.goto("/reviews/2/plans/1/changes/")
    row = page.locator(".change:not(.is-conflict)").first
    row.locator("summary").first.click()
    row.get_by_role("link", name="Comments", exact=True).click()
    row.get_by_label("Comment").fill("Why not 3?")
    row.get_by_role("button", name="Add to my review").click()

    expect(row.get_by_text("only you see it until you send it")).to_be_visible()
    expect(page.locator("#collected")).to_contain_text("Send 1 collected comment")
    assert find_violations(page) == []
    page.locator("#collected").get_by_role("link").click()
    page.get_by_label("Comment on the review").fill("One question")
    page.get_by_role("button", name="Send comments").click()
    expect(page.get_by_text("1 comment sent.")).to_be_visible()
    expect(page.locator(".said", has_text="Why not 3?")).to_be_visible()
