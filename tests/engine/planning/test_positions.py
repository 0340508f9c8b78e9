"""Does every field point at its line?"""

from __future__ import annotations

import pytest

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.paths import fields
from applyviz.engine.planning.positions import Locator

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
FINALIZERS = fields("spec", "finalizers")


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
        ((*PORTS, "i:1", "f:port"), 8),
        ((*PORTS, "i:9"), 5),
        ((*FINALIZERS, 'v:"two"'), 13),
        ((*FINALIZERS, 'v:"three"'), 11),
        (fields("status", "deep"), 1),
        (fields("metadata", "name", "deeper"), 3),
    ],
)
def test_position(path, line):
    (document,) = parse_manifests(TEXT.encode(), "s.yaml").documents

    found = Locator(document)(path)

    assert (found.file, found.line) == ("s.yaml", line)
