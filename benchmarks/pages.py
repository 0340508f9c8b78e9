"""How heavy and how fast the review page of a large plan is: planning, the page, switching objects, one of 1 MB.

The demo's shop is copied into many namespaces of a sandbox in its first version; its second version is planned.
Times of the server are processor time, without the network; weights are what goes over the wire; paint and layout
shift are Chromium's. Each figure stands beside its limit.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import socket
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import yaml

PAGE_AIM, SWITCH_AIM, WIRE_AIM, BIG_AIM, SHIFT_AIM = 1.0, 0.1, 300.0, 1.0, 0.001
SHOWN_TWICE = 2_000
MEGABYTE = 1_000_000
_SHARED = ("CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding")


def copy_shop(files: Mapping[str, bytes], copies: int) -> dict[str, bytes]:
    """The shop in as many namespaces."""
    documents = [d for data in files.values() for d in yaml.safe_load_all(data) if d]
    made = {}
    for number in range(copies):
        name = f"shop-{number:03d}"
        moved = [_move(d, name) for d in documents if not number or d["kind"] not in _SHARED]
        text = yaml.safe_dump_all(moved, sort_keys=False)
        made[f"{name}.yaml"] = text.encode()
    return made


def _move(document: dict[str, Any], namespace: str) -> dict[str, Any]:
    meta = dict(document["metadata"])
    if document["kind"] == "Namespace":
        meta["name"] = namespace
    else:
        meta["namespace"] = namespace
    return {**document, "metadata": meta}


def make_large(seed: str) -> bytes:
    """A ConfigMap of one megabyte in many keys."""
    lines = "\n".join(f"setting.{n} = {seed} {n}" for n in range(1_700))
    data = {f"part-{n:02d}.properties": lines for n in range(MEGABYTE // len(lines))}
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "large", "namespace": "default"},
        "data": data,
    }
    return yaml.safe_dump(made).encode()


def open_review(title: str, files: Mapping[str, bytes]) -> Any:
    """A review of these manifests, not planned yet."""
    from applyviz.engine.requests.options import ApplyOptions
    from applyviz.records.models import Cluster
    from applyviz.sources.bundle import BundledFile, SourceBundle
    from applyviz.workflow.foundation.access import Person
    from applyviz.workflow.plans import reviews

    bundle = SourceBundle(tuple(BundledFile(name, data, {"from": "benchmark"}) for name, data in files.items()))
    return reviews.create_review(
        by=Person.objects.get(username="alice"),
        title=title,
        reason="",
        ticket="",
        cluster=Cluster.objects.get(),
        options=ApplyOptions(namespace="shop"),
        bundle=bundle,
    )


def plan(review: Any) -> tuple[Any, float, float]:
    """The plan, seconds to its first object, seconds to all."""
    from django.db import connection

    from applyviz.workflow.plans import planner as plans

    made = review.plans.get()

    def work() -> None:
        plans.make_plan(made.pk)
        connection.close()

    started, first = time.perf_counter(), 0.0
    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive():
        if not first and made.changes.exists():
            first = time.perf_counter() - started
        time.sleep(0.02)
    done = time.perf_counter() - started
    made.refresh_from_db()
    assert made.state == "complete", made.error
    return made, first or done, done


def write(made: Any) -> None:
    """Send what a plan would send, without a run around it."""
    from applyviz.clusters.sandbox import open_sandbox
    from applyviz.records.models import Cluster
    from applyviz.workflow.plans import changes

    sandbox = open_sandbox(Cluster.objects.get())
    for row in made.changes.order_by("position"):
        for request in changes.open_sealed(row).requests:
            answer = sandbox.handle(request)
            assert answer.is_ok, answer.message


def get(browser: Any, address: str, *, is_fragment: bool = False) -> tuple[float, int, float]:
    """Seconds of the processor, bytes of HTML, kilobytes on the wire."""
    headers = {"HX-Request": "true"} if is_fragment else {}
    started = time.process_time()
    answer = browser.get(address, headers={**headers, "Accept-Encoding": "gzip"})
    took = time.process_time() - started
    assert answer.status_code == 200, answer.status_code
    is_packed = answer.headers.get("Content-Encoding") == "gzip"
    html = gzip.decompress(answer.content) if is_packed else answer.content
    return took, len(html), len(answer.content) / 1_000


class Figure(NamedTuple):
    """One line of the table."""

    name: str
    value: float
    unit: str
    limit: float | None = None

    def __str__(self) -> str:
        verdict = (
            "" if self.limit is None else f"  at most {self.limit:g}{'' if self.value <= self.limit else ': OVER'}"
        )
        return f"{self.name:58} {self.value:8.3f} {self.unit}{verdict}"


def measure_pages(made: Any, *, is_large: bool = False) -> Iterator[Figure]:
    """The pages of one plan, first without anything that the process kept from another view."""
    from django.test import Client

    from applyviz.web.reviews.pages.plan_overview import read_plan
    from applyviz.workflow.foundation.access import Person

    browser = Client()
    browser.force_login(Person.objects.get(username="bob"))
    browser.get("/")
    base = f"/reviews/{made.review.number}/"
    count = made.changes.count()
    name = "1 MB in one object" if is_large else f"{count} objects"
    read_plan.cache_clear()
    wire = 0.0
    for label in ("first view", "next view"):
        took, size, wire = get(browser, base)
        yield Figure(f"{name}: page, {label} ({size / 1_000:.0f} kB of HTML)", took, "s", PAGE_AIM)
    yield Figure(f"{name}: page", wire, "kB on the wire", WIRE_AIM)
    for label, query in (("list, filtered", "?q=orders"), ("list, as a tree", "?layout=tree")):
        took, _size, wire = get(browser, f"{base}plans/{made.number}/changes/list/{query}", is_fragment=True)
        yield Figure(f"{name}: {label} ({wire:.0f} kB on the wire)", took, "s", PAGE_AIM)
    for view in ("fields", "fields&compare=1&show=all", "diff", "diff&split=1", "requests", "owners", "yaml"):
        part = f"{base}plans/{made.number}/changes/objects/?alone=on&view={view}"
        step = max(1, count // 20)
        found = [get(browser, f"{part}&only={n}", is_fragment=True) for n in range(0, count, step)]
        limit = BIG_AIM if is_large else SWITCH_AIM
        yield Figure(f"{name}: switch, {view}, median", statistics.median(f[0] for f in found), "s", limit)
        yield Figure(f"{name}: switch, {view}, slowest", max(f[0] for f in found), "s")
        yield Figure(f"{name}: switch, {view}", max(f[2] for f in found), "kB on the wire", WIRE_AIM)


_WATCH = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


def measure_in_browser(made: Any) -> Iterator[Figure]:
    """Paint and layout shift in Chromium: the page opens, then the keyboard goes through objects and views."""
    import uvicorn
    from django.test import Client
    from playwright.sync_api import sync_playwright

    from applyviz.workflow.foundation.access import Person

    visitor = Client()
    visitor.force_login(Person.objects.get(username="bob"))
    cookie = visitor.cookies["applyviz_session"]
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    config = uvicorn.Config("applyviz.asgi:application", log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    name = f"{made.changes.count()} objects, in a browser"
    try:
        with sync_playwright() as driver:
            path = os.environ.get("APPLYVIZ_CHROMIUM", "/usr/bin/chromium")
            chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
            context = chromium.new_context(viewport={"width": 1440, "height": 1000})
            origin = f"http://127.0.0.1:{port}"
            context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": origin}])
            page = context.new_page()
            page.add_init_script(_WATCH)
            page.goto(f"{origin}/reviews/{made.review.number}/", wait_until="load")
            page.wait_for_timeout(500)
            paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
            yield Figure(f"{name}: first contentful paint", page.evaluate(paint), "s", PAGE_AIM)
            yield Figure(f"{name}: layout shift while it opens", page.evaluate("window.shifted"), "", SHIFT_AIM)
            changes, shifted = f"{origin}/reviews/{made.review.number}/plans/{made.number}/changes/", 0.0
            for address, keys in ((changes, "jjk"), (f"{changes}?only=0", "23451")):
                page.goto(address, wait_until="load")
                for key in keys:
                    page.keyboard.press(key)
                    page.wait_for_timeout(400)
                shifted += page.evaluate("window.shifted")
            yield Figure(f"{name}: layout shift, objects and views too", shifted, "", SHIFT_AIM)
            chromium.close()
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def show(figures: Iterable[Figure]) -> None:
    """Print each result as soon as it is known."""
    for figure in figures:
        print(figure, flush=True)


def measure(objects: int, load_shop: Any) -> None:
    """Create the shop many times, plan its upgrade, look at it."""
    first, second = load_shop("v1"), load_shop("v2")
    each = sum(1 for data in first.values() for d in yaml.safe_load_all(data) if d)
    copies = max(1, objects // each)
    created, soon, done = plan(open_review("create", copy_shop(first, copies)))
    print(f"{created.changes.count()} objects planned as new: first {soon:.2f} s, all {done:.2f} s", flush=True)
    if objects > SHOWN_TWICE:
        show(measure_pages(created))
        show(measure_in_browser(created))
        return
    write(created)
    upgrade, soon, done = plan(open_review("upgrade", copy_shop(second, copies)))
    print(f"{upgrade.changes.count()} objects planned as upgrade: first {soon:.2f} s, all {done:.2f} s", flush=True)
    show(measure_pages(upgrade))
    show(measure_in_browser(upgrade))


def main(sizes: Iterable[int]) -> None:
    """Use a separate installation, and delete it at the end."""
    home = tempfile.mkdtemp(prefix="applyviz-benchmark-")
    warnings.filterwarnings("ignore", message="No directory at")
    os.environ.update(
        APPLYVIZ_HOME=home, DJANGO_SETTINGS_MODULE="applyviz.settings", ALLOWED_HOSTS="testserver 127.0.0.1"
    )
    import django

    django.setup()
    from django.core.management import call_command

    from applyviz.demo import load_shop
    from applyviz.workflow.clusters import registration as clusters
    from applyviz.workflow.ops import demo

    try:
        call_command("migrate", verbosity=0, interactive=False)
        demo.make_accounts()
        clusters.create_sandbox(slug="demo", name="Demo sandbox")
        for size in sizes:
            measure(size, load_shop)
        created, _, _ = plan(open_review("large", {"large.yaml": make_large("first")}))
        write(created)
        changed, _, _ = plan(open_review("large, changed", {"large.yaml": make_large("second")}))
        show(measure_pages(changed, is_large=True))
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[300, 1_000], help="how many objects")
    main(parser.parse_args().sizes)
