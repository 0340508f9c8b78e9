"""A browser whose text looks alike on every machine; the product is that of the walks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright

from tests.e2e import conftest as e2e

product = e2e.product
# No colored edges of letters, no hints for a particular screen, no profile of one.
PLAIN = ("--disable-lcd-text", "--font-render-hinting=none", "--force-color-profile=srgb", "--hide-scrollbars")


@pytest.fixture(scope="session")
def still_browser(playwright: Playwright) -> Iterator[Browser]:
    """A browser for pictures alone, with the options of PLAIN."""
    path = e2e.CHROMIUM if Path(e2e.CHROMIUM).exists() else None
    args = ["--no-sandbox", "--disable-background-networking", *PLAIN]
    browser = playwright.chromium.launch(executable_path=path, args=args)
    yield browser
    browser.close()
