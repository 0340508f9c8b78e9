"""Sets that the real kubectl installed, taken over by the product: what was said against what then is.

Each step plans, approves and runs with the form's defaults, reads the objects before and after, and compares what the
plan stated of every object (its operation, the value of each field, the owners of each field) with what is there.
A second plan of the same files must find nothing to apply.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from applyviz.clusters import connect, discovery
from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import Reason
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.server_managed import drop_server_managed
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.walk import MISSING, list_leaves
from applyviz.records.enums import Outcome
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow import runs
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.plans import changes
from tests.builders import open_dangers
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product, count_operations
from tests.controlplane.stories import Files

JSONObject = dict[str, Any]
_ALLOTTED = {"f:clusterIP", "f:clusterIPs", "f:nodePort", "f:healthCheckNodePort"}
_TRIES, _LOOKS = 3, 120
# Records of the server, and the order of a list: no leaf has another value.
_NO_VALUES = (Reason.BOOKKEEPING, Reason.ORDER)
HEAD = ("set", "mode", "manager", "objects", "conflicts", "stated", "never", "false", "run", "verified", "second plan")


def wait_for_controllers(plane: ControlPlane, namespace: str) -> None:
    """Wait until the controllers, if there are any, have seen every Deployment.

    A plan made before their first annotation goes stale.
    """
    if not plane.has_manager:
        return
    seen: list[bool] = []
    for _ in range(_LOOKS):
        found = json.loads(plane.kubectl("get", "deployments", "-n", namespace, "-o", "json").stdout)["items"]
        seen = [one.get("status", {}).get("observedGeneration") == one["metadata"]["generation"] for one in found]
        if all(seen):
            return
        time.sleep(0.5)
    raise AssertionError(f"the controllers did not see {seen.count(False)} Deployments of {namespace}")


@dataclass
class Step:
    """One row of the table: a set brought to one version in one mode."""

    name: str
    options: ApplyOptions
    objects: int = 0
    conflicts: int = 0
    stated: int = 0
    never: int = 0
    false: list[str] = field(default_factory=list)
    run: str = ""
    outcomes: Mapping[str, int] = field(default_factory=dict)
    second: Mapping[str, int] = field(default_factory=dict)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as texts."""
        verified = self.outcomes.get(Outcome.VERIFIED, 0)
        counts = map(str, (self.objects, self.conflicts, self.stated, self.never, len(self.false)))
        second = ", ".join(f"{count} {name}" for name, count in sorted(self.second.items()))
        head = (self.name, self.options.mode.value, self.options.field_manager)
        return (*head, *counts, self.run, str(verified), second)

    @property
    def faults(self) -> list[str]:
        """Everything that is not as it must be."""
        found = list(self.false)
        found += [f"{self.conflicts} conflicts"] if self.conflicts else []
        found += [f"{self.never} stated changes never happened"] if self.never else []
        odd = {k: n for k, n in self.outcomes.items() if k not in (Outcome.VERIFIED, Outcome.UNCHANGED)}
        found += [f"run {self.run}, {odd}"] if self.run != "applied" or odd else []
        again = {k: n for k, n in self.second.items() if k != Operation.UNCHANGED}
        return found + ([f"second plan: {again}"] if again else [])


def render_table(steps: list[Step]) -> str:
    """The table of section "the first real use": one row per step."""
    rows = [HEAD, *(step.cells for step in steps)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def install(plane: ControlPlane, files: Files, namespace: str = "") -> None:
    """What a team does: `kubectl apply -f` of a folder, client-side, again until definitions are served.

    - The namespace is for objects that name none.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
        command = ("apply", *(["-n", namespace] if namespace else []), "-f", folder)
        for _ in range(_TRIES - 1):
            if plane.kubectl(*command, check=False).returncode == 0:
                return
            plane.kubectl("wait", "--for=condition=Established", "customresourcedefinitions", "--all", check=False)
        plane.kubectl(*command)


def read_live(plane: ControlPlane, refs: list[str], namespace: str) -> dict[str, JSONObject]:
    """The live objects behind these references (`kind.version.group/name` with a namespace), by reference."""
    found = {}
    by_namespace: dict[str, list[str]] = {}
    for ref in refs:
        where, _, what = ref.partition("|")
        by_namespace.setdefault(where, []).append(what)
    for where, names in by_namespace.items():
        arguments = ["-n", where] if where else []
        command = ("get", *arguments, *names, "-o", "json", "--show-managed-fields", "--ignore-not-found")
        answer = plane.kubectl(*command)
        document = json.loads(answer.stdout) if answer.stdout.strip() else {"items": []}
        for obj in document.get("items", [document] if "items" not in document else []):
            found[_name_live(obj)] = obj
    return found


def _name_live(obj: JSONObject) -> str:
    group, _, version = obj["apiVersion"].rpartition("/")
    metadata = obj["metadata"]
    return f"{metadata.get('namespace', '')}|{_resource(obj['kind'], group, version)}/{metadata['name']}"


def _resource(kind: str, group: str, version: str) -> str:
    return f"{kind}.{version}.{group}" if group else kind


def name_change(change: PlannedObject) -> str:
    """The key of `read_live` for the object of a change."""
    ref = change.ref
    return f"{ref.namespace}|{_resource(ref.gvk.kind, ref.gvk.group, ref.gvk.version)}/{ref.name}"


class Takeover:
    """Takes one set from one version to another with the product, and judges every statement of it."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.catalog: Catalog = discovery.load_catalog(connect.open_reader(product.cluster))

    def bring(self, name: str, files: Files, options: ApplyOptions) -> Step:
        """Plan, approve and run; the row of the table."""
        step = Step(name, options)
        wait_for_controllers(self.product.plane, options.namespace)
        plan = self.product.plan(files, options)
        stated = {name_change(change): change for change in map(changes.open_sealed, plan.changes.order_by("position"))}
        step.objects = len(stated)
        step.conflicts = sum(len(change.conflicts) for change in stated.values())
        step.false += [f"{key}: {change.error}" for key, change in stated.items() if change.error]
        run = self.run(plan)
        step.run, step.outcomes = run.state, dict(Counter(run.results.values_list("outcome", flat=True)))
        step.false += [f"{r.change}: {r.outcome} {r.detail} {r.differences[:3]}" for r in self._odd(run)]
        after = read_live(self.product.plane, list(stated), options.namespace)
        for key, change in stated.items():
            self._judge(step, key, change, after.get(key))
        step.second = count_operations(self.product.plan(files, options))
        return step

    def _odd(self, run: ApplyRun) -> list[Any]:
        return list(run.results.exclude(outcome__in=(Outcome.VERIFIED, Outcome.UNCHANGED)).select_related("change"))

    def run(self, plan: Plan) -> ApplyRun:
        """Acknowledge, open, approve and run, as an approver does."""
        by = self.product.bob
        for kind in dict.fromkeys(risk.kind for risk in acknowledgments.find_open(plan)):
            acknowledgments.acknowledge_risks(plan, kind, by=by)
        open_dangers(plan, by)
        if not any(change.has_effect for change in map(changes.open_sealed, plan.changes.all())):
            raise AssertionError("there is nothing to run")
        started = runs.approve_and_run(plan, by=by, digest=plan.digest)
        runs.execute_run(started.pk)
        run: ApplyRun = ApplyRun.objects.get(pk=started.pk)
        return run

    def _judge(self, step: Step, key: str, change: PlannedObject, after: JSONObject | None) -> None:
        versions = change.versions
        if after is None or versions.after is None:
            step.false.append(
                f"{key}: stated {change.operation}, and it is {'not there' if after is None else 'there'}"
            )
            return
        kind = self.catalog.find_kind(change.ref.gvk)
        root = kind.root if kind else None
        leaves = [list_leaves(root, drop_server_managed(one or {})) for one in (versions.live, versions.after, after)]
        said, real = _find_moves(leaves[0], leaves[1]), _find_moves(leaves[0], leaves[2])
        told = {r.path for r in change.fields if r.operation in CHANGING and r.reason not in _NO_VALUES}
        if versions.live is not None:
            step.stated += len(told)
            step.never += len(told - set(real))
        wrong = sorted(p for p in {*said, *real} if said.get(p, MISSING) != real.get(p, MISSING))
        wrong = [p for p in wrong if not _is_of_controllers(after, p)]
        wrong = [p for p in wrong if versions.live is not None or not _is_allotted(p)]
        owners = _find_owners(versions.after) ^ _find_owners(after)
        if wrong or owners:
            shown = [render_path(p) for p in wrong[:4]]
            step.false.append(f"{key}: values {shown}, owners {sorted(owners)[:4]}")


def _is_of_controllers(after: JSONObject, path: FieldPath) -> bool:
    """Whether controllers alone wrote a field since, beside what was applied."""
    owners = {entry.owner.manager for entry in read_owners(after).entries if entry.fields.has(path)}
    return owners == {"kube-controller-manager"}


def _is_allotted(path: FieldPath) -> bool:
    return any(element in _ALLOTTED for element in path) or path[:2] in (
        ("f:metadata", "f:uid"),
        ("f:metadata", "f:managedFields"),
    )


def _find_moves(before: Mapping[FieldPath, Any], after: Mapping[FieldPath, Any]) -> dict[FieldPath, Any]:
    paths = {*before, *after}
    moved = {p: after.get(p, MISSING) for p in paths if before.get(p, MISSING) != after.get(p, MISSING)}
    return {p: value for p, value in moved.items() if p[:2] != ("f:metadata", "f:managedFields")}


def _find_owners(obj: Mapping[str, Any]) -> set[tuple[str, ...]]:
    return {
        (entry.owner.manager, entry.owner.operation, render_path(path))
        for entry in read_owners(obj).entries
        if entry.owner.subresource != "status"
        for path in entry.fields
    }


def read_files(folder: Path) -> Files:
    """The manifests of one folder, not of those below it."""
    return {path.name: path.read_text() for path in sorted(folder.glob("*.yaml"))}


def count_objects(files: Files) -> int:
    """How many objects manifests hold."""
    return sum(1 for text in files.values() for document in yaml.safe_load_all(text) if document)
