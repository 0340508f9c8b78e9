"""Parts of pages look as they did when they were last looked at: their pixels, with a tolerance.

`tests/visual/references` holds a picture of each scene. After an intended change, and after an update of Chromium that
draws text in another way, `APPLYVIZ_RENEW_PICTURES=1 .venv/bin/pytest -m visual tests/visual` replaces all of them;
look at each before you commit it. A failure leaves the new picture, and the same with its differences marked, in the
folder that its message names.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Product, open_page
from tests.visual.compare import compare, keep
from tests.visual.scenes import SCENES, STILL, Scene, Theme

pytestmark = pytest.mark.visual
REFERENCES = Path(__file__).with_name("references")
RENEWS = os.environ.get("APPLYVIZ_RENEW_PICTURES") == "1"
MADE_WITH = REFERENCES / "chromium.txt"
OUTPUT = Path(tempfile.gettempdir()) / "applyviz-pictures"
# All pictures together stay small enough to be kept beside the code.
MOST_BYTES = 600_000
RENEW = "renew it with APPLYVIZ_RENEW_PICTURES=1 .venv/bin/pytest -m visual tests/visual"
PICTURES = [(scene, theme) for scene in SCENES for theme in scene.themes]
PageOf = Callable[[str], Page]


@pytest.fixture(scope="module")
def page_of(product: Product, still_browser: Browser) -> Iterator[PageOf]:
    """The page of each person, signed in once, without motion."""
    pages: dict[str, Page] = {}

    def open_for(who: str) -> Page:
        if who not in pages:
            context = still_browser.new_context(base_url=product.url, reduced_motion="reduce", device_scale_factor=1)
            pages[who] = open_page(context)
            sign_in(pages[who], who, product.passwords[who])
        return pages[who]

    yield open_for
    for page in pages.values():
        page.context.close()


@pytest.fixture(scope="module")
def judge(still_browser: Browser) -> Iterator[Page]:
    """An empty page that compares pictures: pages of the product load none from a text."""
    page = still_browser.new_page()
    yield page
    page.close()


def sign_in(page: Page, who: str, password: str) -> None:
    page.goto("/login/")
    page.get_by_label("Name").fill(who)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def show(page: Page, scene: Scene, theme: Theme) -> Locator:
    """Open the page of a scene, still it, and return the part that is taken."""
    page.set_viewport_size({"width": scene.width, "height": 900})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.goto(scene.address)
    if scene.waits_for:
        page.locator(scene.part).first.scroll_into_view_if_needed()
        expect(page.locator(scene.waits_for).first).to_be_visible()
    part = page.locator(scene.part).first
    expect(part).to_be_visible()
    expect(page.get_by_text("Comparing…")).to_have_count(0)
    page.evaluate("document.fonts.ready.then(() => true)")
    page.evaluate(STILL)
    return part


def take(page: Page, scene: Scene, part: Locator) -> bytes:
    """Return the picture of a part; the rest of a long one is cut off."""
    if not scene.height:
        return part.screenshot(animations="disabled")
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    assert box is not None
    page.evaluate("top => window.scrollBy({top, behavior: 'instant'})", box["y"] - 120)
    box = part.bounding_box()
    assert box is not None
    width = min(box["width"], scene.across or scene.width - max(box["x"], 0))
    clip = {"x": max(box["x"], 0), "y": box["y"], "width": width, "height": min(box["height"], scene.height)}
    return page.screenshot(clip=clip, animations="disabled")


def explain(page: Page) -> str:
    """Name the version of Chromium when it is another one than the pictures were made with."""
    browser = page.context.browser
    now, then = browser.version if browser else "", MADE_WITH.read_text().strip() if MADE_WITH.exists() else ""
    return "" if now == then else f"; the pictures were made with Chromium {then}, this is {now}"


@pytest.mark.core(2)
@pytest.mark.parametrize(("scene", "theme"), PICTURES, ids=[scene.name_in(theme) for scene, theme in PICTURES])
def test_part_looks_as_it_did(page_of, judge, scene, theme):
    page = page_of("alice")
    after = take(page, scene, show(page, scene, theme))
    reference = REFERENCES / f"{scene.name_in(theme)}.png"
    if RENEWS:
        REFERENCES.mkdir(exist_ok=True)
        reference.write_bytes(after)
        MADE_WITH.write_text(page.context.browser.version + "\n")
    assert reference.exists(), f"there is no picture of {scene.name_in(theme)}: {RENEW}"

    found = compare(judge, reference.read_bytes(), after)

    if not found.is_same:
        marked = keep(OUTPUT, scene.name_in(theme), after, found)
        pytest.fail(f"{found.describe()} ({marked}){explain(page)}; if it is meant, {RENEW}")


# Each changes what a person would see, and little of it.
PLANTED = {
    "a color": ("risks-1440-light", ".card.risks .level { background: #2a7; }"),
    "a space of four pixels": ("kinds-1440-light", ".card.kinds .cell { margin-inline-end: 4px; }"),
    "a line that is gone": ("conflict-1440-light", ".is-conflict summary .field-strip .line { stroke: none; }"),
    "a lighter text": ("strip-1440-light", ".strip .impact p:first-child { font-weight: 400; }"),
    "a mark that is gone": ("graph-1440-light", "svg.graph .risk { visibility: hidden; }"),
    "a color of the dark theme": ("pods-1440-dark", ".card.pods .marks i { background: #fff; }"),
}


def restyle(page: Page, css: str) -> None:
    """Add rules to the page that is open; they come after all layers, so they win."""
    page.evaluate(
        "css => { const s = new CSSStyleSheet(); s.replaceSync(css); document.adoptedStyleSheets = [s]; }", css
    )


@pytest.mark.core(1)
@pytest.mark.parametrize("what", PLANTED)
def test_planted_change_is_found(page_of, judge, what):
    name, style = PLANTED[what]
    scene, theme = next(one for one in PICTURES if one[0].name_in(one[1]) == name)
    page = page_of("alice")
    part = show(page, scene, theme)
    before = take(page, scene, part)
    restyle(page, style)

    found = compare(judge, before, take(page, scene, part))

    assert not found.is_same, found.describe()


def test_text_a_pixel_further_is_the_same(page_of, judge):
    scene, theme = next(one for one in PICTURES if one[0].name == "strip")
    page = page_of("alice")
    part = show(page, scene, theme)
    before = take(page, scene, part)
    restyle(page, ".strip .impact p { transform: translateX(1px); }")

    found = compare(judge, before, take(page, scene, part))

    assert found.is_same, found.describe()


def test_every_picture_belongs_to_a_scene_and_all_are_small():
    stored = sorted(REFERENCES.glob("*.png"))

    assert [path.stem for path in stored] == sorted(scene.name_in(theme) for scene, theme in PICTURES)
    assert sum(path.stat().st_size for path in stored) <= MOST_BYTES
