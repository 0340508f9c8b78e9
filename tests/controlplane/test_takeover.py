"""The first real use: what kubectl installed client-side is taken over, and every statement of it comes true."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.controlplane.binaries import Binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product
from tests.controlplane.takeover import Step, Takeover, install, render_table

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[ControlPlane]:
    """A control plane with the real controllers: they write status while runs go on."""
    with ControlPlane(binaries, has_manager=True) as started:
        yield started


@pytest.fixture
def product(plane) -> Product:
    return Product(plane)


def _tell(capsys, steps: list[Step]) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{render_table(steps)}\n")


@pytest.mark.parametrize("manager", ["applyviz", "kubectl"])
def test_online_boutique_is_taken_over_and_brought_back(product, public_manifests, capsys, manager):
    namespace = f"boutique-{manager}"
    old, new = (
        {"all.yaml": (public_manifests / "online-boutique" / f"{version}.yaml").read_text()}
        for version in ("v0.8.0", "v0.10.1")
    )
    product.plane.kubectl("create", "namespace", namespace)
    install(product.plane, old, namespace)
    takeover = Takeover(product)

    there = takeover.bring("online-boutique", new, ApplyOptions(field_manager=manager, namespace=namespace))
    back = takeover.bring(
        "online-boutique", old, ApplyOptions(ApplyMode.CLIENT, field_manager=manager, namespace=namespace)
    )

    _tell(capsys, [there, back])
    assert (there.faults, back.faults) == ([], [])
