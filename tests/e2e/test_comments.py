"""Comments on fields in the scroll of Changes: opened in place, collected, and sent together."""

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import find_violations

pytestmark = pytest.mark.e2e


@pytest.mark.long
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


CHANGES = "/reviews/2/plans/1/changes/"


def number_of(page, row: int, side: int):
    """The cell with the number of a line, of the first diff of the scroll."""
    rows = page.locator("[data-scroll-object]").first.locator(".diff tr:not(.is-fold)")
    return rows.nth(row).locator(".no").nth(side)


@pytest.mark.long
@pytest.mark.parametrize("width", [1440, 390])
def test_lines_of_the_diff_are_chosen_by_their_numbers_and_sent_with_the_verdict(sign_in, width):
    page = sign_in("bob", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{CHANGES}?view=diff")
    shown = page.locator("[data-scroll-object]").first
    first, last = number_of(page, 0, 1).inner_text(), number_of(page, 2, 1).inner_text()

    number_of(page, 0, 1).click()
    expect(shown.locator("[data-first-line]")).to_have_value(first)
    number_of(page, 2, 1).click(modifiers=["Shift"])
    expect(shown.locator("[data-last-line]")).to_have_value(last)
    expect(shown.locator(".is-chosen-line")).to_have_count(int(last) - int(first) + 1)
    expect(shown.get_by_label("Comment", exact=False).last).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.type(f"Why these, on {width}?")
    shown.get_by_role("button", name="Add to my review").click()

    expect(shown.get_by_text("only you see it until you send it").first).to_be_visible()
    page.locator("#collected").get_by_role("link").click()
    expect(page.get_by_text(f"lines {first} to {last}, after apply, in the diff").first).to_be_visible()
    page.get_by_role("button", name="Send comments").click()
    expect(page.locator(".said", has_text=f"Why these, on {width}?")).to_be_visible()


@pytest.mark.long
def test_a_drag_over_numbers_of_yaml_chooses_lines_and_the_link_of_the_comment_leads_back(sign_in):
    page = sign_in("bob", reduced_motion="reduce")
    page.goto(f"{CHANGES}?only=1&view=yaml")
    lines = page.locator(".yaml .ln")
    start, end = lines.nth(0).bounding_box(), lines.nth(2).bounding_box()
    page.mouse.move(start["x"] + 20, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(end["x"] + 20, end["y"] + 8)
    page.mouse.up()

    part = page.locator("[data-line-comments]")
    expect(part.locator("[data-first-line]")).to_have_value("1")
    expect(part.locator("[data-last-line]")).to_have_value("3")
    part.get_by_label("Comment", exact=False).last.fill("All three?")
    part.get_by_role("button", name="Comment", exact=True).click()
    link = part.get_by_role("link", name="lines 1 to 3, after apply").first
    expect(link).to_be_visible()
    assert find_violations(page) == []
    page.goto(link.get_attribute("href"))
    expect(page.locator(".yaml .is-chosen-line")).to_have_count(3)
    expect(lines.nth(0)).to_be_in_viewport()


@pytest.mark.long
def test_lines_are_typed_by_keyboard_and_marked(sign_in):
    page = sign_in("bob", reduced_motion="reduce")
    page.goto(f"{CHANGES}?view=diff")
    shown = page.locator("[data-scroll-object]").first
    first = number_of(page, 0, 1).inner_text()
    shown.get_by_role("link", name="on lines").focus()
    page.keyboard.press("Enter")
    shown.get_by_label("from", exact=True).focus()
    page.keyboard.type(first)

    expect(shown.locator(".is-chosen-line")).to_have_count(1)
    expect(shown.locator(".is-chosen-line")).to_have_text(first)


@pytest.mark.long
def test_lines_are_commented_on_without_script(sign_in):
    page = sign_in("bob", java_script_enabled=False)
    page.goto(f"{CHANGES}?view=diff")
    page.get_by_role("link", name="on lines").first.click()
    page.get_by_label("from", exact=True).fill("2")
    page.get_by_label("to", exact=True).fill("4")
    page.get_by_label("Comment", exact=False).last.fill("Without a script")
    page.get_by_role("button", name="Comment", exact=True).click()

    expect(page.get_by_role("link", name="lines 2 to 4, after apply, in the diff").first).to_be_visible()
    expect(page.locator(".said", has_text="Without a script")).to_be_visible()
