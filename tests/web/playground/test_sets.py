"""The playground for sets: what a prune or a deletion takes, links that end, secrets that do not travel."""

import re

import pytest
from django.urls import reverse
from django.utils.html import escape

from applyviz.guide import limited
from applyviz.guide.given import PlaygroundQueryError, PlaygroundQueryProblem
from applyviz.records.models import PlaygroundInput
from tests.web.frame.test_escaping import PAYLOADS

ASK = "/playground/sets/"
KEPT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, namespace: shop, labels: {app: shop}}\n"
DROPPED = KEPT.replace("kept", "dropped")
BOTH = f"{KEPT}---\n{DROPPED}"
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: door, namespace: shop, labels: {app: shop}}
stringData: {key: hunter2-is-the-key}
"""


@pytest.fixture
def ask(client, db):
    def put(**given):
        asked = {"prune": "allowlist", "selector": "app=shop", "manifest": KEPT, "before": BOTH} | given
        answer = client.post(ASK, asked)
        assert answer.status_code == 302, re.findall(r'class="(?:problem|error)".*', answer.content.decode())
        return answer.headers["Location"].partition("#")[0]

    return put


def read_rows(page: str) -> dict[str, str]:
    """Return the result of each object on a page."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    found = {}
    for row in body.split("<tr>")[1:]:
        name, result, *_rest = (re.sub(r"<[^>]+>|\s+", " ", cell).split() for cell in row.split("</td>"))
        found[name[0]] = " ".join(result[1:])
    return found


def test_set_gets_an_answer_with_an_address_and_the_command(client, ask):
    address = ask()
    text = client.get(address).content.decode()

    assert read_rows(text) == {"ConfigMap/dropped": "Prune", "ConfigMap/kept": "Unchanged"}
    assert "kubectl apply -f manifests.yaml --prune -l app=shop</pre>" in text
    assert f'value="http://testserver{address}"' in text
    assert "Kept until" in text


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"selector": "", "prune_all": "on"}, "kubectl apply -f manifests.yaml --prune --all"),
        (
            {"prune_allowlist": "core/v1/ConfigMap"},
            "kubectl apply -f manifests.yaml --prune -l app=shop --prune-allowlist=core/v1/ConfigMap",
        ),
        (
            {"prune": "applyset", "applyset": "secrets/shop", "namespace": "shop"},
            "KUBECTL_APPLYSET=true kubectl apply -f manifests.yaml --prune --applyset=secrets/shop -n shop",
        ),
        ({"prune": "none"}, "kubectl apply -f manifests.yaml"),
        (
            {"prune": "delete", "propagation": "Foreground"},
            "kubectl delete -f manifests.yaml --ignore-not-found --cascade=foreground",
        ),
    ],
    ids=["all", "kinds", "applyset", "none", "delete"],
)
def test_each_way_has_its_command_and_its_form_again(client, ask, given, command):
    text = client.get(ask(**given)).content.decode()

    assert f"{command}</pre>" in text
    way = given.get("prune", "allowlist")
    assert f'name="prune" value="{way}" checked' in text
    assert {"ConfigMap/kept", "ConfigMap/dropped"} <= set(read_rows(text))


NAMED = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: toys.example.com}\n"
OWNER = KEPT.replace("labels", "uid: u1, finalizers: [a.b/c, d.e/f], labels")
CHILD = DROPPED.replace("labels", "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: kept, uid: u1}], labels")
GOING = OWNER.replace(
    "finalizers", 'deletionTimestamp: "2025-12-31T00:00:00Z", deletionGracePeriodSeconds: 0, finalizers'
)


@pytest.mark.parametrize(
    ("given", "said", "unsaid"),
    [
        (
            {"prune": "applyset", "applyset": "secrets/shop", "namespace": "shop"},
            "It is the parent of the ApplySet and records its kinds and namespaces.",
            "It does not exist",
        ),
        (
            {"prune": "delete", "before": "", "cluster": f"{OWNER}---\n{CHILD}"},
            "It belongs to ConfigMap/kept and is deleted once that is gone.",
            "belongs to nothing",
        ),
        (
            {"prune": "delete", "before": "", "cluster": OWNER},
            "stays until a.b/c, d.e/f are removed.",
            "the run waits",
        ),
        (
            {"prune": "none", "before": "", "manifest": DROPPED, "cluster": GOING},
            "It has a deletionTimestamp and stays until a.b/c, d.e/f are removed.",
            "Prune deletes after all objects are applied.",
        ),
    ],
    ids=["parent", "dependent", "finalizers", "terminating"],
)
def test_rows_say_what_holds(client, ask, given, said, unsaid):
    text = client.get(ask(**given)).content.decode()

    assert said in text
    assert unsaid not in text


def test_definition_that_is_only_named_can_be_deleted(client, ask):
    text = client.get(ask(prune="delete", before="", manifest=NAMED)).content.decode()

    assert list(read_rows(text).values()) == ["Not found"]


def test_nothing_is_pruned_while_an_object_is_in_error(client, ask):
    odd = KEPT.replace("v1", "example.com/v1", 1).replace("kept", "odd")
    text = client.get(ask(manifest=f"{KEPT}---\n{odd}")).content.decode()

    assert read_rows(text) == {"ConfigMap/odd": "Error", "ConfigMap/kept": "Unchanged", "ConfigMap/dropped": "Kept"}
    assert "Nothing is pruned" in text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"manifest": "a: ["}, "YAML syntax"),
        ({"manifest": "# nothing"}, "expected at least one object"),
        ({"before": "kind: ConfigMap"}, "apiVersion not set"),
        ({"cluster": KEPT}, "ConfigMap shop/kept is named twice"),
        ({"cluster": "apiVersion: a.example/v1\nkind: Odd\nmetadata: {name: x}"}, "no matches for kind"),
        ({"cluster": DROPPED.replace("dropped", "x") + "spec: {a: 1}"}, "has fields that its kind does not have"),
        ({"before": f"data: {{a: 1}}\n{KEPT}"}, "of type string"),
        ({"selector": ""}, "Enter a selector or choose all objects, not both."),
        ({"selector": "a=b=c"}, "selector"),
        ({"prune_allowlist": "ConfigMap"}, "Write each kind as group/version/kind"),
        ({"prune_allowlist": "core/v1/Nothing"}, "no matches for kind"),
        ({"prune": "applyset"}, "Name the parent"),
        ({"namespace": "Shop"}, "Use lowercase letters, digits and dashes."),
        ({"prune": "odd"}, "Select a valid choice"),
    ],
)
def test_errors_are_told_at_their_fields(client, db, given, told):
    asked = {"prune": "allowlist", "selector": "app=shop", "manifest": KEPT, "before": BOTH} | given
    answer = client.post(ASK, asked)
    text = answer.content.decode().replace("&quot;", '"')

    assert answer.status_code == 422
    assert told in "".join(re.findall(r'class="(?:problem|error|notice tone-remove)".*?</(?:p|span)>', text, re.DOTALL))
    assert PlaygroundInput.objects.count() == 0


def test_empty_form_offers_the_examples(client, db):
    text = client.get(ASK).content.decode()

    assert [key for key in ("prune-1", "prune-2", "applysets-2", "deletions-1", "deletions-2")
            if f'href="{reverse("playground:show-set", args=[key])}"' not in text] == []  # fmt: skip
    assert 'aria-current="page">Prune and delete</a>' in text


def test_busy_playground_says_so(client, db, monkeypatch):
    def refuse(*_given):
        raise PlaygroundQueryError((PlaygroundQueryProblem("manifest", limited.BUSY),))

    monkeypatch.setattr(limited, "ask", refuse)
    answer = client.post(ASK, {"prune": "none", "manifest": KEPT})

    assert answer.status_code == 422
    assert limited.BUSY in answer.content.decode()


def test_many_inputs_have_to_wait(client, db, settings):
    settings.APPLYVIZ_PLAYGROUND_QUESTIONS = 1
    given = {"prune": "none", "manifest": KEPT}
    answers = [client.post(ASK, given) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [302, 429]
    assert int(answers[1].headers["Retry-After"]) >= 1


def test_secret_values_are_neither_kept_nor_shown(client, ask):
    applied = SECRET.replace("hunter2-is-the-key", "hunter2-before")
    other = SECRET.replace("door", "gate")
    address = ask(manifest=f"{KEPT}---\n{SECRET}", before=f"{BOTH}---\n{applied}", cluster=other)
    text = client.get(address).content.decode()

    assert "hunter2" not in text
    assert read_rows(text)["Secret/door"] == "Update"


def test_link_of_a_set_is_none_of_an_object(client, ask):
    key = ask().rstrip("/").rpartition("/")[2]
    one = client.post("/playground/", {"mode": "server", "manifest": KEPT}).headers["Location"]
    other = one.partition("#")[0].rstrip("/").rpartition("/")[2]

    assert client.get(f"/playground/{key}/").status_code == 404
    assert client.get(f"{ASK}{other}/").status_code == 404
    assert client.get(f"{ASK}conflicts-1/").status_code == 404
    assert client.get(f"{ASK}nothing/").status_code == 404


@pytest.mark.parametrize("payload", PAYLOADS)
def test_text_stays_text(client, ask, payload):
    quoted = payload.replace("'", "''")
    address = ask(manifest=f"{KEPT}data: {{note: '{quoted}'}}\n")

    text = client.get(address).content.decode()
    assert escape(quoted) in text
    assert "<" not in payload or payload not in text
