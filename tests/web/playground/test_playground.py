"""The playground: questions and their answers, links that end, secrets that do not travel, text that stays text."""

import gzip
import hashlib
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from applyviz.guide import library
from applyviz.guide.answers import compute_answers
from applyviz.guide.given import PlaygroundQueryError, PlaygroundQueryProblem
from applyviz.records.models import PlaygroundInput
from applyviz.records.sealing import Sealed, SealError
from applyviz.web.reviews.pane.object_content import ObjectView
from applyviz.workflow.ops import playgrounds, recovery
from tests.web.frame.test_escaping import PAYLOADS

ASK = "/playground/"
RECORDED = Path(__file__).parents[2] / "conformance" / "wide" / "playground-7.jsonl.gz"
HTMX = {"HX-Request": "true"}
MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: flags, namespace: shop}
data: {theme: light}
"""
LIVE = MANIFEST.replace("light", "dark, season: winter")
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: door, namespace: shop}
# before: old-hunter2-key
stringData: {key: hunter2-is-the-key}
"""


DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: works.example.com}
spec:
  group: example.com
  names: {plural: works, kind: Work}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: self.a < self.b}]}
"""


def question(**given):
    return {"mode": "server", "field_manager": "shop", "manifest": MANIFEST} | given


@pytest.fixture
def ask(client, db):
    def put(**given):
        answer = client.post(ASK, question(**given))
        assert answer.status_code == 302, answer.content.decode().partition("<form class")[2][:4000]
        return answer.headers["Location"].partition("#")[0]

    return put


def test_question_gets_an_answer_with_an_address(client, ask):
    address = ask(live=LIVE, owners="platform (Apply): .data.theme")
    text = client.get(address).content.decode()

    assert len(address) > len("/playground/") + 30
    assert "conflict with &quot;platform&quot;" in text
    assert "estimated" in text
    assert f'value="http://testserver{address}"' in text
    assert "season: winter" in text


def test_client_side_question_uses_last_applied(client, ask):
    applied = MANIFEST.replace("theme: light", "theme: dark, banner: x")
    address = ask(mode="client", live=LIVE.replace("theme", "banner: x, theme"), last_applied=applied, field_manager="")
    text = client.get(f"{address}requests/").content.decode()

    assert "banner: null" in text
    assert "strategic merge patch" in text
    assert "kubectl-client-side-apply" in text


def test_forced_question_takes_over(client, ask):
    address = ask(live=LIVE, owners="platform (Apply): .data.theme", is_forced="on")

    assert "conflict with" not in client.get(address).content.decode()


def test_silence_about_owners_is_told_where_ownership_decides(client, ask):
    told = [
        "has no managedFields" in client.get(address).content.decode()
        for address in (
            ask(live=LIVE),
            ask(live=LIVE, owners="shop: .data.theme"),
            ask(live=LIVE.replace("{name", "{managedFields: [], name")),
            ask(live=LIVE, mode="client"),
            ask(),
        )
    ]

    assert told == [True, False, False, False, False]


def test_live_without_a_namespace_is_where_the_manifest_goes(client, ask):
    bare = LIVE.replace(", namespace: shop", "")
    text = client.get(ask(live=bare, owners="shop: .data.theme")).content.decode()

    assert "metadata.namespace" not in text.partition('id="pane"')[2].replace("<wbr>", "")


CLIENT_SIDE = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: flags
  namespace: shop
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"v1","data":{"theme":"dark"},"kind":"ConfigMap","metadata":{"name":"flags","namespace":"shop"}}
  managedFields:
  - manager: kubectl-client-side-apply
    operation: Update
    apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:data: {"f:theme": {}}
      f:metadata: {f:annotations: {"f:kubectl.kubernetes.io/last-applied-configuration": {}}}
data: {theme: dark}
"""


@pytest.mark.parametrize(("manager", "differs"), [("kubectl", False), ("shop", True)])
def test_answer_says_what_kubectl_does_otherwise(client, ask, manager, differs):
    text = client.get(ask(live=CLIENT_SIDE, field_manager=manager, takes_client_side="on")).content.decode()

    assert ("kubectl does this differently" in text) is differs
    assert ("would stop at a conflict (kubectl-client-side-apply: .data.theme)" in text) is differs


def test_answer_says_that_kubectl_moves_nothing_where_nobody_owns_last_applied(client, ask):
    same = MANIFEST.replace("light", "dark")
    owners = "kubectl-client-side-apply (Update): .data.theme .data.season"
    text = client.get(ask(manifest=same, live=LIVE, owners=owners, field_manager="kubectl")).content.decode()

    assert "kubectl does this differently" in text
    assert "own the last-applied annotation. No manager owns it, so they keep their fields" in text


def test_answer_is_silent_about_kubectl_where_it_does_the_same(client, ask):
    same = client.get(ask(live=LIVE, owners="shop (Apply): .data.theme")).content.decode()
    forced = client.get(ask(live=CLIENT_SIDE, takes_client_side="on", is_forced="on")).content.decode()

    assert "kubectl does this differently" not in same
    assert "kubectl does this differently" not in forced


def test_answer_says_what_the_server_refuses_kubectl_before_the_removals(client, ask):
    """The live port `http` stays while kubectl applies another one of that name."""
    lines = gzip.decompress(RECORDED.read_bytes()).splitlines()
    given = next(c["input"] for c in map(json.loads, lines) if c["name"] == "service-web-spec.ports-server-client-add")
    manager = {"field_manager": "kubectl", "takes_client_side": "on"}

    text = client.get(ask(manifest=given["manifest"], live=given["live"], **manager)).content.decode()

    assert "kubectl applies first, with what you left out still in place, and the server refuses that" in text
    assert "spec.ports[1].name: Duplicate value: &quot;http&quot;" in text


def test_custom_resource_merges_by_its_definition(client, ask):
    crd = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: deals.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Deal, plural: dealings}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {note: {type: string}}}}}}
"""
    deal = "apiVersion: shop.example.com/v1\nkind: Deal\nmetadata: {name: one, namespace: shop}\nspec: {note: a}\n"
    known = client.get(ask(manifest=deal, crds=crd) + "requests/").content.decode()
    unknown = client.get(ask(manifest=deal) + "requests/").content.decode()

    assert "dealings" in known.partition('id="pane"')[2]
    assert "deals" in unknown.partition('id="pane"')[2].replace("<wbr>", "")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"manifest": MANIFEST + " x: y\n"}, "line 5, column 2"),
        ({"manifest": MANIFEST.replace("flags", "3")}, "line 3, column 12 .metadata.name"),
        ({"manifest": MANIFEST + "---\n" + MANIFEST}, "expected one object, got 2"),
        ({"manifest": "# nothing\n"}, "expected one object, got 0"),
        ({"live": LIVE.replace("flags", "others")}, "line 1: this is ConfigMap shop/others"),
        ({"live": LIVE, "owners": "\nwho knows"}, "line 2: expected"),
        ({"live": LIVE, "owners": "shop: .data.nothing"}, "line 1: live has no field .data.nothing"),
        ({"owners": "shop: .data.theme"}, "this needs a live object"),
        (
            {"crds": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n"},
            "crds",
        ),
        ({"manifest": ""}, "This field is required"),
        ({"manifest": "x" * 250_001}, "at most 250000"),
        ({"field_manager": "two words"}, "Use printable characters"),
        ({"mode": "sideways"}, "sideways"),
    ],
)
def test_problem_is_told_below_its_text(client, db, given, said):
    answer = client.post(ASK, question(**given))
    text = answer.content.decode()

    assert answer.status_code == 422
    assert said in text
    assert 'aria-invalid="true"' in text or "sideways" in text
    assert PlaygroundInput.objects.count() == 0


def test_every_problem_is_told_at_once(client, db):
    text = client.post(ASK, question(manifest="a: [", live="b: {", last_applied="c: '", mode="client")).content.decode()

    assert text.count('class="error"') == 3


@pytest.mark.core(6)
@pytest.mark.parametrize("name", library.list_examples())
def test_example_opens_in_every_view(client, db, name):
    page = client.get(reverse("playground:show-answer", args=[name]))
    parts = [client.get(reverse("playground:show-tab", args=[name, tab.value]), headers=HTMX) for tab in ObjectView]

    assert page.status_code == 200
    is_refused = bool(compute_answers(library.list_examples()[name]).refused)
    assert ("could not be planned" in page.content.decode()) is is_refused
    assert [part.status_code for part in parts] == [200] * len(ObjectView)
    assert [tab.value for tab, part in zip(ObjectView, parts, strict=True) if "<html" in part.content.decode()] == []


def test_examples_that_it_can_open_are_listed_and_no_others(client, db):
    listed = re.findall(r'href="/playground/([a-z-]+-[0-9]+)/"', client.get(ASK).content.decode())

    assert (sorted(listed), len(listed) >= 20) == (sorted(library.list_examples()), True)


def test_field_tells_what_the_schema_says(client, ask):
    address = ask()

    assert "APIVersion defines" in client.get(f"{address}fields/1/").content.decode()
    assert "<html" not in client.get(f"{address}fields/1/", headers=HTMX).content.decode()
    assert client.get(f"{address}fields/99/").status_code == 404


@pytest.mark.parametrize("address", ["/playground/unknown/", "/playground/maps-1/nonsense/", "/playground/maps-99/"])
def test_unknown_address_is_not_found(client, db, address):
    assert client.get(address).status_code == 404


@pytest.mark.parametrize("address", ["/playground/maps-1/", "/playground/maps-1/diff/", "/playground/maps-1/fields/0/"])
def test_answer_takes_no_other_method(client, db, address):
    assert client.post(address).status_code == 405


def test_answer_that_cannot_be_calculated_now_is_refused(client, db, monkeypatch):
    def refuse(given, now):
        raise PlaygroundQueryError((PlaygroundQueryProblem("manifest", "ask again in a moment"),))

    monkeypatch.setattr("applyviz.web.playground.pages.explain_example", refuse)
    answer = client.get("/playground/maps-1/")

    assert (answer.status_code, "ask again in a moment" in answer.content.decode()) == (409, True)


def hash_of(address):
    """What is kept of the key of a link."""
    return hashlib.sha256(address.split("/")[2].encode()).hexdigest()


def test_database_cannot_open_what_is_kept(ask):
    key = ask().split("/")[2]
    row = PlaygroundInput.objects.get()

    assert key not in row.key
    with pytest.raises(SealError):
        Sealed(bytes(row.content), playgrounds.LOCATION).open_bytes()


def test_link_ends_with_its_time_and_is_swept(client, ask, settings):
    settings.APPLYVIZ_PLAYGROUND_DAYS = 3
    address, other = ask(), ask()
    old = timezone.now() - timedelta(days=3, seconds=1)
    PlaygroundInput.objects.filter(key=hash_of(address)).update(created_at=old)

    assert (client.get(address).status_code, client.get(other).status_code) == (404, 200)
    assert PlaygroundInput.objects.count() == 2
    recovery.recover()
    assert [row.key for row in PlaygroundInput.objects.all()] == [hash_of(other)]


def test_oldest_question_goes_when_there_are_too_many(ask, monkeypatch):
    monkeypatch.setattr("applyviz.workflow.ops.playgrounds.MOST_KEPT", 2)

    addresses = [ask(), ask(), ask()]

    assert [row.key for row in PlaygroundInput.objects.order_by("pk")] == [hash_of(one) for one in addresses[1:]]


@pytest.mark.parametrize("mode", ["server", "client"])
def test_link_shows_no_secret(client, ask, mode):
    live = SECRET.replace("stringData: {key: hunter2-is-the-key}", "data: {key: aHVudGVyMi1vbi1kaXNr}")
    address = ask(manifest=SECRET, live=live, last_applied=SECRET, mode=mode)
    pages = [client.get(address), *(client.get(f"{address}{tab.value}/") for tab in ObjectView)]
    kept = PlaygroundInput.objects.get()
    opened = json.dumps(playgrounds.open_input(address.split("/")[2]).content, ensure_ascii=False)

    assert [page.status_code for page in pages] == [200] * 6
    for text in [page.content.decode() for page in pages] + [opened]:
        assert "hunter2" not in text
        assert "aHVudGVyMi" not in text
        assert "\u27eamasked" in text
    assert b"masked" not in bytes(kept.content)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payload_is_text_everywhere(client, ask, payload):
    literal = payload.replace("\\", "\\\\").replace('"', '\\"')
    hostile = f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{"{literal}": "{literal}"}}\n'
    address = ask(manifest=hostile, live=hostile.replace(f': "{literal}"}}', ': "old"}'))
    refused = client.post(ASK, question(manifest=f'"{literal}": [', field_manager=payload, owners=payload))

    for text in [client.get(f"{address}{t.value}/").content.decode() for t in ObjectView] + [refused.content.decode()]:
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "<svg onload" not in text
        assert "' onmouseover='" not in text
        assert 'href="javascript:' not in text


def test_visitors_are_let_in_only_where_the_operator_says_so(client, db, settings):
    settings.APPLYVIZ_PUBLIC_PLAYGROUND = True
    opened = [client.get(address).status_code for address in ("/guide/", "/playground/", "/playground/maps-1/")]
    settings.APPLYVIZ_PUBLIC_PLAYGROUND = False
    closed = [client.get(address).headers.get("Location") for address in ("/guide/", "/playground/")]

    assert opened == [200, 200, 200]
    assert closed == ["/login/?next=/guide/", "/login/?next=/playground/"]


def test_viewer_is_let_in_where_visitors_are_not(as_viewer, as_charlie, settings):
    settings.APPLYVIZ_PUBLIC_PLAYGROUND = False

    assert as_viewer.get(ASK).status_code == 200
    assert as_charlie.get(ASK).status_code == 404


def test_visitor_who_asks_very_often_waits(client, db, settings):
    settings.APPLYVIZ_PLAYGROUND_QUESTIONS = 2
    statuses = [client.post(ASK, question()).status_code for _n in range(3)]
    refused = client.post(ASK, question())
    other = client.post(ASK, question(), REMOTE_ADDR="192.0.2.9")

    assert statuses == [302, 302, 429]
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert "Too many requests" in refused.content.decode()
    assert "name: flags" in refused.content.decode()
    assert other.status_code == 302
    assert PlaygroundInput.objects.count() == 3


def test_patch_is_shown_as_each_of_the_three_types(client, ask):
    patch = "kind: Patch\ntarget: {apiVersion: v1, kind: ConfigMap, name: flags}\npatch: {data: {theme: light}}\n"
    text = client.get(ask(manifest=patch, live=LIVE)).content.decode()

    shown = text.partition("As each type of patch")[2]
    for word in ("Strategic merge patch", "as written", "gives the same result", "path: /data/theme"):
        assert word in shown
    assert "As each type of patch" not in client.get(ask(live=LIVE)).content.decode()


def test_refused_expression_is_marked_where_the_server_marks_it(ask, client):
    page = client.get(ask(manifest=DEFINITION)).content.decode()

    assert "undefined field &#x27;b&#x27;</li>" in page
    assert "undefined field &#x27;b&#x27;\n | self.a &lt; self.b\n | .............^</pre>" in page
