"""What axe finds on a page in both themes, and where a page is wider than the screen."""

from collections.abc import Sequence

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

WIDTHS = (360, 768, 900, 1440, 2560)
CORE_WIDTHS = (360, 1440)
# What a rule finds right, axe need not name.
_ALL: dict[str, object] = {"resultTypes": ["violations"]}
# What a theme can break: the other rules read no color, so they are asked once.
_OF_COLORS = {**_ALL, "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def find_violations(page: Page) -> list[str]:
    """Return the findings of axe on a page as it stands, in light and then in dark colors."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found = describe(page, _ALL)
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {finding}" for finding in describe(page, _OF_COLORS)]
    page.emulate_media(color_scheme="light")
    return found


def describe(page: Page, options: dict[str, object]) -> list[str]:
    """Return what the rules find, at most three places each."""
    violations = Axe().run(page, options=options).response["violations"]
    return [f"{v['id']}: {node['target']} {node['failureSummary']}" for v in violations for node in v["nodes"][:3]]


def find_wide(page: Page, widths: Sequence[int] = WIDTHS) -> dict[int, int]:
    """Return what the page needs where that is more than the width of a screen, by that width."""
    wide = {}
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        needed = page.evaluate("document.documentElement.scrollWidth")
        if needed > width:
            wide[width] = needed
    page.set_viewport_size({"width": 1440, "height": 1000})
    return wide
