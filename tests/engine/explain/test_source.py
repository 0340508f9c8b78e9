"""Does every field point at its line?"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from applyviz.engine.explain.fields import explain
from applyviz.engine.explain.reasons import Reason
from applyviz.engine.explain.source import locate
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.topology import of_root

TEXT = """\
apiVersion: v1
kind: Service
metadata: {name: s}
spec:
  ports:
  - port: 80
    name: web
  - port: 443
    protocol: TCP
  - 7
  finalizers:
  - one
  - two
"""
PORTS = fields("spec", "ports")
FINALIZERS = fields("metadata", "finalizers")
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
  finalizers:
  - one
  - two
"""


def locate_in(text, kind, path):
    (document,) = parse_manifests(text.encode(), "s.yaml").documents
    place = of_root(bundled().find_kind(GroupVersionKind("", "v1", kind)).root)
    return locate(document, place, path)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (fields("spec"), 4),
        (PORTS, 5),
        ((*PORTS, 'k:{"port":80,"protocol":"TCP"}', "f:name"), 7),
        ((*PORTS, 'k:{"port":443,"protocol":"TCP"}', "f:protocol"), 9),
        ((*PORTS, 'k:{"port":443,"protocol":"TCP"}', "f:nowhere"), 8),
        ((*PORTS, 'k:{"port":1,"protocol":"TCP"}'), 5),
        (fields("spec", "ports", "name"), 5),
        (fields("status", "deep"), 1),
        (fields("metadata", "name", "deeper"), 3),
        (fields("nowhere", "deep"), 1),
    ],
)
def test_position(path, line):
    found = locate_in(TEXT, "Service", path)

    assert (found.file, found.line) == ("s.yaml", line)


@pytest.mark.parametrize(("path", "line"), [((*FINALIZERS, 'v:"two"'), 7), ((*FINALIZERS, 'v:"three"'), 5)])
def test_position_of_a_value_in_a_set(path, line):
    assert locate_in(POD, "Pod", path).line == line


def test_order_of_a_list_is_told_with_its_line():
    kind = bundled().find_kind(GroupVersionKind("", "v1", "Pod"))
    (document,) = parse_manifests(POD.encode(), "s.yaml").documents
    live = {**document.obj, "metadata": {"name": "p", "finalizers": ["two", "one"]}}
    versions = SimpleNamespace(last_applied=None, manifest=document.obj, live=live, merged=None, after=document.obj)

    reasons = explain(versions=versions, mode="client", manager="kubectl", kind=kind, document=document)

    (order,) = (r for r in reasons if r.reason is Reason.ORDER)
    assert (order.path, order.position.line) == (FINALIZERS, 5)
