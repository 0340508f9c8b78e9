"""The switch of simulated workloads: who may use it, what it changes, what the audit trail says."""

from __future__ import annotations

import pytest

from applyviz.clusters.sandbox import open_sandbox
from applyviz.clusters.storage import DatabaseStore
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.records.enums import AuditAction, ClusterKind, Role
from applyviz.records.models import AuditEntry, Cluster
from applyviz.sandbox.workloads.moments import TIMERS
from applyviz.workflow.clusters.simulation_settings import simulate_workloads
from applyviz.workflow.foundation.errors import NotPossibleError
from tests.builders import make_person
from tests.sandbox.workloads.conftest import workload
from tests.stories import Team

pytestmark = pytest.mark.django_db
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture
def team():
    return Team()


@pytest.fixture
def admin():
    return make_person("dana", Role.ADMINISTRATOR)


def count_sets(cluster: Cluster) -> int:
    answer = open_sandbox(Cluster.objects.get(pk=cluster.pk)).handle(
        Request("GET", "/apis/apps/v1/namespaces/default/replicasets")
    )
    return len(answer.body["items"])


def test_switch_is_for_administrators_alone(team, client):
    client.force_login(team.bob)

    assert client.post("/clusters/box/simulation/", {"is_on": "on"}).status_code == 403
    assert client.get("/clusters/box/simulation/").status_code == 405
    assert not Cluster.objects.get().simulates_workloads


def test_workloads_that_are_there_come_to_life(team, admin, client):
    body = workload("Deployment", replicas=1)
    assert open_sandbox(team.cluster).handle(Request("POST", DEPLOYMENTS, {}, JSON, body)).is_ok
    assert count_sets(team.cluster) == 0
    client.force_login(admin)

    page = client.post("/clusters/box/simulation/", {"is_on": "on"}, follow=True)

    assert "The sandbox simulates workloads." in page.content.decode()
    assert count_sets(team.cluster) == 1
    entry = AuditEntry.objects.filter(action=AuditAction.CLUSTER_CHANGED).get()
    assert (entry.detail, entry.cluster) == ({"workloads": "simulated"}, "box")


def test_stopped_simulation_changes_nothing_more(team, admin):
    assert simulate_workloads(team.cluster, is_on=True, by=admin)
    assert not simulate_workloads(team.cluster, is_on=True, by=admin)
    assert simulate_workloads(team.cluster, is_on=False, by=admin)

    assert open_sandbox(team.cluster).handle(Request("POST", DEPLOYMENTS, {}, JSON, workload("Deployment"))).is_ok
    assert count_sets(team.cluster) == 0
    assert DatabaseStore(team.cluster.pk).get_meta(TIMERS) is None


def test_live_cluster_is_not_simulated(team, admin):
    Cluster.objects.update(kind=ClusterKind.LIVE)
    team.cluster.refresh_from_db()

    with pytest.raises(NotPossibleError, match="only a sandbox"):
        simulate_workloads(team.cluster, is_on=True, by=admin)
