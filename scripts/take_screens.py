"""Takes screens of the demo story as author and approver, in light and dark.

The product runs in a temporary home; the screens go to docs/screens/.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "screens"
CHROMIUM = os.environ.get("APPLYVIZ_CHROMIUM") or shutil.which("chromium") or ""
SIZES = {
    390: ViewportSize(width=390, height=844),
    1440: ViewportSize(width=1440, height=900),
    1920: ViewportSize(width=1920, height=1080),
}
ALL = tuple(SIZES)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PATIENCE = 300.0
MOST_RISKS = 10
CHANNEL = {
    "channel.yaml": """kind: Addons
metadata: {name: shop}
spec:
  addons:
    - {name: dns, manifest: dns.yaml, selector: {k8s-addon: dns}}
    - {name: metrics, manifest: metrics.yaml, selector: {k8s-addon: metrics}}
""",
    "dns.yaml": """apiVersion: v1
kind: ConfigMap
metadata: {name: dns, namespace: kube-system, labels: {k8s-addon: dns}}
data: {Corefile: .:53}
""",
    "metrics.yaml": """apiVersion: v1
kind: ConfigMap
metadata: {name: metrics, namespace: kube-system, labels: {k8s-addon: metrics}}
data: {interval: 30s}
""",
}
BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [\n"


@contextmanager
def start_product() -> Iterator[tuple[str, dict[str, str]]]:
    """Start the product with its demo; yield its address and the passwords of its accounts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = Path(tempfile.mkdtemp(prefix="applyviz-screens-"))
    log = home / "serve.log"
    environment = {**os.environ, "APPLYVIZ_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as output:
        command = [sys.executable, "manage.py", "serve", "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + PATIENCE
        while "Ctrl-C" not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the product did not start:\n{log.read_text()}")
            time.sleep(0.2)
        accounts = re.findall(r"^  (\w+) +(\S+) +\w[\w, -]*$", log.read_text(), re.MULTILINE)
        yield f"http://localhost:{port}", dict(accounts)
    finally:
        process.terminate()
        process.wait(timeout=30)
        shutil.rmtree(home, ignore_errors=True)


class Visitor:
    """The browser of one person, and the screens taken in it."""

    def __init__(self, browser: Browser, url: str, name: str, password: str, *, taken: Path) -> None:
        self.url, self.taken = url, taken
        self.page: Page = browser.new_context(base_url=url, viewport=SIZES[1440]).new_page()
        self.page.goto("/login/")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url("**/")

    def take(self, name: str, *, is_full: bool = False, widths: tuple[int, ...] = (1440,)) -> None:
        """Take the current page once in each theme, at each width."""
        for width in widths:
            self.page.set_viewport_size(SIZES[width])
            self.page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
            for theme in THEMES:
                self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                self.page.wait_for_timeout(150)
                self.page.screenshot(path=self.taken / f"{name}-{width}-{theme}.png", full_page=is_full)
        self.page.set_viewport_size(SIZES[1440])
        print(name)

    def visit(self, name: str, address: str, *, is_full: bool = False, widths: tuple[int, ...] = (1440,)) -> None:
        """Open an address and take it."""
        self.page.goto(address)
        self.page.wait_for_load_state("networkidle")
        self.take(name, is_full=is_full, widths=widths)


def drop_files(page: Page, files: dict[str, str]) -> None:
    """Drop files on the form as a person would."""
    script = """files => {
        const transfer = new DataTransfer();
        for (const [name, text] of Object.entries(files)) transfer.items.add(new File([text], name));
        return transfer;
    }"""
    page.dispatch_event("[data-drop]", "drop", {"dataTransfer": page.evaluate_handle(script, files)})


def walk_as_author(alice: Visitor) -> None:
    """Home, a new review, and the plan of the demo in all its tabs."""
    alice.visit("home", "/", widths=ALL)
    alice.page.goto("/reviews/new/")
    shop = {path.name: path.read_text() for path in sorted((ROOT / "applyviz/demo/shop/v2").rglob("*.yaml"))}
    drop_files(alice.page, {**shop, "90-broken.yaml": BROKEN})
    alice.page.get_by_text("objects found").wait_for()
    alice.take("new-review", is_full=True)
    plan = "/reviews/2/plans/1"
    alice.visit("review-overview", f"{plan}/overview/", widths=ALL)
    alice.visit("review-changes", f"{plan}/changes/", widths=ALL)
    for tab in ("graph", "owners", "requests", "activity"):
        alice.visit(f"review-{tab}", f"{plan}/{tab}/")
    alice.visit("review-risks", f"{plan}/risks/", widths=(390, 1440))
    alice.visit("reviews", "/reviews/")


def show_other_reviews(alice: Visitor) -> None:
    """A review that deletes, and one of a kOps channel; neither is applied."""
    page = alice.page
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: shop}\n"
    for name, files, is_deleting in (
        ("review-delete", {"old.yaml": settings.replace("NAME", "storefront-settings")}, True),
        ("review-channel", CHANNEL, False),
    ):
        page.goto("/reviews/new/")
        drop_files(page, files)
        page.get_by_text("objects found").or_(page.get_by_text("object found")).first.wait_for()
        page.get_by_label("Title").fill("Delete old settings" if is_deleting else "Update the addons")
        page.get_by_label("Namespace").fill("shop")
        if is_deleting:
            page.get_by_role("radio", name=re.compile("^Delete")).check()
        page.get_by_role("button", name="Create plan").click()
        page.locator("#strip .counts li").first.wait_for(timeout=60_000)
        address = re.sub(r"(plans/\d+/).*", r"\1", page.url)
        alice.visit(name, f"{address}overview/", widths=(390, 1440) if is_deleting else (1440,))


def take_over(alice: Visitor) -> str:
    """Resolve the conflict by the form of its object; return the address of the new plan."""
    alice.page.goto("/reviews/2/plans/1/changes/")
    alice.page.locator("[data-option='1']").first.check()
    alice.take("review-conflict")
    alice.page.get_by_role("button", name="Preview request").first.click()
    alice.page.get_by_role("button", name=re.compile("Resolve 1 field")).first.click()
    alice.page.locator(".track", has_text=re.compile("no conflicts|acknowledge|not complete")).wait_for(timeout=60_000)
    return re.sub(r"(plans/\d+/).*", r"\1", alice.page.url)


def acknowledge_risks(bob: Visitor, address: str) -> None:
    """View the high-risk objects and acknowledge them, as an approval requires."""
    bob.page.goto(address)
    missing = bob.page.locator("[data-review-header] a", has_text=re.compile("high-risk objects? first|to acknowledge"))
    for _ in range(MOST_RISKS):
        if not missing.count():
            return
        bob.page.goto(missing.first.get_attribute("href") or address)
        while count := bob.page.locator("[data-acknowledge]").count():
            bob.page.locator("[data-acknowledge]").first.click()
            bob.page.wait_for_function("n => document.querySelectorAll('[data-acknowledge]').length !== n", arg=count)
        bob.page.goto(address)


def show_what_a_look_found(bob: Visitor) -> None:
    """The cluster, once it was looked at after the run."""
    deadline = time.monotonic() + PATIENCE
    bob.page.goto("/clusters/demo/")
    while bob.page.locator("#findings .older, #findings .busy").count():
        if time.monotonic() > deadline:
            sys.exit("the cluster was not scanned after the run")
        bob.page.wait_for_timeout(1000)
        bob.page.goto("/clusters/demo/")


def apply_now(bob: Visitor) -> str:
    """Approve the plan whose form is open, apply it with its rollouts watched; return the address of the run."""
    bob.page.get_by_label("Apply when approved").check()
    bob.page.get_by_label("Wait until workloads are ready").check()
    bob.page.get_by_role("button", name=re.compile("Approve and apply")).click()
    bob.page.get_by_role("heading", level=1, name=re.compile(r"Run \d")).wait_for(timeout=60_000)
    return bob.page.url


def show_failed_run(bob: Visitor) -> None:
    """The run of the trial, whose image does not exist: its failure, and what was not attempted."""
    address = "/reviews/3/plans/1/"
    acknowledge_risks(bob, address)
    bob.page.goto(f"{address}confirm/")
    run = apply_now(bob)
    bob.page.locator("#run-head .track .is-bad").first.wait_for(timeout=PATIENCE * 1000)
    bob.visit("run-failed", run, widths=ALL)
    bob.visit("run-failed-graph", f"{run}graph/")


def walk_as_approver(bob: Visitor, address: str) -> None:
    """Approval, the run, the history, the cluster."""
    acknowledge_risks(bob, address)
    bob.visit("review-approver", f"{address}changes/")
    bob.visit("approve", f"{address}confirm/", widths=(390, 1440))
    bob.visit("schedule", f"{address}schedule/")
    bob.page.get_by_role("button", name="Schedule run").click()
    bob.page.get_by_role("button", name="Cancel scheduled start").wait_for()
    bob.visit("review-scheduled", f"{address}overview/", widths=(390, 1440))
    bob.page.get_by_role("button", name="Cancel scheduled start").click()
    bob.page.get_by_text("canceled the scheduled start").first.wait_for()
    bob.page.goto(f"{address}confirm/")
    run = apply_now(bob)
    bob.page.locator("#run-head .track .is-done", has_text="Verify").wait_for(timeout=PATIENCE * 1000)
    bob.visit("run", run, widths=ALL)
    bob.visit("run-graph", f"{run}graph/")
    bob.visit("run-requests", f"{run}requests/")
    bob.visit("change-record", f"{address}record/")
    bob.visit("history", "/history/", widths=(390, 1440))
    bob.visit("search", "/search/?q=checkout")
    show_what_a_look_found(bob)
    bob.visit("cluster", "/clusters/demo/", widths=(390, 1440))
    bob.visit("clusters", "/clusters/")
    bob.page.goto("/history/")
    bob.visit("notifications", "/notifications/")
    show_failed_run(bob)


def walk_as_administrator(dana: Visitor) -> None:
    """The pages of administrators, and those that every member can read."""
    dana.visit("policies", "/settings/policies/")
    dana.visit("people", "/settings/people/")
    dana.visit("installation", "/settings/installation/")
    dana.visit("guide", "/guide/")
    dana.visit("playground", "/playground/")
    dana.visit("playground-conflicts", "/playground/conflicts-1/")


def take_all(taken: Path) -> None:
    """Take all screens into a folder."""
    with start_product() as (url, passwords), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM or None, args=["--no-sandbox", "--disable-background-networking"]
        )

        # Each signs in when it is their turn: an approval asks for a password that is older than five minutes.
        def sign_in(name: str) -> Visitor:
            return Visitor(browser, url, name, passwords[name], taken=taken)

        alice = sign_in("alice")
        walk_as_author(alice)
        show_other_reviews(alice)
        address = take_over(alice)
        walk_as_approver(sign_in("bob"), address)
        walk_as_administrator(sign_in("dana"))
        browser.close()


def main() -> None:
    """Take all screens; the former ones stay until all are taken."""
    with tempfile.TemporaryDirectory(prefix="applyviz-taken-") as folder:
        take_all(Path(folder))
        shutil.rmtree(TARGET, ignore_errors=True)
        shutil.copytree(folder, TARGET)


if __name__ == "__main__":
    main()
