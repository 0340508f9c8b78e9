"""Is what is stored what was planned?"""

from __future__ import annotations

import json

import pytest

from applyviz.engine.objects.errors import PlanError
from applyviz.engine.planning.digest.serialize import (
    CHANGE_FORMAT,
    change_from_json,
    change_to_json,
    core_from_json,
    from_json,
    options_from_json,
    options_to_json,
    requests_from_json,
    to_json,
)
from applyviz.engine.planning.model.plan import PlannedSet
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode
from tests.engine.planning.cluster import Box

TEXT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx, env: [{name: A, value: "1"}]}]}
"""


def through_text(value):
    return json.loads(json.dumps(value))


def plan_update():
    box = Box()
    box.apply(TEXT)
    return box.plan(TEXT.replace("nginx", "nginx:2") + "---\nkind: Broken\n")


def test_plan_comes_back_as_it_was():
    plan = plan_update()

    assert from_json(PlannedSet, through_text(to_json(plan))) == plan


def test_change_comes_back_as_it_was():
    (change,) = plan_update().changes

    assert change.fields
    assert change.risks
    assert change_from_json(through_text(change_to_json(change))) == change


def test_sender_reads_a_change_without_what_explains():
    (change,) = plan_update().changes

    core = core_from_json(through_text(change_to_json(change)))

    assert (core.ref, core.operation, core.versions, core.requests) == (
        change.ref,
        change.operation,
        change.versions,
        change.requests,
    )
    assert (core.fields, core.risks) == ((), ())


def test_requests_of_a_change_are_read_alone():
    (change,) = plan_update().changes
    written = through_text(change_to_json(change))

    assert requests_from_json(written) == change.requests
    with pytest.raises(PlanError, match="stored PlannedObject cannot be read"):
        requests_from_json({**written, "requests": [{"method": "GET", "odd": 1}]})


def test_options_come_back_as_they_were():
    options = ApplyOptions(mode=ApplyMode.CLIENT, prune=Prune(PruneMode.ALLOWLIST, ("core/v1/Pod",), is_all=True))

    assert options_from_json(through_text(options_to_json(options))) == options
    assert options_to_json(ApplyOptions()) == {"format": 1}


def test_other_format_is_refused():
    with pytest.raises(PlanError, match="stored plan has format 99, expected 1"):
        options_from_json({"format": 99})
    with pytest.raises(PlanError, match="stored plan has format 1, expected 2"):
        change_from_json({"format": 1, "ref": [["", "v1", "Pod"], "", "x"], "operation": "create", "versions": {}})


def test_unreadable_data_is_refused():
    with pytest.raises(PlanError, match="stored PlannedObject cannot be read"):
        change_from_json(
            {"format": CHANGE_FORMAT, "ref": [["", "v1", "Pod"], "", "x"], "operation": "dance", "versions": {}}
        )
