"""How heavy and how fast the review page of a large plan is: planning, the page, switching objects, one of 1 MB.

The demo's shop is copied into many namespaces of a sandbox in its first version; its second version is planned.
Times are those of the server, without the network; weights are what goes over the wire.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

PAGE_AIM, SWITCH_AIM, WIRE_AIM, BIG_AIM = 1.0, 0.1, 300.0, 1.0
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
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large", "namespace": "shop"}, "data": data}
    return yaml.safe_dump(made).encode()


def open_review(title: str, files: Mapping[str, bytes]) -> Any:
    """A review of these manifests, not planned yet."""
    from applyviz.engine.requests.options import ApplyOptions
    from applyviz.records.models import Cluster
    from applyviz.sources.bundle import SourceBundle, SourceFile
    from applyviz.workflow import reviews
    from applyviz.workflow.access import Person

    bundle = SourceBundle(tuple(SourceFile(name, data, {"from": "benchmark"}) for name, data in files.items()))
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

    from applyviz.workflow import plans

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
    from applyviz.workflow import changes

    sandbox = open_sandbox(Cluster.objects.get())
    for row in made.changes.order_by("position"):
        for request in changes.open_sealed(row).requests:
            answer = sandbox.handle(request)
            assert answer.is_ok, answer.message


def get(browser: Any, address: str, *, is_fragment: bool = False) -> tuple[float, int, float]:
    """Seconds, bytes of HTML, kilobytes on the wire."""
    headers = {"HX-Request": "true"} if is_fragment else {}
    started = time.perf_counter()
    answer = browser.get(address, headers={**headers, "Accept-Encoding": "gzip"})
    took = time.perf_counter() - started
    assert answer.status_code == 200, answer.status_code
    is_packed = answer.headers.get("Content-Encoding") == "gzip"
    html = gzip.decompress(answer.content) if is_packed else answer.content
    return took, len(html), len(answer.content) / 1_000


def measure_pages(made: Any) -> None:
    """Print a table of one plan's pages."""
    from django.test import Client

    from applyviz.web.presenters.readings import read_plan
    from applyviz.workflow.access import Person

    browser = Client()
    browser.force_login(Person.objects.get(username="bob"))
    browser.get("/")
    base = f"/reviews/{made.review.number}/"
    read_plan.cache_clear()
    count = made.changes.count()
    for label in ("page, first view", "page, next view"):
        took, size, wire = get(browser, base)
        print(f"{count:5} objects  {label:22} {took:6.3f} s  {size / 1_000:7.0f} kB  {wire:6.0f} kB on the wire")
    step = max(1, count // 20)
    for tab in ("changes", "diff", "requests", "owners", "yaml"):
        paths = [f"{base}plans/{made.number}/objects/{n}/{tab}/" for n in range(0, count, step)]
        found = [get(browser, path, is_fragment=True) for path in paths]
        times = sorted(f[0] for f in found)
        print(
            f"{count:5} objects  switch: {tab:14} {statistics.median(times):6.3f} s  "
            f"(slowest {times[-1]:.3f} s)  {max(f[2] for f in found):6.0f} kB on the wire at most"
        )


def measure(objects: int, load_shop: Any) -> None:
    """Create the shop many times, plan its upgrade, look at both."""
    first, second = load_shop("v1"), load_shop("v2")
    each = sum(1 for data in first.values() for d in yaml.safe_load_all(data) if d)
    copies = max(1, objects // each)
    created, soon, done = plan(open_review("create", copy_shop(first, copies)))
    print(f"{created.changes.count():5} objects  planned as new         first {soon:.2f} s, all {done:.2f} s")
    measure_pages(created)
    write(created)
    upgrade, soon, done = plan(open_review("upgrade", copy_shop(second, copies)))
    print(f"{upgrade.changes.count():5} objects  planned as upgrade     first {soon:.2f} s, all {done:.2f} s")
    measure_pages(upgrade)


def main(sizes: Iterable[int]) -> None:
    """An installation of its own; everything is thrown away at the end."""
    home = tempfile.mkdtemp(prefix="applyviz-benchmark-")
    os.environ.update(APPLYVIZ_HOME=home, DJANGO_SETTINGS_MODULE="applyviz.settings", ALLOWED_HOSTS="testserver")
    import django

    django.setup()
    from django.core.management import call_command

    from applyviz.demo import load_shop
    from applyviz.workflow import clusters, demo

    try:
        call_command("migrate", verbosity=0, interactive=False)
        demo.make_accounts()
        clusters.create_sandbox(slug="demo", name="Demo sandbox")
        for size in sizes:
            measure(size, load_shop)
        written, _, _ = plan(open_review("large", {"large.yaml": make_large("first")}))
        measure_pages(written)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print(
        f"aims: page {PAGE_AIM:.0f} s, {WIRE_AIM:.0f} kB on the wire; switch {SWITCH_AIM:.1f} s; 1 MB {BIG_AIM:.0f} s"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[300, 1_000], help="how many objects")
    main(parser.parse_args().sizes)
