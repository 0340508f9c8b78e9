"""Keyboard use: focus rings are visible and not cut off, and buttons show that their form was sent."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

pytestmark = [pytest.mark.e2e, pytest.mark.long]
PLAN = "/reviews/2/plans/1"
PAGES = [
    "/",
    "/reviews/new/",
    f"{PLAN}/overview/",
    f"{PLAN}/changes/",
    f"{PLAN}/changes/?only=4",
    f"{PLAN}/graph/",
    f"{PLAN}/owners/",
    f"{PLAN}/requests/",
    f"{PLAN}/risks/",
    f"{PLAN}/confirm/",
    "/runs/1/",
    "/history/",
    "/clusters/demo/",
    "/settings/policies/",
    "/playground/conflicts-1/",
]
LEAST = 3.0  # WCAG 2.4.11 and 1.4.11
# Elements without a focus indicator of enough contrast, or with a ring that the surrounding box cuts on two sides.
FIND_UNSEEN = """least => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const read = color => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = color;
    paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = color => {
    const [r, g, b] = color.map(x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = one => {
    for (let at = one; at; at = at.parentElement) {
      const color = read(getComputedStyle(at).backgroundColor);
      if (color[3] > 200) return color;
    }
    return [255, 255, 255, 255];
  };
  const contrast = (color, one) => {
    const [high, low] = [light(read(color)), light(back(one))].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const shown = (one, around) => {
    const style = getComputedStyle(one);
    const has = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const ring = has ? contrast(style.outlineColor, around) : 0;
    const drawn = one instanceof SVGElement && parseFloat(style.strokeWidth) >= 2 && style.stroke !== "none";
    const bar = style.boxShadow.includes("inset") ? contrast(style.boxShadow.split(") ")[0] + ")", one) : 0;
    return Math.max(ring, bar, drawn ? contrast(style.stroke, around) : 0);
  };
  const cut = one => {
    const style = getComputedStyle(one);
    const reach = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
    if (style.outlineStyle === "none") return false;
    const box = one.getBoundingClientRect();
    for (let at = one.parentElement; at && at !== document.body; at = at.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(at);
      if (overflowX === "visible" && overflowY === "visible") continue;
      const edge = at.getBoundingClientRect();
      const isScrolled = ["auto", "scroll"].includes(overflowY);
      const sides = [
        box.left - reach < edge.left - 0.5,
        box.right + reach > edge.right + 0.5,
        !isScrolled && box.top - reach < edge.top - 0.5,
        !isScrolled && box.bottom + reach > edge.bottom + 0.5,
      ];
      if (sides.filter(Boolean).length > 1) return true;
    }
    return false;
  };
  const unseen = new Set();
  for (const one of document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, section[tabindex], [tabindex='0']")) {
    if (!one.checkVisibility({ visibilityProperty: true }) || one.disabled) continue;
    one.focus({ preventScroll: true });
    if (document.activeElement !== one) continue;
    const within = one.querySelectorAll(".box, .slot, .object-head");
    const drawn = [...within, one.closest("label, .choice, .opt"), one.nextElementSibling];
    const around = one.closest("svg") ?? one;
    const best = Math.max(...[one, ...drawn].filter(Boolean).map(part => shown(part, around.parentElement)));
    const name = `${one.tagName}.${one.className.baseVal ?? one.className} in ${one.parentElement.className}`;
    if (best < least || cut(one)) unseen.add(`${name}: ${best.toFixed(1)}`);
  }
  return [...unseen];
}"""


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("address", PAGES)
def test_focus_can_be_seen_in_the_dark(sign_in, address, width):
    person = "alice" if address == "/reviews/new/" else "bob"
    page = sign_in(person, color_scheme="dark", is_mobile=width < 500, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(address)
    page.keyboard.press("Tab")  # what has the focus from now on was reached by the keyboard

    assert page.evaluate(FIND_UNSEEN, LEAST) == []


def hold(page: Page, address: str) -> list[Route]:
    """Keep requests to an address unanswered."""
    held: list[Route] = []
    page.route(address, lambda route: held.append(route))
    return held


def test_button_of_a_form_turns_until_the_answer_and_is_sent_once(sign_in):
    page = sign_in("bob", is_let_in=False)
    page.goto(f"{PLAN}/risks/")
    held = hold(page, "**/acknowledge/")
    button = page.locator("[data-acknowledge]:visible").first
    form = page.locator("form", has=button).first
    button.click()

    expect(form).to_have_attribute("aria-busy", "true")
    assert button.evaluate("one => getComputedStyle(one, '::before').content") == '""'
    button.click()
    page.wait_for_timeout(200)
    assert len(held) == 1
    held[0].fulfill(status=409, body="The plan has changed.")
    expect(page.locator("#risk-problem")).to_contain_text("The plan has changed.")
    expect(page.locator("form[aria-busy]")).to_have_count(0)
    button.click()
    expect(form).to_have_attribute("aria-busy", "true")
    assert len(held) == 2


def test_button_of_a_plain_form_turns_too(sign_in):
    page = sign_in("bob")
    page.goto("/settings/tokens/")
    sent: list[str] = []

    def answer(route: Route) -> None:
        sent.append(route.request.method)
        route.fulfill(status=204)  # the page stays, as while an answer is awaited

    page.route("**/logout/", answer)
    button = page.get_by_role("button", name="Sign out")
    button.click()
    expect(page.locator("form[aria-busy=true] button[data-sending]")).to_have_text("Sign out")
    button.click()

    assert sent == ["POST"]


def test_focus_stays_on_the_view_that_was_chosen(sign_in):
    page = sign_in("bob")
    page.goto(f"{PLAN}/changes/?only=4")
    chosen = page.locator("#pane").get_by_role("link", name="Diff")
    chosen.focus()
    page.keyboard.press("Enter")

    expect(chosen).to_have_attribute("aria-current", "page")
    expect(chosen).to_be_focused()


def test_focus_goes_back_to_the_menu_whose_entry_was_chosen(sign_in):
    page = sign_in("bob")
    page.goto(f"{PLAN}/changes/?q=checkout")
    shown = page.locator("[data-scroll-object]").first
    menu = shown.locator(".object-menu > summary")
    menu.focus()
    page.keyboard.press("Enter")
    shown.get_by_role("link", name="Diff").focus()
    page.keyboard.press("Enter")

    expect(shown.locator(".diff").first).to_be_visible()
    expect(menu).to_be_focused()


def test_focus_goes_to_the_form_that_replaces_its_link_and_stays_there_once_it_is_sent(sign_in):
    page = sign_in("bob")
    page.goto(f"{PLAN}/changes/?only=4&view=diff")
    part = page.locator("[data-line-comments]")
    part.get_by_role("link", name="on lines").focus()
    page.keyboard.press("Enter")
    expect(part.locator("[data-first-line]")).to_be_focused()
    page.keyboard.type("1")
    part.locator("[data-say]").fill("By keyboard")
    part.get_by_role("button", name="Comment", exact=True).focus()
    page.keyboard.press("Enter")

    expect(part.locator(".said", has_text="By keyboard")).to_be_visible()
    expect(part.get_by_role("button", name="Comment", exact=True)).to_be_focused()
