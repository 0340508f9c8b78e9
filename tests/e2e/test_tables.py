"""Tables and lists in a browser: shared columns, cells in one line, whole names, cards that are low on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.e2e, pytest.mark.long]
PHONE = {"width": 390, "height": 844}
# The left edge of each head of each table.
EDGES = """all => all.map(table =>
  [...table.querySelectorAll("thead th")].map(one => one.getBoundingClientRect().left))"""
# Texts of two cells of a row that overlap.
OVERLAPPING = """all => all.flatMap(row => {
  const cells = [...row.cells].map(cell => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect();
  }).filter(box => box.width);
  return cells.slice(1).filter((box, n) => box.left < cells[n].right - 0.5).map(() => row.innerText);
})"""


@pytest.mark.parametrize("width", [1100, 1440, 1920])
def test_tables_of_all_kinds_of_drift_share_their_columns(sign_in, width):
    page = sign_in("alice")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/clusters/demo/")
    tables = page.locator("details[open] > .finding-rows")
    expect(tables).to_have_count(2)

    first, second = tables.evaluate_all(EDGES)
    assert first == second
    assert tables.locator("tbody tr").evaluate_all(OVERLAPPING) == []


@pytest.mark.parametrize(
    ("address", "row", "most"),
    [
        ("/reviews/", "#reviews tbody tr", 132),
        ("/runs/", "#runs tbody tr", 110),
        ("/search/?q=replicas", ".found-fields tbody tr", 110),
    ],
)
def test_cards_of_a_list_are_low_on_a_phone(sign_in, address, row, most):
    page = sign_in("alice", has_touch=True, is_mobile=True)
    page.set_viewport_size(PHONE)
    page.goto(address)

    heights = page.locator(row).evaluate_all("all => all.map(one => one.offsetHeight)")
    assert heights
    assert max(heights) <= most


def test_glyph_stands_in_the_first_line_of_a_long_name_on_a_phone(sign_in):
    page = sign_in("alice", has_touch=True, is_mobile=True)
    page.set_viewport_size(PHONE)
    page.goto("/reviews/2/plans/1/requests/")

    shifts = page.locator(".request-list td:first-child").evaluate_all(
        """all => all.filter(one => one.querySelector("a")).map(one => {
          const text = document.createRange();
          text.selectNodeContents(one.querySelector("a"));
          return Math.abs(text.getClientRects()[0].top - one.querySelector(".glyph").getBoundingClientRect().top);
        })"""
    )
    assert shifts
    assert max(shifts) < 8


@pytest.mark.parametrize("width", [390, 1440])
def test_name_of_an_event_stands_beside_the_middle_of_its_boxes(sign_in, width):
    page = sign_in("alice")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/notifications/choices/")

    shifts = page.locator("tbody tr").evaluate_all(
        """all => all.map(row => {
          const text = document.createRange();
          text.selectNodeContents(row.querySelector("th"));
          const [name, box] = [text, row.querySelector("input")].map(one => one.getBoundingClientRect());
          return Math.abs(name.top + name.height / 2 - box.top - box.height / 2);
        })"""
    )
    assert shifts
    assert max(shifts) <= 2


def test_buttons_of_a_cluster_stand_beside_its_title(sign_in):
    page = sign_in("dana")
    page.goto("/clusters/demo/")
    title = page.locator(".page-head h1").bounding_box()
    button = page.get_by_role("link", name="Manage", exact=True).bounding_box()

    assert title
    assert button
    assert button["y"] < title["y"] + title["height"]


def test_list_of_objects_cuts_no_name(sign_in):
    page = sign_in("alice")
    page.goto("/reviews/2/plans/1/changes/")
    names = page.locator(".master .name")

    assert names.count() > 10
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    assert names.evaluate_all(cut) == []


def test_namespace_is_read_in_full_beside_a_long_name(sign_in):
    """It tells apart objects of one name."""
    page = sign_in("alice")
    page.goto("/reviews/4/plans/1/changes/")
    rows = page.locator(".master li:has(.where)")
    rows.first.wait_for()

    cut = """all => all.map(row => {
      row.querySelector(".name").textContent = "resource-metrics-auth-reader";
      const [where, range] = [row.querySelector(".where"), document.createRange()];
      range.selectNodeContents(where);
      const ends = [where, where.parentElement].map(one => one.getBoundingClientRect().right);
      return Math.round(range.getBoundingClientRect().right) > Math.round(Math.min(...ends));
    })"""
    assert not any(rows.evaluate_all(cut))


@pytest.mark.parametrize("width", [390, 1440])
def test_label_of_a_fold_stands_beside_its_summary(sign_in, width):
    page = sign_in("alice")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/reviews/2/plans/1/changes/")
    label = page.locator(".opened-field .known dt", has_text="Schema").first
    expect(label).to_be_visible()

    shift = """one => {
      const lines = [one, one.nextElementSibling.querySelector("summary")].map(element => {
        const range = document.createRange();
        range.selectNodeContents(element);
        const box = range.getBoundingClientRect();
        return (box.top + box.bottom) / 2;
      });
      return Math.abs(lines[0] - lines[1]);
    }"""
    assert label.evaluate(shift) <= 2
