"""The whole product in one process of its own, with the demo, and browsers for its people.

A test waits for what it needs and never for a while: `expect` and every action wait up to `PATIENCE`, which a test
that passes does not pay for. `APPLYVIZ_THROTTLE=6` makes every page six times slower, to look for races.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, StorageState, expect

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("APPLYVIZ_CHROMIUM", "/usr/bin/chromium")
PATIENCE = 60.0
START_SECONDS, STOP_SECONDS = 240.0, 60.0
# An approval asks for the password again five minutes after it was given.
FRESH_SECONDS = 100.0
THROTTLE = float(os.environ.get("APPLYVIZ_THROTTLE", "1"))
_ACCOUNT = re.compile(r"^  (\w+) +(\S+) +\w[\w, -]*$", re.MULTILINE)
_ADDRESS = re.compile(r"is ready: (http://\S+)/")
expect.set_options(timeout=PATIENCE * 1000)


@dataclass(frozen=True)
class Product:
    """Where the product answers, the passwords of its demo accounts, and where it keeps everything."""

    url: str
    passwords: dict[str, str]
    home: Path


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    """The system's Chromium, without the network of its own."""
    found = {"executable_path": CHROMIUM} if Path(CHROMIUM).exists() else {}
    return {**browser_type_launch_args, **found, "args": ["--no-sandbox", "--disable-background-networking"]}


def wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """What the product said until it was ready."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        text = log.read_text()
        if "is ready" in text and "Ctrl-C" in text:
            return text
        if process.poll() is not None:
            pytest.fail(f"the product ended before it was ready:\n{text}")
        time.sleep(0.2)
    pytest.fail(f"the product was not ready within {START_SECONDS:g} s:\n{log.read_text()}")


@contextmanager
def run_product(home: Path, **more: str) -> Iterator[Product]:
    """Run the product with its demo in a home of its own, with more settings if any are given."""
    log = home / "serve.log"
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")}
    environment |= {"APPLYVIZ_HOME": str(home), "PYTHONUNBUFFERED": "1", **more}
    with log.open("wb") as output:
        command = [sys.executable, "manage.py", "serve", "--port", "0"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            text = wait_until_ready(process, log)
            address = _ADDRESS.search(text)
            assert address, text
            yield Product(address[1], dict(_ACCOUNT.findall(text)), home)
        finally:
            process.terminate()
            try:
                process.wait(timeout=STOP_SECONDS)
            finally:
                process.kill()


@pytest.fixture(scope="session")
def product(demo) -> Product:
    """The product with its demo; a module that needs other settings starts another one."""
    return demo


def open_page(context: BrowserContext) -> Page:
    """A page of a browser whose actions wait as long as `expect` does; slowed down when that is asked for."""
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    if THROTTLE > 1:
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    return page


@pytest.fixture(scope="session")
def sessions(product) -> dict[str, tuple[StorageState, float]]:
    """The cookies of the people who signed in, and when."""
    return {}


@pytest.fixture
def sign_in(product, browser, sessions):
    """Give a person a browser of their own; errors of its pages fail the test.

    A browser goes on with the session of the last one while an approval still needs no password again.
    """
    contexts, server_errors = [], []

    def open_browser(name: str, *, is_let_in: bool = True, **options):
        state, began = sessions.get(name, (None, -FRESH_SECONDS))
        is_fresh = state is not None and time.monotonic() - began < FRESH_SECONDS
        kept = {"storage_state": state} if is_fresh else {}
        context = browser.new_context(base_url=product.url, viewport={"width": 1440, "height": 1000}, **kept, **options)
        contexts.append(context)
        page = open_page(context)
        page.on("pageerror", lambda error: server_errors.append(f"{page.url}: {error}"))
        if is_let_in:  # a page that is not there is an error on the console
            page.on(
                "console",
                lambda said: server_errors.append(f"{page.url}: {said.text}") if said.type == "error" else None,
            )
        page.goto("/" if is_fresh else "/login/")
        if not is_fresh:
            page.get_by_label("Name").fill(name)
            page.get_by_label("Password").fill(product.passwords[name])
            page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        page.wait_for_load_state()
        sessions[name] = (context.storage_state(), began if is_fresh else time.monotonic())
        return page

    yield open_browser
    for context in contexts:
        context.close()
    assert server_errors == []


def open_tab(page: Page, name: str) -> None:
    """Choose a tab of the review that is open."""
    page.locator("[data-review-tab]", has_text=name).click()
    expect(page.locator("[data-review-tab][aria-current]")).to_contain_text(name)


def show_alone(page: Page, name: str = "") -> None:
    """Leave the scroll of all changes for one object alone, the first that holds the text."""
    expect(page.locator("[data-scroll-object]").first).to_be_visible()
    link = page.locator("[data-scroll-object]", has_text=name).first.locator("[data-alone]")
    page.goto(link.get_attribute("href") or "")
    expect(page.locator("#pane .object-head")).to_be_visible()


def forget_views(page: Page, address: str) -> None:
    """Take every tick of a person away, at an address of the tab Changes where they leave it."""
    page.goto(address)
    ticked = page.locator("[data-viewed-box]:checked")
    while count := ticked.count():
        ticked.first.uncheck()  # identical changes lose their ticks together
        expect(ticked).not_to_have_count(count)
    page.goto(address)


def look_through(page: Page) -> None:
    """Read what must be viewed as a person does: each part stays on the screen for a moment."""
    watched = page.locator("[data-watched]")
    for _ in range(60):
        if not watched.count():
            return
        page.evaluate(  # the last one may be viewed by now
            """() => {
              const one = document.querySelector("[data-watched]");
              if (!one) return;
              for (const fold of one.querySelectorAll(".created details")) fold.open = true;
              const box = one.getBoundingClientRect();
              const isAway = box.top > innerHeight * 0.7 || box.bottom < innerHeight * 0.2;
              if (isAway) scrollBy({ top: box.top - innerHeight * 0.4, behavior: "instant" });
            }"""
        )
        page.wait_for_timeout(700)
        page.mouse.wheel(0, 150)
    raise AssertionError(f"{watched.count()} objects never count as viewed")


def open_dangers(page: Page) -> None:
    """Acknowledge every risk and open whatever stands in the way of approval, each page loaded whole."""
    header = page.locator("[data-review-header]")
    missing = header.locator("a", has_text=re.compile("high-risk objects? first|to acknowledge"))
    approve = page.get_by_role("link", name=re.compile("Approve plan"))
    shown = page.locator("[data-acknowledge]:visible")  # many objects with one risk are folded below one button
    for _ in range(40):
        expect(approve.or_(missing.first)).to_be_visible()
        if not missing.count():
            return
        page.goto(missing.first.get_attribute("href") or "")
        look_through(page)
        while open_ones := shown.count():
            shown.first.click()
            expect(shown).not_to_have_count(open_ones)
    raise AssertionError(f"the plan still cannot be approved: {header.inner_text()}")
