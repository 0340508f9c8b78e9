"""The bytes of the HTTP side: tokens, bodies, negotiation, warnings."""

import base64
import json

import pytest

from applyviz.engine.objects.exchange import JSON, Request
from applyviz.sandbox.api import openapi_v2
from applyviz.sandbox.api.ages import render_age
from applyviz.sandbox.api.http import BODY_LIMIT, HttpFace, limit_warnings
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from tests.sandbox.conftest import NOW

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.fixture
def call(sandbox):
    face = HttpFace(sandbox, {"secret-token": "alice"}.get, lambda: NOW)

    def send(method, path, body=b"", query="", **headers):
        given = {"authorization": "Bearer secret-token", "user-agent": "kubectl/v1.36.3 (linux)"}
        given.update({k.replace("_", "-"): v for k, v in headers.items()})
        response = face.handle(method, path, query, given, body)
        return response.status, json.loads(response.body), dict(response.headers)

    return send


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", "Digest secret-token", "Basic ???", "Basic " + base64.b64encode(b"x:no").decode()],
)
def test_strangers_are_turned_away(call, authorization):
    status, body, _ = call("GET", MAPS, authorization=authorization)

    assert (status, body["reason"]) == (401, "Unauthorized")


def test_token_may_be_the_password_of_an_address(call):
    named = base64.b64encode(b"token:secret-token").decode()

    assert call("GET", MAPS, authorization=f"Basic {named}")[0] == 200


def test_manager_is_the_program_when_none_is_named(call):
    body = b'{"metadata": {"name": "a"}, "data": {"k": "1"}}'

    _, answer, _ = call("POST", MAPS, body, content_type="application/json")

    assert [e["manager"] for e in answer["metadata"]["managedFields"]] == ["kubectl"]


def test_yaml_is_read_as_kubectl_reads_it(call):
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {on: 'yes', time: '22:22'}\n"

    status, answer, _ = call("POST", MAPS, body, content_type="application/yaml")

    assert (status, answer["data"]) == (201, {"true": "yes", "time": "22:22"})


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"a: [", "application/yaml", 400),
        (b"a: 1\n---\nb: 2\n", "application/yaml", 422),
        (b"k8s\x00", "application/vnd.kubernetes.protobuf", 400),
        (b"x", "text/plain", 415),
        (b" " * (BODY_LIMIT + 1), "application/json", 413),
    ],
)
def test_bodies_that_cannot_be_read_are_refused(call, body, content_type, status):
    got, answer, _ = call("POST", MAPS, body, content_type=content_type)

    assert (got, answer["kind"]) == (status, "Status")


def test_unknown_fields_are_warned_of(call):
    body = b'{"metadata": {"name": "a"}, "say": 1}'

    status, _, headers = call("POST", MAPS, body, content_type="application/json")

    assert (status, headers["Warning"]) == (201, '299 - "unknown field \\"say\\""')


@pytest.mark.parametrize(
    ("warnings", "lengths"),
    [
        (["a" * 4096], [4096]),
        (["a", "", "a", "b"], [1, 1]),
        (["a" * 4000, "b" * 97, "c" * 300], [256, 97, 256]),
        ([c * 300 for c in "abcdefghijklmnopqrstuvwxyz"], [256] * 16),
    ],
)
def test_long_warnings_are_cut_as_the_server_cuts_them(warnings, lengths):
    assert [len(text) for text in limit_warnings(warnings)] == lengths


def test_lists_are_tables_when_asked(call):
    call("POST", MAPS, b'{"metadata": {"name": "a"}, "data": {"k": "1"}}', content_type="application/json")

    _, table, _ = call("GET", MAPS, accept=TABLE)

    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert [r["cells"] for r in table["rows"]] == [["a", 1, "0s"]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_objects_are_metadata_only_when_asked(call):
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

    _, body, _ = call("GET", "/api/v1/namespaces", accept=accept)

    assert body["kind"] == "PartialObjectMetadataList"
    assert {tuple(o) for o in body["items"]} == {("kind", "apiVersion", "metadata")}


def test_discovery_is_told_in_both_forms(call):
    _, classic, _ = call("GET", "/apis/apps/v1")
    _, aggregated, headers = call("GET", "/apis", accept=DISCOVERY)

    names = [r["name"] for r in classic["resources"]]
    assert {"deployments", "deployments/scale", "deployments/status"} <= set(names)
    apps = next(g for g in aggregated["items"] if g["metadata"]["name"] == "apps")
    assert "deployments" in [r["resource"] for r in apps["versions"][0]["resources"]]
    assert headers["Content-Type"] == DISCOVERY


def test_openapi_tells_kinds_and_what_patches_they_take(call):
    _, index, _ = call("GET", "/openapi/v3")
    url = index["paths"]["apis/apps/v1"]["serverRelativeURL"]

    _, document, _ = call("GET", url.partition("?")[0], query=url.partition("?")[2])

    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    references = json.dumps(document).split('"$ref": "#/components/schemas/')[1:]
    assert {r.partition('"')[0] for r in references} <= set(document["components"]["schemas"])


def test_description_of_a_field_is_kept_beside_its_reference(call):
    _, document, _ = call("GET", "/openapi/v3/apis/apps/v1")

    strategy = document["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"]
    assert strategy["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy"}]
    assert strategy["description"].startswith("The deployment strategy to use")
    assert "$ref" not in strategy


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_a_word(sandbox, path):
    face = HttpFace(sandbox, {"secret-token": "alice"}.get, lambda: NOW)

    assert face.handle("GET", path, "", {"authorization": "Bearer secret-token"}).body == b"ok"
    assert face.handle("GET", path).status == 401


def test_old_openapi_has_the_kinds_of_lists_and_every_definition_that_they_need(call):
    _, document, headers = call("GET", "/openapi/v2", accept="application/json")

    assert headers["Content-Type"] == "application/json"
    definitions = document["definitions"]
    items = definitions["io.k8s.api.rbac.v1.RoleBindingList"]["properties"]["items"]["items"]
    assert items == {"$ref": "#/definitions/io.k8s.api.rbac.v1.RoleBinding"}
    references = json.dumps(document).split('"$ref": "#/definitions/')[1:]
    assert {r.partition('"')[0] for r in references} <= set(definitions)
    quantity = definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity == {"type": "string"}


@pytest.mark.parametrize("form", ["spec.v2@v1.0", "spec.v2.v1.0"])
def test_old_openapi_is_protobuf_for_clients_that_read_nothing_else(sandbox, form):
    face = HttpFace(sandbox, {"secret-token": "alice"}.get, lambda: NOW)
    accept = f"application/com.github.proto-openapi.{form}+protobuf"
    headers = {"authorization": "Bearer secret-token", "accept": accept}

    response = face.handle("GET", "/openapi/v2", "", headers)

    assert (response.status, response.headers) == (200, [("Content-Type", openapi_v2.PROTOBUF)])
    assert response.body.startswith(b"\x0a\x032.0")  # field 1 of a document: its version of Swagger


def test_watch_tells_what_is_there_and_ends(call):
    _, event, _ = call("GET", MAPS.replace("configmaps", "services"), query="watch=true")

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "kubernetes")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0s"), (119, "119s"), (120, "2m"), (599, "9m59s"), (600, "10m"), (3 * 3600, "3h"),
        (5 * 3600 + 60, "5h1m"), (47 * 3600, "47h"), (3 * 86400 + 3600, "3d1h"), (100 * 86400, "100d"),
        (800 * 86400, "2y70d"), (4000 * 86400, "10y"),
    ],
)  # fmt: skip
def test_ages_read_as_in_kubectl(seconds, text):
    assert render_age(seconds) == text


WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode()


@pytest.mark.parametrize(
    ("headers", "who"),
    [
        ({}, {"username": "sandbox", "groups": ["system:masters", "system:authenticated"]}),
        ({"impersonate_user": "jane"}, {"username": "jane", "groups": ["system:authenticated"]}),
        (
            {
                "impersonate_user": "jane",
                "impersonate_group": "dev, ops",
                "impersonate_uid": "17",
                "impersonate_extra_scopes": "view,edit",
                "impersonate_extra_acme.com%2Fproject": "shop",
            },
            {
                "username": "jane",
                "groups": ["dev", "ops", "system:authenticated"],
                "uid": "17",
                "extra": {"acme.com/project": ["shop"], "scopes": ["view", "edit"]},
            },
        ),
    ],
)
def test_impersonated_caller_is_who_the_server_says_it_is(call, headers, who):
    status, answer, _ = call("POST", WHO, REVIEW, content_type="application/json", **headers)

    assert (status, answer["status"]["userInfo"]) == (201, who)


@pytest.mark.parametrize("name", ["impersonate_group", "impersonate_uid", "impersonate_extra_scopes"])
@pytest.mark.parametrize(
    ("method", "path", "query"), [("GET", MAPS, ""), ("GET", MAPS, "watch=1"), ("GET", "/api", "")]
)
def test_group_of_nobody_is_refused_whatever_is_asked(call, name, method, path, query):
    status, answer, _ = call(method, path, query=query, **{name: "dev"})

    assert (status, "without impersonating a user" in answer["message"]) == (500, True)


def test_impersonation_changes_no_field_owner(call):
    body = b'{"metadata": {"name": "a"}, "data": {"k": "1"}}'

    _, answer, _ = call("POST", MAPS, body, content_type="application/json", impersonate_user="jane")

    assert [e["manager"] for e in answer["metadata"]["managedFields"]] == ["kubectl"]


@pytest.mark.parametrize(("schema", "is_same"), [("string", True), ("integer", False)])
def test_address_of_a_document_names_its_content(schema, is_same):
    """Clients keep a document by its address, whichever cluster it is from."""

    def find_address(of):
        box = Sandbox(MemoryStore(), lambda: NOW)
        spec = {"type": "object", "properties": {"spec": {"type": of}}}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": spec}}
        names = {"kind": "Backup", "plural": "backups", "singular": "backup", "listKind": "BackupList"}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "backups.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
        }
        assert box.handle(Request("POST", DEFINITIONS, {}, JSON, definition), user="tester").status == 201
        index = box.handle(Request("GET", "/openapi/v3"), user="tester").body
        return index["paths"]["apis/example.com/v1"]["serverRelativeURL"]

    assert (find_address("string") == find_address(schema)) is is_same


COMPONENTS = "/api/v1/componentstatuses"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def test_every_component_of_the_control_plane_is_healthy(call):
    status, table, _ = call("GET", COMPONENTS, accept=TABLE)
    _, one, _ = call("GET", f"{COMPONENTS}/etcd-0")

    assert status == 200
    assert [row["cells"] for row in table["rows"]] == [
        ["scheduler", "Healthy", "ok", ""],
        ["controller-manager", "Healthy", "ok", ""],
        ["etcd-0", "Healthy", "ok", ""],
    ]
    assert one["conditions"] == [{"type": "Healthy", "status": "True", "message": "ok"}]


def test_components_are_selected_but_not_watched(call):
    _, chosen, _ = call("GET", COMPONENTS, query="fieldSelector=metadata.name%3Detcd-0")
    _, none, _ = call("GET", COMPONENTS, query="labelSelector=a%3Db")
    status, refused, _ = call("GET", COMPONENTS, query="watch=1")

    assert [one["metadata"]["name"] for one in chosen["items"]] == ["etcd-0"]
    assert none["items"] == []
    assert (status, refused["message"]) == (405, 'watch is not supported on resources of kind "componentstatuses"')


def test_rules_of_a_caller_are_those_of_an_administrator(call):
    body = json.dumps({"spec": {"namespace": "default"}}).encode()

    status, answer, _ = call("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", body, content_type="application/json")

    rules = answer["status"]["resourceRules"]
    assert (status, answer["kind"], answer["spec"]) == (201, "SelfSubjectRulesReview", {})
    assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in rules
    assert [rule["resources"] for rule in rules[:-1]] == [
        ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        ["selfsubjectreviews"],
    ]
