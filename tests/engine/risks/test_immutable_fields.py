"""Which immutable fields a refused change names: those that the server compares, without what it leaves out."""

from __future__ import annotations

import pytest

from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.immutable import IMMUTABLE_FIELD
from tests.engine.planning.cluster import Box

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: %s
  containers: [{name: c, image: i%s}]
"""


@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize(
    ("added", "named"),
    [
        (', env: [], workingDir: "", command: null', ()),
        (", securityContext: {}", ('spec.containers[name="c"].securityContext',)),
        (", securityContext: {runAsUser: 0}", ('spec.containers[name="c"].securityContext',)),
    ],
)
def test_containers_are_named_only_for_values_that_the_server_stores(mode, added, named):
    options = ApplyOptions(mode=mode)
    box = Box()
    box.apply(POD % ("30", ""), options)

    change = box.plan_one(POD % ("40", added), options)

    found = {risk.facts["field"] for risk in change.risks if risk.kind is IMMUTABLE_FIELD}
    assert found == {"spec.terminationGracePeriodSeconds", *named}
