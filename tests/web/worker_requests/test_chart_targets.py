"""The APIs for which a chart is rendered: a web process without keys asks a worker, by the rights of the person."""

import pytest
from django.contrib.auth.models import User

from applyviz.records.models import Cluster, WorkerRequest
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.worker_requests import read_api_versions

pytestmark = pytest.mark.django_db


def test_worker_reads_the_apis_and_the_answer_is_deleted(team, web):
    found = read_api_versions(Cluster.objects.get(slug="box"), team.alice)

    assert {"v1", "v1/ConfigMap", "apps/v1", "apps/v1/Deployment"} <= set(found)
    assert not WorkerRequest.objects.filter(kind=WorkerRequestKind.API_VERSIONS).exists()


def test_person_without_a_role_learns_nothing(team, web):
    nobody = User.objects.create_user("nobody")

    with pytest.raises(WorkflowError):
        read_api_versions(Cluster.objects.get(slug="box"), nobody)
