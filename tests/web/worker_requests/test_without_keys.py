"""A web process that holds no key that opens: every page is as with keys, and what takes a worker waits for one."""

import json
import re
from base64 import b64encode
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.clusters import connect
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.records.enums import AuditAction
from applyviz.records.models import (
    AuditEntry,
    Cluster,
    LiveComparison,
    ObjectChange,
    Review,
    SourceFile,
    Webhook,
    WorkerRequest,
)
from applyviz.records.sealing import Sealed, SealError
from applyviz.records.worker_enums import WorkerRequestKind, WorkerRequestState
from applyviz.web.reviews.views.tabs import COOKIE
from applyviz.workflow.live import inventory
from applyviz.workflow.ops import health
from applyviz.workflow.plans.changes import read_masked
from tests.architecture.test_web import addresses
from tests.builders import make_cluster_row
from tests.keyless import go_without_keys
from tests.web.clusters.test_clusters import KUBECONFIG

pytestmark = pytest.mark.django_db
HTMX = {"HTTP_HX_REQUEST": "true"}
OBJECT = {"group": "core", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
WATTS = {"type": "integer", "format": "int32", "description": "How bright it is."}
LAMP = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"watts": WATTS}}}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "lamps.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": LAMP}}],
    },
}
# A page for each question that pages ask a worker, because a web process cannot open the answer.
ASKING = (
    f"/clusters/box/adopt/{'/'.join(OBJECT.values())}/",
    *("/clusters/box/managers/", "/clusters/box/managers/applyviz/", "/clusters/box/state/", "/reviews/2/"),
)
CANARIES = ("canary-1", "canary-2", b64encode(b"canary-1").decode(), b64encode(b"canary-2").decode())


def fill(route):
    number = "2" if route.startswith("reviews/") else "1"
    if route.startswith(("settings/people/", "history/people/")):
        return "/" + re.sub(r"<[^>]+>", "alice", route)
    values = {"number": number, "plan": "2" if number == "2" else "1", "position": "0", "index": "0", "pk": "1"}
    values |= {"slug": "box", "tab": "changes", "manager": "applyviz", "cluster": "box", "sort": "changed", **OBJECT}
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: values.get(found[1], "1"), route)


def words(answer):
    if answer.streaming:
        return ""
    text = re.sub(
        r'name="csrfmiddlewaretoken" value="[^"]*"|nonce="[^"]*"', "", answer.content.decode(errors="replace")
    )
    return re.sub(r"\d{2}:\d{2}(:\d{2})?|20\d\d-\d\d-\d\dT[^\"<]*|⟪masked[^⟫]*⟫", "T", text)


def list_paths(step):
    """Return the address of every page, or of each one so far apart, and of those that ask a worker."""
    skipped = ("events/", "api/v1/", "logout/", ".zip", "export/", "worker-requests/")
    paths = sorted({fill(route) for route, _name in addresses() if not any(part in route for part in skipped)})
    return sorted({*paths[::step], *ASKING})


def crawl(browser, paths):
    return {path: (answer.status_code, words(answer)) for path in paths for answer in [browser.get(path)]}


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.long)])
def test_every_page_is_as_with_keys(run, root, settings, monkeypatch, time_machine, step):
    paths = list_paths(step)
    time_machine.move_to(timezone.now(), tick=False)  # pictures over time end now
    monkeypatch.setattr(health, "_read_free_bytes", lambda: 10**9)  # others use the disk too
    with_keys = crawl(root, paths)
    web = go_without_keys(settings, monkeypatch)
    root.cookies.pop(COOKIE, None)  # a review opens in the tab that was used last
    LiveComparison.objects.all().delete()  # opening a review asks for a comparison with live

    without = crawl(root, paths)

    assert len(with_keys) > 80 / step
    assert {path: status for path, (status, _words) in without.items() if status >= 500 or status == 202} == {}
    assert [path for path in with_keys if without[path] != with_keys[path]] == []
    assert {"inventory", "holdings", "state", "adoption", "compare"} <= set(web.served)
    assert not [one for one in CANARIES for _status, text in without.values() if one in text]
    kept = json.dumps(list(WorkerRequest.objects.values("question", "result", "reasons")))
    assert kept != "[]"
    assert [one for one in CANARIES if one in kept] == []


@pytest.mark.core(2)
@pytest.mark.parametrize(
    "opens",
    [
        lambda team: inventory.read_inventory(team.cluster, for_user=team.alice),
        lambda team: SourceFile.objects.first().content.open_bytes(),
        lambda team: Cluster.objects.get(slug="box").credential.open_bytes(),
        lambda team: ObjectChange.objects.first().sealed.open_json(),
        lambda team: Webhook.objects.get().secret.open_bytes(),
    ],
    ids=["live objects", "manifests", "credential", "change", "webhook"],
)
def test_a_process_without_key_cannot_open(web, team, opens):
    with pytest.raises(SealError, match="holds no key that opens"):
        opens(team)


def test_object_is_adopted_by_a_worker_in_the_name_of_the_person(web, team):
    browser = Client(HTTP_USER_AGENT="Curious/1.0")
    browser.force_login(team.alice)
    address = reverse("clusters:adopt-object", args=["box", *OBJECT.values()])
    form = {"title": "Adopt it", "reason": "ours", "mode": "server", "field_manager": "applyviz"}

    answer = browser.post(address, form)

    review = Review.objects.get(title="Adopt it")
    assert answer["Location"] == reverse("reviews:show-review", args=[review.number])
    entry = AuditEntry.objects.filter(action=AuditAction.REVIEW_CREATED).latest("pk")
    assert (entry.actor_name, entry.session, entry.agent) == ("alice", "web", "Curious/1.0")


def test_run_is_undone_by_a_worker(web, team, run):
    browser = Client()
    browser.force_login(team.alice)

    answer = browser.post(reverse("runs:undo-run", args=[run.number]))

    made = Review.objects.get(title__startswith="Revert")
    assert answer["Location"] == reverse("reviews:show-review", args=[made.number])
    assert web.served == [WorkerRequestKind.UNDO]


def test_kubeconfig_is_sealed_at_once_and_refused_with_every_reason(web, root):
    form = {"name": "Prod", "slug": "prod", "kubeconfig": SimpleUploadedFile("config", KUBECONFIG)}

    answer = root.post(reverse("clusters:add-cluster"), form)

    worker_request = WorkerRequest.objects.get()
    assert answer.status_code == 422
    assert [
        word
        for word in ("runs a command on this machine", "reads a file of this machine")
        if word not in answer.content.decode()
    ] == []
    assert (worker_request.state, worker_request.sealed, worker_request.status) == (
        WorkerRequestState.REFUSED,
        None,
        409,
    )
    assert worker_request.question == {"slug": "prod", "name": "Prod", "context": ""}


def test_cluster_is_added_by_a_worker(web, root, monkeypatch):
    monkeypatch.setattr(
        "applyviz.workflow.clusters.registration.prepare_upload", lambda **said: lambda: make_cluster_row(said["slug"])
    )
    form = {"name": "Prod", "slug": "prod", "kubeconfig": SimpleUploadedFile("config", KUBECONFIG)}

    answer = root.post(reverse("clusters:add-cluster"), form)

    assert answer["Location"] == reverse("clusters:show-cluster", args=["prod"])
    assert "kubeconfig" not in json.dumps(WorkerRequest.objects.get().question)


def test_webhook_secret_is_sealed_and_opens_in_the_worker(web, root):
    form = {"name": "chat", "url": "https://chat.example/in", "events": ["run.finished"], "form": "json"}
    root.post(reverse("settings:add-webhook"), form)

    for webhook in Webhook.objects.all():
        with pytest.raises(SealError):
            webhook.secret.open_bytes()
        with web.as_worker():
            assert webhook.secret.open_bytes()


def test_schema_that_the_cluster_alone_knows_is_read_by_a_worker(team, root, settings, monkeypatch):
    team.send(Request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {}, JSON, DEFINITION))
    lamp = "apiVersion: example.org/v1\nkind: Lamp\nmetadata: {name: hall}\nspec: {watts: 7}\n"
    plan = team.plan(lamp)
    index = next(n for n, f in enumerate(read_masked(plan.changes.get()).fields) if f.path[-1] == "f:watts")
    address = reverse("reviews:show-field", args=[plan.review.number, 1, 0, index])
    web = go_without_keys(settings, monkeypatch)

    page = root.get(address).content.decode()

    assert [word for word in ("How bright it is", "integer", "int32") if word not in page] == []
    assert web.served == [WorkerRequestKind.SCHEMA]


MAPS = "/sandboxes/box/api/v1/namespaces/default/configmaps"


@pytest.fixture
def token(run, team):
    return team.cluster.credential.open_bytes().decode()


def test_kubectl_is_answered_by_a_worker(token, web, client):
    bearer = {"HTTP_AUTHORIZATION": f"Bearer {token}"}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "canary-4"}}
    secrets = MAPS.replace("configmaps", "secrets")

    made = client.post(secrets + "?fieldManager=kubectl", json.dumps(body), content_type="application/json", **bearer)
    found = client.get(f"{secrets}/s", **bearer)

    assert (made.status_code, found.status_code) == (201, 200)
    assert found.json()["data"] == {"a": b64encode(b"canary-4").decode()}
    assert found.headers["Content-Type"] == "application/json"
    assert (web.served, WorkerRequest.objects.count()) == ([WorkerRequestKind.SANDBOX] * 2, 0)


def test_answer_to_kubectl_is_sealed_for_who_asked(token, web, client, monkeypatch):
    bearer = {"HTTP_AUTHORIZATION": f"Bearer {token}"}
    monkeypatch.setattr(WorkerRequest, "delete", lambda *_: None)
    kept = []
    work = web.work
    monkeypatch.setattr(web, "work", lambda: (work(), kept.extend(WorkerRequest.objects.all())))

    client.get(MAPS.replace("configmaps", "secrets"), **bearer)

    (worker_request,) = {one.pk: one for one in kept}.values()
    assert (worker_request.result, worker_request.sealed) == (None, None)
    with web.as_worker(), pytest.raises(SealError):
        Sealed(bytes(worker_request.sealed_result), worker_request.answer_location).open_bytes()


def test_strangers_ask_no_worker(token, web, client):
    for authorization in ("", "Bearer wrong", "Basic d3Jvbmc="):
        assert client.get(MAPS, HTTP_AUTHORIZATION=authorization).status_code == 401

    assert WorkerRequest.objects.count() == 0


def test_kubectl_is_told_when_no_worker_answers(token, web, client, monkeypatch):
    web.works = False
    monkeypatch.setattr("applyviz.workflow.worker_requests.sandboxes._PATIENCE", timedelta(seconds=0.2))

    answer = client.get(MAPS, HTTP_AUTHORIZATION=f"Bearer {token}")

    assert (answer.status_code, answer.json()["reason"]) == (504, "Timeout")


def test_refusal_of_a_cluster_is_a_page(web, root, monkeypatch):
    def refuse(*_):
        raise ClusterError("the server hung up")

    monkeypatch.setattr(connect, "open_transport", refuse)

    answer = root.get(reverse("clusters:adopt-object", args=["box", *OBJECT.values()]))

    assert (answer.status_code, "The server hung up" in answer.content.decode()) == (409, True)
