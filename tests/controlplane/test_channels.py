"""The upgrade of a real kOps channel on a real control plane: choice, plan, run, prune and records of every addon."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from applyviz.engine.channels.choosing import hash_manifest
from applyviz.engine.channels.model import AddonPlan
from applyviz.engine.channels.sentences import render_choice
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import PlanState
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow.plans import planner
from tests.controlplane.binaries import Binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product
from tests.controlplane.stories import Files
from tests.controlplane.whole_cluster import find_untrue, list_all
from tests.web.api.test_api import Program
from tests.yaml_files import read_yaml

CHANNEL = "bootstrap-channel.yaml"
KOPS = ApplyOptions(field_manager="kops")
_DNS = "100.64.0.10"  # an address of another service network
pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[ControlPlane]:
    with ControlPlane(binaries) as started:
        yield started


@pytest.fixture
def product(plane) -> Product:
    return Product(plane)


def _untie(text: str) -> str:
    """A manifest without what ties it to one cluster; nobody answers its webhooks here."""
    return text.replace(_DNS, "10.0.0.10").replace("failurePolicy: Fail", "failurePolicy: Ignore")


def read_channel(folder: Path) -> tuple[Files, list[dict[str, object]]]:
    """The files of a channel, with the hashes of what was changed here, and its entries."""
    published = read_yaml(folder / CHANNEL)
    entries = published["spec"]["addons"]
    files: Files = {}
    for entry in entries:
        assert hash_manifest((folder / entry["manifest"]).read_bytes()) == entry["manifestHash"]
        files[entry["manifest"]] = _untie((folder / entry["manifest"]).read_text())
        entry["manifestHash"] = hash_manifest(files[entry["manifest"]].encode())
    return {CHANNEL: yaml.safe_dump(published), **files}, entries


def list_choices(plan: Plan) -> tuple[AddonPlan, ...]:
    channel = options_from_json(plan.options).channel
    assert channel is not None
    return channel.addons


def _render(title: str, plan: Plan, run: ApplyRun | None) -> str:
    """The choice for each addon with its reason, and what came of it."""
    outcomes = {} if run is None else dict(run.results.values_list("position", "outcome"))
    lines = [title, f"{'addon':<46}{'choice':<9}{'objects':>8}{'pruned':>8}  why"]
    for one in list_choices(plan):
        rows = [row for row in plan.changes.all() if row.document.get("addon") == one.addon.name]
        pruned = [row for row in rows if row.operation == Operation.PRUNE]
        done = {outcomes.get(row.position) for row in rows} - {None}
        objects = len(rows) - len(pruned) - sum(bool(row.document.get("is_record")) for row in rows)
        lines.append(
            f"{one.addon.name:<46}{one.action.value:<9}{objects:>8}{len(pruned):>8}  "
            f"{render_choice(one, 'v1.36')} {' '.join(sorted(map(str, done)))}"
        )
        lines += [f"{'':<46}  prunes {row.kind} {row.namespace}/{row.name}" for row in pruned]
    return "\n".join([*lines, ""])


def _read_records(plane: ControlPlane) -> dict[str, str]:
    found = json.loads(plane.kubectl("get", "namespace", "kube-system", "-o", "json").stdout)["metadata"]
    annotations = found.get("annotations", {})
    prefix = "addons.k8s.io/"
    return {n.removeprefix(prefix): v for n, v in annotations.items() if n.startswith(prefix)}


def _write_record(entry: Mapping[str, object]) -> str:
    """The annotation that kOps writes for an entry: `ChannelVersion` of `channels/pkg/channels`, as Go writes JSON."""
    version = {"version": entry["version"]} if "version" in entry else {}
    facts = {**version, "channel": CHANNEL, "id": entry.get("id"), "manifestHash": entry["manifestHash"]}
    given = {name: value for name, value in facts.items() if value is not None}
    return json.dumps({**given, "systemGeneration": 1}, separators=(",", ":"))


def _install(product: Product, files: Files) -> tuple[Plan, ApplyRun]:
    """Post a channel to the API, run its plan, and compare the whole cluster with what the plan says."""
    program = Program(product.alice)
    sent = [{"name": name, "content": text} for name, text in files.items()]
    answer = program.post("reviews/", {"title": "Addons", "cluster": "real", "files": sent})
    assert answer.status_code == 201, answer.content
    made = Plan.objects.latest("pk")
    planner.make_plan(made.pk)
    made.refresh_from_db()
    assert (made.state, made.error, made.problems) == (PlanState.COMPLETE, "", [])
    document = program.get(f"reviews/{made.review.number}/").json()
    before = list_all(product.plane)
    run = product.run(made)
    assert list(find_untrue(made, before, list_all(product.plane))) == []
    records = _read_records(product.plane)
    for one in document["addons"]:
        assert one["decision"] == "skip" or json.loads(records[one["name"]]).get("id", "") == one["offered"]["id"]
    return made, run


def test_upgrade_of_a_channel_is_chosen_applied_pruned_and_recorded(product, public_manifests, capsys):
    (old, before), (new, after) = (read_channel(public_manifests / "kops-channel" / v) for v in ("v1.30.0", "v1.36.0"))

    first, first_run = _install(product, old)
    leftover = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "dropped",
            "namespace": "kube-system",
            "labels": {"addon.kops.k8s.io/name": "certmanager.io", "app.kubernetes.io/managed-by": "kops"},
        },
    }
    product.plane.kubectl("apply", "-f", "-", stdin=json.dumps(leftover))
    records = _read_records(product.plane)
    second, second_run = _install(product, new)
    third = product.plan(new, KOPS)

    with capsys.disabled():
        sys.stdout.write("\n" + _render("v1.30.0 on an empty cluster", first, first_run))
        sys.stdout.write(_render("v1.36.0 over v1.30.0", second, second_run))
        sys.stdout.write(_render("v1.36.0 again", third, None))
    assert [(c.addon.name, c.action, c.reason) for c in list_choices(first)] == [
        (entry["name"], "install", "not-installed") for entry in before
    ]
    offered = {entry["name"] for entry in after}
    left = [(entry["name"], "skip", "not-in-channel") for entry in before if entry["name"] not in offered]
    assert sorted((c.addon.name, c.action, c.reason) for c in list_choices(second)) == sorted(
        [(entry["name"], "update", "other-manifest") for entry in after] + left
    )
    assert records == {entry["name"]: _write_record(entry) for entry in before}
    assert {(c.action.value, c.reason.value) for c in list_choices(third) if c.addon.name in offered} == {
        ("skip", "same")
    }
    assert third.changes.count() == 0
    assert _read_records(product.plane) == {entry["name"]: _write_record(entry) for entry in after}
    pruned = set(second.changes.filter(operation=Operation.PRUNE).values_list("kind", "name"))
    assert ("ConfigMap", "dropped") in pruned
    for kind, name in pruned:
        shown = product.plane.kubectl("get", kind, "-A", "-o", "name").stdout.split()
        assert f"{kind.lower()}/{name}" not in {line.rpartition(".")[0] or line for line in shown}
