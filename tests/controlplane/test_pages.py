"""Does what the pages say of an upgrade come true? Sets that kubectl installed client-side, in both modes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.workflow.plans import changes
from tests.controlplane.binaries import Binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.pages import Pages, judge_objects, judge_run, read_plan
from tests.controlplane.product import Product
from tests.controlplane.stories import Files
from tests.controlplane.takeover import Takeover, install, name_change, read_files, read_live
from tests.controlplane.test_takeover import list_addons, remove_all

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
MODES = [ApplyMode.SERVER, ApplyMode.CLIENT]


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[ControlPlane]:
    """A control plane with the real controllers, which count revisions of what really restarts."""
    with ControlPlane(binaries, has_manager=True) as started:
        yield started


@pytest.fixture
def product(plane) -> Product:
    return Product(plane)


def upgrade(product: Product, name: str, files: Files, options: ApplyOptions) -> Pages:
    """Plan, read, approve, run, read again, and judge."""
    takeover, client = Takeover(product), Client()
    client.force_login(product.bob)
    plan = product.plan(files, options)
    keys = [name_change(changes.open_sealed(row)) for row in plan.changes.order_by("position")]
    before = read_live(product.plane, keys, options.namespace)
    pages = Pages(client, plan)
    read_plan(pages)
    run = takeover.run(plan)
    after = read_live(product.plane, keys, options.namespace)
    judge_objects(pages, before, after, lambda gvk: getattr(takeover.catalog.find_kind(gvk), "root", None))
    judge_run(pages, run)
    if folder := os.environ.get("APPLYVIZ_PAGES"):
        Path(folder, f"{name}-{options.mode.value}.txt").write_text("\n\n".join(pages.text))
    sys.stdout.write(f"{name}, {options.mode.value}: {dict(pages.checked)}, read by people: {dict(pages.unchecked)}\n")
    return pages


@pytest.mark.parametrize("mode", MODES)
def test_pages_of_online_boutique_come_true(product, public_manifests, mode):
    namespace = f"pages-{mode.value}"
    texts = (public_manifests / "online-boutique" / f"{version}.yaml" for version in ("v0.8.0", "v0.10.1"))
    old, new = ({"all.yaml": path.read_text()} for path in texts)
    product.plane.kubectl("create", "namespace", namespace)
    install(product.plane, old, namespace)

    pages = upgrade(product, "online-boutique", new, ApplyOptions(mode, namespace=namespace))

    assert pages.false == []


@pytest.mark.parametrize("mode", MODES)
def test_pages_of_kops_addons_come_true(product, public_manifests, mode):
    old, new = (list_addons(public_manifests / "kops-channel" / version) for version in ("v1.30.0", "v1.36.0"))
    both = {name: old[name] for name in old if name in new}, {name: new[name] for name in new if name in old}
    install(product.plane, both[0])
    try:
        pages = upgrade(product, "kops-addons", both[1], ApplyOptions(mode))
    finally:
        remove_all(product.plane, *both)

    assert pages.false == []


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

    assert pages.false == []
