"""An addon whose apply a real API server refuses for a moment: it is tried once more, then pruned and recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from applyviz.workflow.foundation import failpoints
from tests.builders import acknowledge_all, open_dangers
from tests.channels import addon, channel, config, pruning
from tests.controlplane.binaries import Binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product
from tests.controlplane.stories import Files

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
SYSTEM = ("-n", "kube-system")
DEADLINE = 30.0


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[ControlPlane]:
    with ControlPlane(binaries) as started:
        yield started


def _write_files(version: str) -> Files:
    manifest = "---\n".join(config(name, addon="web") for name in ("web", f"web-{version}"))
    return channel({"web": manifest}, [addon("web", manifest, id=version, prune=pruning())])


def _forbid(plane: ControlPlane) -> None:
    """Let a quota refuse every new ConfigMap; return once it does."""
    plane.kubectl("create", "quota", "none", *SYSTEM, "--hard=count/configmaps=0")
    status = json.dumps({"status": {"hard": {"count/configmaps": "0"}, "used": {"count/configmaps": "0"}}})
    plane.kubectl("patch", "quota", "none", *SYSTEM, "--subresource=status", "--type=merge", "-p", status)
    until = time.monotonic() + DEADLINE
    for number in range(10_000):
        created = plane.kubectl("create", "configmap", f"probe-{number}", *SYSTEM, check=False)
        if "exceeded quota" in created.stderr:
            return
        assert time.monotonic() < until, created
        time.sleep(0.1)


def _allow(plane: ControlPlane) -> None:
    """Remove the quota; return once ConfigMaps can be created."""
    plane.kubectl("delete", "quota", "none", *SYSTEM)
    until = time.monotonic() + DEADLINE
    while plane.kubectl("create", "configmap", "allowed", *SYSTEM, check=False).returncode:
        assert time.monotonic() < until
        time.sleep(0.1)


def _run(
    product: Product, files: Files, monkeypatch: pytest.MonkeyPatch, **at: Callable[[ControlPlane], object]
) -> ApplyRun:
    """Plan, approve and run; at named points of the run, another manager changes the cluster."""
    plan = product.plan(files, ApplyOptions(field_manager="kops"))
    acknowledge_all(plan, product.bob)
    open_dangers(plan, product.bob)
    started = runs.approve_and_run(plan, by=product.bob, digest=plan.digest)
    acts = {name: [act] for name, act in at.items()}

    def reach(name: str) -> None:
        for act in acts.pop(name.removeprefix("run."), []):
            act(product.plane)

    monkeypatch.setattr(failpoints, "hooks", [reach])
    runs.execute_run(started.pk)
    monkeypatch.setattr(failpoints, "hooks", [])
    return ApplyRun.objects.get(pk=started.pk)


def _read(plane: ControlPlane) -> tuple[set[str], str]:
    """Which objects of the addon are there, and the id that its record names."""
    found = plane.kubectl("get", "configmaps", *SYSTEM, "-l", "addon=web", "-o", "name").stdout.split()
    space = json.loads(plane.kubectl("get", "namespace", "kube-system", "-o", "json").stdout)
    record = json.loads(space["metadata"].get("annotations", {}).get("addons.k8s.io/web", "{}"))
    return {name.partition("/")[2] for name in found}, record.get("id", "")


def test_addon_is_tried_once_more_and_only_then_pruned_and_recorded(plane, monkeypatch):
    product = Product(plane)
    product.apply(_write_files("1"), ApplyOptions(field_manager="kops"))
    assert _read(plane) == ({"web", "web-1"}, "1")

    failed = _run(product, _write_files("2"), monkeypatch, checked=_forbid)
    assert (failed.state, _read(plane)) == (RunState.FAILED, ({"web", "web-1"}, "1"))
    refused = failed.results.get(change__name="web-2")
    assert (refused.addon_attempt, [one.status for one in refused.journal.all()]) == (2, [403, 403])
    _allow(plane)

    run = _run(product, _write_files("3"), monkeypatch, checked=_forbid, again=_allow_again)
    assert (run.state, run.error, _read(plane)) == (RunState.APPLIED, "", ({"web", "web-3"}, "3"))
    created = run.results.get(change__name="web-3")
    assert (created.addon_attempt, [one.status for one in created.journal.all()]) == (2, [403, 201])


def _allow_again(plane: ControlPlane) -> None:
    """Remove the quota between the two attempts, and see that nothing was pruned or recorded before."""
    assert _read(plane) == ({"web", "web-1"}, "1")
    plane.kubectl("delete", "configmap", "allowed", *SYSTEM)
    _allow(plane)
