"""Does what the pages say of an upgrade come true? Sets that kubectl installed client-side, in both modes."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from django.test import Client

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.workflow.plans import changes
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.page_owners import judge_owners
from tests.controlplane.page_summary import judge_risks, judge_summary
from tests.controlplane.pages import (
    Pages,
    judge_counts,
    judge_fields,
    judge_requests,
    judge_run,
    judge_scroll,
    tell,
)
from tests.controlplane.product import Product
from tests.controlplane.stories import Files
from tests.controlplane.takeover import Takeover, install, name_change, read_files, read_live
from tests.controlplane.test_takeover import list_addons, remove_all

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
MODES = [ApplyMode.SERVER, ApplyMode.CLIENT]
OBSERVED_SECONDS = 30  # the controller stamps the revision of a Deployment a moment after the write
SHOWN = 40  # how many false statements a failure prints


@pytest.fixture(scope="module")
def plane(managed_plane: ControlPlane) -> ControlPlane:
    """A control plane with the real controllers, which count revisions of what really restarts."""
    return managed_plane


@pytest.fixture
def product(plane) -> Product:
    return Product(plane)


def exists(plane: ControlPlane, kind: str, name: str, namespace: str) -> bool:
    """Whether the server has an object now; a reference from no namespace may lead to any."""
    where = ["-n", namespace] if namespace else ["-A"]
    found = plane.kubectl("get", kind, *where, "--field-selector", f"metadata.name={name}", "-o", "name", check=False)
    return bool(found.stdout.strip())


def has_pods(plane: ControlPlane, labels: str, namespace: str) -> bool:
    """Whether the server has a pod with these labels now."""
    return bool(plane.kubectl("get", "pods", "-n", namespace, "-l", labels, "-o", "name").stdout.strip())


def upgrade(product: Product, name: str, files: Files, options: ApplyOptions) -> Pages:
    """Plan, read everything that pages say, approve, run, and judge it."""
    takeover, client = Takeover(product), Client()
    client.force_login(product.bob)
    plan = product.plan(files, options)
    keys = [name_change(changes.open_sealed(row)) for row in plan.changes.order_by("position")]
    before = read_observed(product.plane, keys, options.namespace)
    run = takeover.run(plan)
    after = read_observed(product.plane, keys, options.namespace)
    pages = Pages(client, plan, partial(exists, product.plane), partial(has_pods, product.plane))
    all_told = tell(pages, before, after, lambda gvk: getattr(takeover.catalog.find_kind(gvk), "root", None))
    judge_counts(pages)
    judge_summary(pages, all_told)
    judge_risks(pages, all_told)
    for told in all_told:
        judge_fields(pages, told)
    judge_scroll(pages, all_told, most=20)
    judge_owners(pages, all_told)
    judge_requests(pages, run)
    judge_run(pages, run)
    if folder := os.environ.get("APPLYVIZ_PAGES"):
        Path(folder, f"{name}-{options.mode.value}.txt").write_text("\n\n".join(pages.text))
        Path(folder, f"{name}-{options.mode.value}-false.txt").write_text("\n".join(pages.false))
    total = sum(pages.checked.values())
    head = f"{name}, {options.mode.value}: {total} statements, {len(pages.false)} false"
    sys.stdout.write(f"{head}\n  {dict(pages.checked)}\n  beyond the plan: {dict(pages.beyond)}\n")
    return pages


def read_observed(plane: ControlPlane, keys: list[str], namespace: str) -> dict[str, JSONObject]:
    """The live objects, once the controller has seen the present generation of every Deployment."""
    deadline = time.monotonic() + OBSERVED_SECONDS
    while True:
        live: dict[str, JSONObject] = read_live(plane, keys, namespace)
        late = [
            key
            for key, found in live.items()
            if found["kind"] == "Deployment"
            and found.get("status", {}).get("observedGeneration", 0) < found["metadata"]["generation"]
        ]
        if not late:
            return live
        assert time.monotonic() < deadline, f"the controller has not seen {late}"
        time.sleep(0.2)


def take_boutique(folder: Path, *, names: tuple[str, ...] = ()) -> tuple[Files, Files]:
    """The two versions of online-boutique; only the documents that hold one of these names, if there are any."""
    texts = [(folder / "online-boutique" / f"{version}.yaml").read_text() for version in ("v0.8.0", "v0.10.1")]
    parts = ([p for p in text.split("\n---\n") if not names or any(n in p for n in names)] for text in texts)
    old, new = ({"all.yaml": "\n---\n".join(part)} for part in parts)
    return old, new


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", MODES)
def test_pages_of_an_upgrade_come_true(product, public_manifests, mode):
    namespace = f"short-{mode.value}"
    old, new = take_boutique(public_manifests, names=("name: redis-cart", "name: cartservice", "name: frontend"))
    product.plane.kubectl("create", "namespace", namespace)
    install(product.plane, old, namespace)

    pages = upgrade(product, "short", new, ApplyOptions(mode, namespace=namespace))

    assert pages.false[:SHOWN] == []
    assert sum(pages.checked.values()) > 500


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_pages_of_online_boutique_come_true(product, public_manifests, mode):
    namespace = f"pages-{mode.value}"
    old, new = take_boutique(public_manifests)
    product.plane.kubectl("create", "namespace", namespace)
    install(product.plane, old, namespace)

    pages = upgrade(product, "online-boutique", new, ApplyOptions(mode, namespace=namespace))

    assert pages.false[:SHOWN] == []


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_pages_of_kops_addons_come_true(product, public_manifests, mode):
    old, new = (list_addons(public_manifests / "kops-channel" / version) for version in ("v1.30.0", "v1.36.0"))
    both = {name: old[name] for name in old if name in new}, {name: new[name] for name in new if name in old}
    install(product.plane, both[0])
    try:
        pages = upgrade(product, "kops-addons", both[1], ApplyOptions(mode))
    finally:
        remove_all(product.plane, *both)

    assert pages.false[:SHOWN] == []


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_pages_of_kube_prometheus_come_true(product, public_manifests, mode):
    plane = product.plane
    old, new = (public_manifests / "kube-prometheus" / version for version in ("v0.13.0", "main-2026-08-10"))
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(new / "setup"))
    first, second = read_files(old), read_files(new)
    install(plane, first)
    try:
        pages = upgrade(product, "kube-prometheus", second, ApplyOptions(mode, namespace="monitoring"))
    finally:
        remove_all(plane, first, second)

    assert pages.false[:SHOWN] == []
