"""Are objects verified that only the real server completes: Jobs, and what is made in a namespace of the same set?"""

import pytest

from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import RunState

pytestmark = pytest.mark.django_db


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: NAMESPACE}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: once, image: busybox}]}}}
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: made}\n"
ZEROES = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: made, labels: {}}
spec:
  minReadySeconds: 0
  paused: false
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeSelector: {}, containers: [{name: web, image: nginx}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: none, namespace: made}
rules: []
"""


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", list(ApplyMode))
def test_job_whose_labels_hold_a_uid_is_verified(team, mode):
    run = team.apply(JOB.replace("NAMESPACE", "default"), mode=mode)

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"])


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", list(ApplyMode))
def test_objects_whose_namespace_is_in_the_same_set_are_verified(team, mode):
    run = team.apply(NAMESPACE, JOB.replace("NAMESPACE", "made"), ZEROES, mode=mode)

    assert (run.state, set(team.outcomes(run))) == (RunState.APPLIED, {"applied"})
