"""Does a claim about a risk say no where the risk is false? No control plane is needed: objects are given."""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject, clone
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.model import Risk
from applyviz.engine.schema.builtin import bundled
from tests.controlplane.page_summary import CLAIMS
from tests.controlplane.pages import Told
from tests.engine.planning.cluster import Box

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: default}\nspec: {ports: [PORT]}\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  activeDeadlineSeconds: 1_000
  containers: [{name: c, image: i, ports: [{containerPort: 080}]}]
  volumes: [{name: v, secret: {secretName: s, defaultMode: 0644}}]
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\ndata: {DATA}\n"
SECRET = (
    "apiVersion: v1\nkind: Secret\nmetadata: {name: c, namespace: default}\nstringData: {pin: '1', day: 2026-01-01}\n"
)
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: toys, singular: toy, kind: Toy, listKind: ToyList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
"""
TOY = (
    "apiVersion: example.com/v1\nkind: Toy\nmetadata: {name: t, namespace: default}\nspec: {a: yes, b: 1.10, c: 1e3}\n"
)


def tell(change: PlannedObject, after: JSONObject | None) -> Told:
    kind = bundled().find_kind(change.ref.gvk)
    root: Any = kind.root if kind else None
    return Told(change, 0, "", change.versions.live, after, root, "applyviz")


def find(change: PlannedObject, slug: str) -> dict[str, Risk]:
    return {render_path(risk.path): risk for risk in change.risks if risk.kind.slug == slug}


def judge(change: PlannedObject, after: JSONObject | None, risk: Risk) -> bool:
    return CLAIMS[risk.kind.slug](tell(change, after), risk)


def put(obj: JSONObject, value: object, *steps: str | int) -> JSONObject:
    """Return a copy of an object with a value elsewhere; None removes the field."""
    copied: Any = clone(obj)
    at = copied
    for step in steps[:-1]:
        at = at[step]
    if value is None:
        del at[steps[-1]]
    else:
        at[steps[-1]] = value
    return copied


@pytest.mark.parametrize("mode", list(ApplyMode))
@pytest.mark.parametrize(
    ("port", "path", "steps"),
    [
        ("{port: 1, protocol: null}", '.spec.ports[port=1,protocol="TCP"].protocol', ("spec", "ports", 0, "protocol")),
        ("{port: 1}], sessionAffinity: null, x: [", ".spec.sessionAffinity", ("spec", "sessionAffinity")),
    ],
)
def test_null_that_gets_its_default_again_has_a_value_afterwards(mode, port, path, steps):
    box, options = Box(), ApplyOptions(mode)
    box.apply(SERVICE.replace("PORT", "{port: 1}"), options)
    change = box.plan_one(SERVICE.replace("PORT", port).replace(", x: []", ""), options)
    risk = find(change, "null-defaults-again")[path]

    assert judge(change, change.versions.after, risk)
    assert not judge(change, put(change.versions.after, None, *steps), risk)


def test_null_in_another_entry_is_no_null_there():
    box = Box()
    box.apply(SERVICE.replace("PORT", "{name: a, port: 1}, {name: b, port: 2}"))
    planned = box.plan_one(SERVICE.replace("PORT", "{name: a, port: 1, protocol: null}, {name: b, port: 2}"))
    (risk,) = find(planned, "null-defaults-again").values()
    other = box.plan_one(SERVICE.replace("PORT", "{name: a, port: 1}, {name: b, port: 2, protocol: null}"))

    assert judge(planned, planned.versions.after, risk)
    assert not judge(other, other.versions.after, risk)


def plan(text: str, name: str) -> PlannedObject:
    return next(change for change in Box().plan(text).changes if change.ref.name == name)


@pytest.mark.parametrize(
    ("text", "name", "path", "steps", "false"),
    [
        (POD, "p", ".spec.activeDeadlineSeconds", ("spec", "activeDeadlineSeconds"), "1_000"),
        (POD, "p", ".spec.activeDeadlineSeconds", ("spec", "activeDeadlineSeconds"), 1),
        (POD, "p", '.spec.volumes[name="v"].secret.defaultMode', ("spec", "volumes", 0, "secret", "defaultMode"), 644),
        (CRD + TOY, "t", ".spec.a", ("spec", "a"), "yes"),
        (CRD + TOY, "t", ".spec.a", ("spec", "a"), False),
        (CRD + TOY, "t", ".spec.b", ("spec", "b"), "1.10"),
        (CONFIG.replace("DATA", "day: 2026-01-01"), "c", ".data.day", ("data", "day"), "2026-01-01T00:00:00Z"),
        (CONFIG.replace("DATA", "on: x"), "c", ".data.true", ("data", "true"), None),
        (CONFIG.replace("DATA", "on: x"), "c", ".data.true", ("data", "on"), "x"),
    ],
)
def test_text_that_is_read_as_another_value_is_not_stored_as_written(text, name, path, steps, false):
    change = plan(text, name)
    risk = find(change, "retyped-value")[path]
    after = change.versions.after or change.versions.merged

    assert judge(change, after, risk)
    assert not judge(change, put(after, false, *steps), risk)


def test_text_of_a_secret_is_in_the_manifest():
    change, other = plan(SECRET, "c"), plan(SECRET.replace("day:", "night:"), "c")
    (risk,) = find(change, "retyped-value").values()

    assert judge(change, change.versions.after, risk)
    assert not judge(other, other.versions.after, risk)
