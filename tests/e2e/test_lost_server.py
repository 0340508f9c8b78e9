"""A run page whose server dies in the middle of the run: it says so, comes back by itself, and shows the truth.

The server of this test is one of its own, with a copy of what the shared one keeps.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from applyviz.engine.objects.structs import replace
from tests.e2e.conftest import PATIENCE, ROOT, STOP_SECONDS, Product, open_page, wait_until_ready
from tests.ports import free_port

pytestmark = pytest.mark.e2e
OBJECTS = 40
MANIFESTS = "---\n".join(
    f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: lost-{n:02}, namespace: shop}}\ndata: {{number: '{n}'}}\n"
    for n in range(OBJECTS)
)


def copy_home(product: Product, target: Path) -> Path:
    """A home with the same keys and the same database, as it was at one moment."""
    shutil.copytree(product.home / "keys", target / "keys")
    for path in product.home.glob("*.sqlite3"):
        with sqlite3.connect(path) as source, sqlite3.connect(target / path.name) as copy:
            source.backup(copy)
        return target / path.name
    raise AssertionError(f"no database in {product.home}")


def start(home: Path, port: int) -> subprocess.Popen[bytes]:
    """The server on that home and port, ready."""
    log = home / f"serve-{time.monotonic_ns()}.log"
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")}
    environment |= {"APPLYVIZ_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    wait_until_ready(process, log)
    return process


@contextmanager
def hold_writes(database: Path) -> Iterator[None]:
    """Keep every writer waiting, as soon as a run goes on: pages can still be read."""
    deadline = time.monotonic() + PATIENCE
    asking = sqlite3.connect(database, timeout=PATIENCE, isolation_level=None)
    try:
        while not asking.execute("SELECT 1 FROM records_applyrun WHERE state = 'applying'").fetchall():
            assert time.monotonic() < deadline, "no run began"
            time.sleep(0.01)
        asking.execute("BEGIN IMMEDIATE")
        yield
    finally:
        asking.close()


def sign_in(browser, url: str, name: str, password: str):
    page = open_page(browser.new_context(base_url=url, viewport={"width": 1440, "height": 1000}))
    page.goto("/login/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    return page


@pytest.mark.long
def test_run_page_outlives_its_server(product, browser, tmp_path):
    database, port = copy_home(product, tmp_path), free_port()
    own = replace(product, url=f"http://localhost:{port}", home=tmp_path)
    server = start(tmp_path, port)
    try:
        alice, bob = (sign_in(browser, own.url, name, own.passwords[name]) for name in ("alice", "bob"))
        alice.goto("/reviews/new/")
        alice.get_by_label("Paste").fill(MANIFESTS)
        alice.get_by_label("Title").fill("Many settings")
        alice.get_by_label("Namespace").fill("shop")
        alice.get_by_role("button", name="Create plan").click()
        expect(alice.locator("#strip .counts")).to_have_attribute("aria-label", f"{OBJECTS} to create")
        bob.goto(alice.url)
        bob.get_by_role("link", name=re.compile("Approve plan")).click()
        bob.get_by_label("Apply when approved").check()
        bob.get_by_role("button", name=re.compile("Approve and apply")).click(no_wait_after=True)
        with hold_writes(database):
            bob.wait_for_url("**/runs/*/")
            expect(bob.get_by_role("heading", level=1)).to_contain_text("Applying")
            server.kill()
            server.wait(timeout=STOP_SECONDS)
        expect(bob.get_by_text("Connection lost.")).to_be_visible()
        expect(bob.get_by_role("heading", level=1)).to_contain_text("Applying")

        server = start(tmp_path, port)

        expect(bob.get_by_text("Connection lost.")).to_be_hidden()
        expect(bob.get_by_role("heading", level=1)).to_contain_text("Applied")
        expect(bob.locator("#run-strip")).to_contain_text(f"{OBJECTS} of {OBJECTS} objects applied")
        expect(bob.locator("#run-strip")).to_contain_text("continued the run")
        expect(bob.locator(".run-table")).to_contain_text(f"{OBJECTS - 10} more objects")
    finally:
        server.terminate()
        try:
            server.wait(timeout=STOP_SECONDS)
        finally:
            server.kill()
