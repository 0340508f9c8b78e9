"""A sandbox over HTTP: its token opens it, and what kubectl sends is what the sandbox has."""

import json

import pytest

from applyviz import clock
from applyviz.records.enums import Role
from applyviz.records.models import Cluster
from applyviz.workflow.clusters import registration, sandboxes
from applyviz.workflow.foundation.errors import NotAllowedError
from tests.builders import make_cluster_row, make_person

pytestmark = pytest.mark.django_db
MAPS = "/sandboxes/box/api/v1/namespaces/default/configmaps"


@pytest.fixture(name="sandboxes", autouse=True)
def _sandboxes_are_rows():
    """As kubectl finds them: in the database."""


@pytest.fixture
def token():
    cluster = registration.create_sandbox(slug="box", name="Box")
    return cluster.credential.open_bytes().decode()


def test_object_is_written_and_read(client, token):
    bearer = {"HTTP_AUTHORIZATION": f"Bearer {token}"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}

    made = client.post(MAPS + "?fieldManager=kubectl", json.dumps(body), content_type="application/json", **bearer)
    found = client.get(f"{MAPS}/settings", **bearer)

    assert (made.status_code, found.status_code) == (201, 200)
    assert found.json()["data"] == {"a": "1"}
    assert found.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("authorization", ["", "Bearer ", "Bearer wrong", "Basic d3Jvbmc=", "wrong"])
def test_nobody_gets_in_without_the_token(client, token, authorization):
    answer = client.get(MAPS, HTTP_AUTHORIZATION=authorization)

    assert (answer.status_code, answer.json()["reason"]) == (401, "Unauthorized")


def test_session_opens_no_sandbox(client, token):
    client.force_login(make_person("bob", Role.APPROVER))

    assert client.get(MAPS).status_code == 401


@pytest.mark.parametrize("address", ["api", "api/v1/pods", "api/v1/pods?watch=true", "nothing/at/all"])
@pytest.mark.parametrize("slug", ["real", "archived", "nobody"])
def test_wrong_token_does_not_tell_which_sandboxes_exist(client, token, slug, address):
    make_cluster_row("real", kind="live")
    registration.create_sandbox(slug="archived", name="Archived")
    Cluster.objects.filter(slug="archived").update(archived_at=clock.now())

    asked = [(slug, f"Bearer {token}"), ("box", "Bearer wrong"), ("box", "")]
    answers = [client.get(f"/sandboxes/{name}/{address}", HTTP_AUTHORIZATION=given) for name, given in asked]

    seen = {(a.status_code, a.content, tuple(h for h in a.items() if h[0] != "X-Request-ID")) for a in answers}
    assert (len(seen), answers[0].status_code) == (1, 401)


def test_kubeconfig_is_for_those_who_may_apply(token):
    cluster = sandboxes.find_sandbox("box")
    text = sandboxes.make_kubeconfig(cluster, address="http://localhost:8000", for_user=make_person("b", Role.APPROVER))

    assert f"http://token:{token}@localhost:8000/sandboxes/box" in text
    with pytest.raises(NotAllowedError):
        sandboxes.make_kubeconfig(cluster, address="http://x", for_user=make_person("v", Role.VIEWER))
