"""Where a field stands in its file."""

from __future__ import annotations

import pytest

from applyviz.engine.explain.positions import make_position_finder
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.paths import field, fields, index, key, value
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema import builtin

TEXT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  finalizers: [a.io/x, b.io/y]
spec:
  template:
    spec:
      containers:
      - name: web
        args: [one, two]
        env:
        - name: A
          value: "1"
        - value: "2"
          name: B
"""
CONTAINERS = fields("spec", "template", "spec", "containers")
WEB = (*CONTAINERS, key({"name": "web"}))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (fields("metadata", "name"), 4),
        ((*fields("metadata", "finalizers"), value("b.io/y")), 5),
        (WEB, 10),
        ((*WEB, field("args"), index(1)), 11),
        ((*WEB, field("env"), key({"name": "B"}), field("value")), 15),
        ((*WEB, field("env"), key({"name": "B"}), field("name")), 16),
        ((*WEB, field("env"), key({"name": "gone"}), field("name")), 12),
        ((*CONTAINERS, key({"name": "gone"})), 9),
        (fields("spec", "replicas"), 6),
        ((*fields("metadata", "name"), key({"name": "x"})), 4),
    ],
)
def test_fields_are_found_by_their_keys(path, line):
    root = builtin.bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment")).root
    document = parse_manifests(TEXT.encode(), "web.yaml").documents[0]

    position = make_position_finder(document, root)(path)

    assert (position.file, position.line) == ("web.yaml", line)


def test_kind_without_schema_has_positions_for_its_maps():
    document = parse_manifests(TEXT.encode(), "web.yaml").documents[0]

    find = make_position_finder(document, None)

    assert [find(p).line for p in (fields("metadata", "name"), WEB)] == [4, 9]
