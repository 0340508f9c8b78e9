"""The first real use: what kubectl installed client-side is taken over, and every statement of it comes true."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product
from tests.controlplane.stories import Files
from tests.controlplane.takeover import Step, Takeover, install, read_files, render_table

_DNS = "100.64.0.10"  # an address of another service network
# The form's defaults, kubectl's manager, and client-side from the start: the mode of the upgrade and its manager.
UPGRADES = [(ApplyMode.SERVER, "applyviz"), (ApplyMode.SERVER, "kubectl"), (ApplyMode.CLIENT, "applyviz")]
pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]


@pytest.fixture(scope="module")
def plane(managed_plane: ControlPlane) -> ControlPlane:
    """A control plane with the real controllers: they write status while runs go on."""
    return managed_plane


@pytest.fixture
def product(plane) -> Product:
    return Product(plane)


def _tell(capsys, steps: list[Step]) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{render_table(steps)}\n")


@pytest.mark.core(1)
@pytest.mark.parametrize(("mode", "manager"), UPGRADES)
def test_online_boutique_is_taken_over_and_brought_back(product, public_manifests, capsys, mode, manager):
    namespace = f"boutique-{mode.value}-{manager}"
    old, new = (
        {"all.yaml": (public_manifests / "online-boutique" / f"{version}.yaml").read_text()}
        for version in ("v0.8.0", "v0.10.1")
    )
    product.plane.kubectl("create", "namespace", namespace)
    install(product.plane, old, namespace)
    takeover = Takeover(product)

    there = takeover.bring("online-boutique", new, ApplyOptions(mode, field_manager=manager, namespace=namespace))
    back = takeover.bring(
        "online-boutique", old, ApplyOptions(ApplyMode.CLIENT, field_manager=manager, namespace=namespace)
    )

    _tell(capsys, [there, back])
    assert (there.faults, back.faults) == ([], [])
    assert _list_apply_managers(product.plane, namespace) == set()


def _list_apply_managers(plane: ControlPlane, namespace: str) -> set[str]:
    """The managers that still own fields by server-side apply in a namespace."""
    command = ("get", "deployments,services,serviceaccounts", "-n", namespace, "-o", "json", "--show-managed-fields")
    found = [o["metadata"].get("managedFields", ()) for o in json.loads(plane.kubectl(*command).stdout)["items"]]
    return {entry["manager"] for entries in found for entry in entries if entry["operation"] == "Apply"}


def list_addons(folder: Path) -> Files:
    """The addons of a channel, without what ties them to one cluster.

    - Nobody answers their webhooks here, so those must not refuse the objects of others.
    """
    found = {}
    for path in sorted(folder.glob("*/*.yaml")):
        text = path.read_text().replace(_DNS, "10.0.0.10").replace("failurePolicy: Fail", "failurePolicy: Ignore")
        found[f"{path.parent.name}.yaml"] = text.replace('  resourceVersion: "0"\n', "")
    return found


def remove_all(plane: ControlPlane, *sets: Files) -> None:
    """Everything of these sets away again, so that the next manager begins anew."""
    for files in sets:
        text = "\n---\n".join(files.values())
        plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=text)


@pytest.mark.long
@pytest.mark.parametrize(("mode", "manager"), UPGRADES)
def test_kops_addons_are_taken_over(product, public_manifests, capsys, mode, manager):
    plane = product.plane
    old, new = (list_addons(public_manifests / "kops-channel" / version) for version in ("v1.30.0", "v1.36.0"))
    both = {name: old[name] for name in old if name in new}, {name: new[name] for name in new if name in old}
    try:
        install(plane, both[0])
        takeover = Takeover(product)
        there = takeover.bring("kops addons", both[1], ApplyOptions(mode, field_manager=manager))
        back = takeover.bring("kops addons", both[0], ApplyOptions(ApplyMode.CLIENT, field_manager=manager))
    finally:
        remove_all(plane, *both)

    _tell(capsys, [there, back])
    assert (there.faults, back.faults) == ([], [])


@pytest.mark.long
@pytest.mark.parametrize(("mode", "manager"), UPGRADES)
def test_kube_prometheus_is_taken_over(product, public_manifests, capsys, mode, manager):
    plane = product.plane
    old, new = (public_manifests / "kube-prometheus" / version for version in ("v0.13.0", "main-2026-08-10"))
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(new / "setup"))
    first, second = read_files(old), read_files(new)
    install(plane, first)
    takeover = Takeover(product)

    there = takeover.bring("kube-prometheus", second, ApplyOptions(mode, field_manager=manager, namespace="monitoring"))
    back = takeover.bring(
        "kube-prometheus", first, ApplyOptions(ApplyMode.CLIENT, field_manager=manager, namespace="monitoring")
    )

    remove_all(plane, first, second)
    _tell(capsys, [there, back])
    assert (there.faults, back.faults) == ([], [])
