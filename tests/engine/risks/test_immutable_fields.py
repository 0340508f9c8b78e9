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


SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  serviceName: s
  selector: {matchLabels: {app: s}%s}
  template: {metadata: {labels: {app: s}}, spec: {containers: [{name: c, image: i}]}}
  volumeClaimTemplates:
  - {metadata: {name: d%s}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
"""
VOLUME = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec: %s
"""
SPEC = "{capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {server: s, path: /%s}}"


@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (POD % ("30", ""), POD % ("30", ", key: 1")),
        (POD % ("30", ""), POD % ("30", "") + "  type: 1\n"),
        (POD % ("30", ""), "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: 1\n"),
        (SET % ("", ""), SET % (", key: 1", "")),
        (SET % ("", ""), SET % ("", ", key: 1")),
        (VOLUME % SPEC % "a", VOLUME % SPEC % "a, extra: 1"),
    ],
)
def test_what_the_server_cannot_read_changes_no_immutable_field(mode, before, after):
    options, box = ApplyOptions(mode=mode), Box()
    box.apply(before, options)

    change = box.plan_one(after, options)

    assert change.error
    assert [risk.facts["field"] for risk in change.risks if risk.kind is IMMUTABLE_FIELD] == []


def test_default_below_a_section_that_is_null_does_not_change():
    options, box = ApplyOptions(ApplyMode.SERVER), Box()
    box.apply(VOLUME % SPEC % "a", options)

    change = box.plan_one(VOLUME % "{}", options)

    assert [risk.facts["field"] for risk in change.risks if risk.kind is IMMUTABLE_FIELD] == ["spec.nfs"]


@pytest.mark.parametrize("mode", ApplyMode)
def test_defaults_of_list_entries_are_no_change_beside_a_refused_field(mode):
    options, box = ApplyOptions(mode=mode), Box()
    box.apply(SET % ("", ""), options)

    change = box.plan_one((SET % ("", "")).replace("matchLabels: {app: s}", "matchLabels: {}"), options)

    assert [risk.facts["field"] for risk in change.risks if risk.kind is IMMUTABLE_FIELD] == ["spec.selector"]


@pytest.mark.parametrize("mode", ApplyMode)
def test_type_that_is_empty_gets_its_default_again(mode):
    options, box = ApplyOptions(mode=mode), Box()
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: %s\ndata: {a: %s}\n"
    box.apply(text % ("Opaque", "YQ=="), options)

    change = box.plan_one(text % ('""', '" "'), options)

    assert change.error
    assert [risk.facts["field"] for risk in change.risks if risk.kind is IMMUTABLE_FIELD] == []
