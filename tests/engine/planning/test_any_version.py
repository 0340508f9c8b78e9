"""A manifest with resourceVersion 0 is bound to no version, as a real v1.36 server has it."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.engine.planning.cluster import Box

METADATA = {"name": "any", "namespace": "default", "resourceVersion": "0"}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": METADATA, "spec": {"ports": [{"port": 53}]}}
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": METADATA, "spec": {"holderIdentity": "a"}}
REFUSED = "the manifest names resourceVersion 0, but the live object has "


def labeled(obj, value):
    return yaml.safe_dump({**obj, "metadata": {**METADATA, "labels": {"value": value}}})


@pytest.mark.parametrize("mode", ApplyMode)
def test_service_is_created_and_updated(mode):
    box, options = Box(), ApplyOptions(mode=mode)

    created = box.plan(labeled(SERVICE, "1"), options)
    box.run(created)
    changed = box.plan(labeled(SERVICE, "2"), options)
    box.run(changed)

    assert [c.operation for made in (created, changed) for c in made.changes] == [Operation.CREATE, Operation.UPDATE]
    assert box.get("/api/v1/namespaces/default/services/any")["metadata"]["labels"] == {"value": "2"}


@pytest.mark.parametrize("mode", ApplyMode)
def test_kind_that_must_name_its_version_is_refused(mode):
    box, options = Box(), ApplyOptions(mode=mode)
    box.run(box.plan(labeled(LEASE, "1"), options))

    change = box.plan_one(labeled(LEASE, "2"), options)

    assert change.operation is Operation.ERROR
    assert change.error.startswith(REFUSED)
