"""High risks count as viewed once all of their rows stayed on the screen, and only then."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import forget_views, look_through

pytestmark = pytest.mark.e2e
CHANGES = "/reviews/2/plans/1/changes/"
SIZES = [{"width": 1440, "height": 900}, {"width": 390, "height": 844}]


@pytest.fixture
def changes(sign_in) -> Page:
    """The changes of the demo's upgrade, none of them viewed: the window ends above the first one."""
    page = sign_in("bob", reduced_motion="reduce")
    page.set_viewport_size({"width": 1440, "height": 160})
    forget_views(page, CHANGES)
    expect(page.locator("#viewed")).to_contain_text("Viewed 0 of")
    return page


def count_viewed(page: Page) -> int:
    return int(re.search(r"Viewed (\d+) of", page.locator("#viewed").inner_text())[1])


@pytest.mark.core(1)
@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_reading_through_the_changes_views_every_high_risk(changes, size):
    page = changes
    positions = page.locator("[data-watched]").evaluate_all("all => all.map(one => one.dataset.watched)")
    assert positions

    page.set_viewport_size(size)
    look_through(page)

    expect(page.locator("#viewed")).to_contain_text(f"Viewed {len(positions)} of 38")
    for position in positions:
        expect(page.locator(f"#object-{position} [data-viewed-box]")).to_be_checked()
        expect(page.locator(f"#object-{position} .object-folded")).to_have_count(0)


@pytest.mark.long
def test_what_is_flung_past_or_hidden_by_a_bar_does_not_count(changes):
    page = changes
    page.set_viewport_size(SIZES[1])
    watched = page.locator("[data-watched]").first
    expect(watched).to_be_attached()
    # The last row of the object ends behind the bar with the next act.
    watched.evaluate(
        """one => {
          const bar = document.querySelector(".review-header .go").getBoundingClientRect();
          scrollBy(0, one.getBoundingClientRect().bottom - bar.top - 20);
        }"""
    )
    page.wait_for_timeout(1_200)
    before = count_viewed(page)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(1_200)

    assert (before, count_viewed(page)) == (0, 0)


@pytest.mark.long
def test_tick_that_was_taken_away_stays_away(changes):
    page = changes
    position = page.locator("[data-watched]").first.get_attribute("data-watched")
    page.set_viewport_size(SIZES[0])
    look_through(page)
    viewed = count_viewed(page)

    page.locator(f"#object-{position} [data-viewed-box]").uncheck()
    expect(page.locator("#viewed")).to_contain_text(f"Viewed {viewed - 1} of")
    page.wait_for_timeout(1_200)

    assert count_viewed(page) == viewed - 1


@pytest.mark.long
def test_object_alone_has_its_box_and_counts_what_was_on_the_screen(changes):
    page = changes
    position = page.locator("[data-watched]").first.get_attribute("data-watched")
    page.set_viewport_size(SIZES[0])
    page.goto(f"/reviews/2/plans/1/changes/?only={position}")
    box = page.locator("#pane [data-viewed-box]")

    look_through(page)
    expect(box).to_be_checked()
    box.uncheck()

    expect(page.locator("#viewed")).to_contain_text("Viewed")
    page.reload()
    expect(page.locator("#pane [data-viewed-box]")).not_to_be_checked()


@pytest.mark.long
def test_what_is_seen_until_an_answer_arrives_counts(changes):
    """The answer replaces the form that sends, so a second request meanwhile would be lost."""
    page = changes
    held = []
    page.route("**/changes/viewed/", lambda route: route.continue_() if held else held.append(route))
    page.set_viewport_size(SIZES[0])
    positions = page.locator("[data-watched]").evaluate_all("all => all.map(one => one.dataset.watched)")
    for position in positions:
        page.locator(f"#object-{position}").evaluate(
            "one => scrollBy({ top: one.getBoundingClientRect().top - 200, behavior: 'instant' })"
        )
        page.wait_for_timeout(1_000)
    assert held
    assert count_viewed(page) == 0

    held[0].continue_()

    expect(page.locator("#viewed")).to_contain_text(f"Viewed {len(positions)} of 38")
