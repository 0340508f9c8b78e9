"""Three releases of an ingress controller in a row on a real API server: the product leaves what kubectl leaves.

Its admission Jobs cannot be changed: the product replaces them by a choice about each, kubectl by force.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.object_choices import ObjectChoice, choose
from tests.controlplane.comparison import compare, make_comparable, read_objects
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product
from tests.edge import JOBS, RELEASES, write_release
from tests.yaml_files import read_yaml

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
MANAGERS = {ApplyMode.CLIENT: "kubectl-client-side-apply", ApplyMode.SERVER: "applyviz"}


@contextmanager
def cleaned(plane: ControlPlane, *prefixes: str) -> Iterator[None]:
    """In the end no webhook is left that would refuse every Ingress of other tests."""
    try:
        yield
    finally:
        for prefix in prefixes:
            plane.kubectl(
                "delete", "validatingwebhookconfigurations", f"{prefix}-admission", "--ignore-not-found", check=False
            )


def complete_webhook(plane: ControlPlane, prefix: str) -> None:
    """What the admission Job does: it writes a certificate into the webhook; here, that of the API server."""
    (cluster,) = read_yaml(plane.kubeconfig)["clusters"]
    bundle = cluster["cluster"]["certificate-authority-data"]
    patch = json.dumps([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}])
    name = f"{prefix}-admission"
    plane.kubectl(
        *("patch", "validatingwebhookconfigurations", name, "--type=json", "-p", patch),
        "--field-manager=certificates",
    )


def apply_with_kubectl(plane: ControlPlane, mode: ApplyMode, text: str, prefix: str) -> None:
    """One release; server-side, kubectl has no force that replaces: the Jobs are deleted first."""
    if mode is ApplyMode.CLIENT:
        plane.kubectl("apply", "--force", "-f", "-", stdin=text)
        return
    jobs = [f"{prefix}-{job}" for job in JOBS]
    plane.kubectl("delete", "jobs", *jobs, "-n", prefix, "--ignore-not-found")
    plane.kubectl("apply", "--server-side", f"--field-manager={MANAGERS[mode]}", "-f", "-", stdin=text)


def apply_with_product(product: Product, text: str, options: ApplyOptions, *, is_upgrade: bool) -> None:
    """One release; what the server refuses is chosen for replacement, object by object, as on the page."""
    files = {"deploy.yaml": text}
    if is_upgrade:
        plan = product.plan(files, options)
        refused = [row for row in plan.changes.all() if row.operation == Operation.ERROR]
        assert [(row.kind, row.namespace) for row in refused] == [("Job", options.namespace)] * len(JOBS)
        assert all(changes.read_masked(row).can_be_replaced for row in refused)
        options = choose(plan, [changes.ref_of(row) for row in refused], ObjectChoice.REPLACE)
    product.apply(files, options)


@pytest.mark.long
@pytest.mark.parametrize("mode", ApplyMode)
def test_three_releases_in_a_row_leave_what_kubectl_leaves(control_plane, mode):
    theirs, mine = f"theirs-edge-{mode.value}", f"mine-edge-{mode.value}"
    product = Product(control_plane)
    with cleaned(control_plane, theirs, mine):
        for number, release in enumerate(RELEASES):
            apply_with_kubectl(control_plane, mode, write_release(release, theirs), theirs)
            options = ApplyOptions(mode=mode, field_manager=MANAGERS[mode], namespace=mine)
            apply_with_product(product, write_release(release, mine), options, is_upgrade=number > 0)

            found = {}
            for prefix in (theirs, mine):
                live = read_objects(control_plane, {"deploy.yaml": write_release(release, prefix)}, prefix)
                uids = {each["metadata"]["uid"]: "uid" for each in live.values()}
                found[prefix] = make_comparable(live, {prefix: "edge", **uids})
                complete_webhook(control_plane, prefix)
            assert len(found[mine]) == 19 + (number == 2)
            assert compare(found[mine], found[theirs]) == []
