"""The whole product in one process of its own, with the demo, and browsers for two people."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("APPLYVIZ_CHROMIUM", "/usr/bin/chromium")
PATIENCE = 120.0
_ACCOUNT = re.compile(r"^  (\w+) +(\S+) +\w[\w, -]*$", re.MULTILINE)


@dataclass(frozen=True)
class Product:
    """Where the product answers, and the passwords of its demo accounts."""

    url: str
    passwords: dict[str, str]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    """The system's Chromium, without the network of its own."""
    found = {"executable_path": CHROMIUM} if Path(CHROMIUM).exists() else {}
    return {**browser_type_launch_args, **found, "args": ["--no-sandbox", "--disable-background-networking"]}


def _find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        text = log.read_text()
        if "is ready" in text and "Ctrl-C" in text:
            return text
        if process.poll() is not None:
            pytest.fail(f"the product ended before it was ready:\n{text}")
        time.sleep(0.2)
    pytest.fail(f"the product was not ready within {PATIENCE:g} s:\n{log.read_text()}")


@pytest.fixture(scope="session")
def product(tmp_path_factory) -> Iterator[Product]:
    """The product with its demo, in a home of its own."""
    home, port = tmp_path_factory.mktemp("product"), _find_port()
    log = home / "serve.log"
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")}
    environment |= {"APPLYVIZ_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as output:
        command = [sys.executable, "manage.py", "serve", "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            text = _wait_until_ready(process, log)
            yield Product(f"http://localhost:{port}", dict(_ACCOUNT.findall(text)))
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.fixture
def sign_in(product, browser):
    """Give a person a browser of their own; errors of its pages fail the test."""
    contexts, complaints = [], []

    def open_browser(name: str, *, is_let_in: bool = True, **options):
        context = browser.new_context(base_url=product.url, viewport={"width": 1440, "height": 1000}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
        if is_let_in:  # a page that is not there is an error on the console
            page.on(
                "console", lambda said: complaints.append(f"{page.url}: {said.text}") if said.type == "error" else None
            )
        page.goto("/login/")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(product.passwords[name])
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/")
        return page

    yield open_browser
    for context in contexts:
        context.close()
    assert complaints == []
