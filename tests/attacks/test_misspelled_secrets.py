"""A Secret with a field that is written wrong: its values are masked as those of `data` are.

A review is where such a mistake is found, so the manifest is planned, shown and stored like every other.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
import yaml
from django.test import Client

from applyviz.engine.diff.masking import is_masked, mask
from applyviz.engine.diff.patch_masking import mask_patch
from applyviz.engine.objects.exchange import JSON_PATCH, STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.requests.options import ApplyMode
from applyviz.web.components.object_links import link_alone
from tests.attacks.answers import read_words, share
from tests.attacks.conftest import find_leaks
from tests.attacks.test_identical_pages import READ, World

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CANARY = "q7Rz0xWv-canary"
SECRET = GroupVersionKind("", "v1", "Secret")
FIELDS = {
    **{
        name: {name: {"password": CANARY}}
        for name in ("stringdata", "Data", "DATA", "string_data", "binaryData", "spec")
    },
    "a text": {"stringdata": CANARY},
    "a list": {"values": [{"password": CANARY}]},
    "nested": {"values": {"one": {"two": [CANARY]}}},
    "a type that is none": {"type": {"password": CANARY}},
    "immutable as a text": {"immutable": CANARY},
    "a field of metadata": {"metadata": {"name": "login", "stringData": {"password": CANARY}}},
    "annotations written wrong": {"metadata": {"name": "login", "Annotations": {"copy": CANARY}}},
    "a copy in an annotation": {
        "stringdata": {"password": CANARY},
        "metadata": {"name": "login", "annotations": {"copy": f"the password is {CANARY}"}},
    },
}


def write(found: dict) -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, **found}


# A file that a ConfigMap holds, as people, charts and scripts write it; "FIELD" is the field that is written wrong.
TEXTS = (
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: login\nFIELD:\n  opening: %s\n",
    "FIELD:\n  opening: %s\nkind: Secret\napiVersion: v1\nmetadata: {name: login}\n",
    "{apiVersion: v1, kind: Secret, metadata: {name: login}, FIELD: {opening: %s}}",
    "a: b\n---\nkind: Secret\nmetadata:\n  name: login\nFIELD:\n  opening: %s\n",
    "items:\n- kind: Secret\n  metadata:\n    name: login\n  FIELD:\n    opening: %s\n",
    "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: login}\n  FIELD:\n    opening: %s\n",
    "kind: Secret\rmetadata:\r  name: login\rFIELD:\r  opening: %s\r",
    "kind: Secret\r\nmetadata:\r\n  name: login\r\nFIELD:\r\n  opening: %s\r\n",
    "\ufeffkind: Secret\nmetadata:\n  name: login\nFIELD:\n  opening: %s\n",
    'kind: "\\x53ecret"\nmetadata:\n  name: login\nFIELD:\n  opening: %s\n',
    "kind: # of the core group\n  Secret\nmetadata:\n  name: login\nFIELD:\n  opening: %s\n",
    "kind: seCRET\nMetadata:\n  name: login\nFIELD:\n  opening: %s\n",
    "a: &k Secret\nb:\n  kind: *k\n  metadata:\n    name: login\n  FIELD:\n    opening: %s\n",
    "? kind\n: Secret\n? metadata\n: {name: login}\n? FIELD\n: {opening: %s}",
    "cat <<EOF | kubectl apply -f -\nkind: Secret\nmetadata: {name: login}\nFIELD: {opening: %s}\nEOF\n",
    'kind = "Secret"\nmetadata = {name = "login"}\nFIELD = {opening = "%s"}\n',
    'see {"kind": "Secret", "metadata": {"name": "login"}, "FIELD": {"opening": "%s"}}',
    '{"kind": "Secret", "metadata": {"name": "login"}, "FIELD": {"opening": "%s"}}',
    '{"Kind": "Secret", "metadata": {"name": "login"}, "FIELD": {"opening": "%s"}}',
    '{"one": [{"kind": "Secret", "Metadata": {"name": "login"}, "FIELD": {"opening": "%s"}}]}',
)
MISSPELLED = ("stringdata", "Data", "string_data", "stringDatas", "binaryData", "values", "spec")


def list_answers(world: World, client: Client, step: int) -> Iterator[tuple[str, str]]:
    names = [name for name in READ if name.startswith(("reviews:", "runs:", "history:", "search", "home"))]
    for address in share((address for name in names for address in READ[name](world)), 8, step):
        yield address, "\n".join(read_words(client.get(address)))


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("name", FIELDS)
def test_no_page_shows_a_misspelled_field(team, name, mode, step) -> None:
    plan = team.plan(yaml.safe_dump(write(FIELDS[name])), mode=mode)
    client = Client()
    client.force_login(team.alice)

    answers = list_answers(World(team, [plan, plan, plan]), client, step)
    shown = [address for address, text in answers if CANARY[:8] in text]

    assert shown == []
    assert find_leaks(CANARY) == []
    page = client.get(link_alone(plan, 0, "yaml"))
    assert page.status_code == 200


@pytest.mark.parametrize("name", FIELDS)
def test_every_form_of_a_secret_is_masked(name) -> None:
    """A List, the kind that the server resolved without a claim, an annotation, a text, and patches."""
    secret = write(FIELDS[name])
    embedded = json.dumps(secret)
    config_map = {"kind": "ConfigMap", "metadata": {"annotations": {"a": embedded}}, "data": {"b": embedded}}
    shown = [
        mask(secret, gvk=SECRET, tag_key=b"k"),
        mask({k: v for k, v in secret.items() if k != "kind"}, gvk=SECRET, tag_key=b"k"),
        mask({"kind": "List", "items": [secret]}, gvk=GroupVersionKind("", "v1", "List"), tag_key=b"k"),
        mask({"kind": "SecretList", "items": [{**secret, "kind": ""}]}, gvk=SECRET, tag_key=b"k"),
        mask(config_map, gvk=GroupVersionKind("", "v1", "ConfigMap"), tag_key=b"k"),
        mask_patch(secret, STRATEGIC_MERGE_PATCH, gvk=SECRET, tag_key=b"k"),
        mask_patch(
            [{"op": "add", "path": f"/{key}", "value": value} for key, value in secret.items()],
            JSON_PATCH,
            gvk=SECRET,
            tag_key=b"k",
        ),
    ]

    assert [one for one in shown if CANARY[:8] in json.dumps(one)] == []
    assert all(map(is_masked, shown))


def test_what_tells_nothing_of_a_secret_is_still_shown() -> None:
    labels = {"app": "web"}
    secret = write({"type": "Opaque", "immutable": True, "metadata": {"name": "login", "labels": labels}})
    data = {"data": {"password": base64.b64encode(CANARY.encode()).decode()}}

    shown = mask({**secret, **data}, gvk=SECRET, tag_key=b"k")

    assert {key: value for key, value in shown.items() if key != "data"} == secret
    assert mask({"$patch": "replace"}, gvk=SECRET, tag_key=b"k") == {"$patch": "replace"}


def test_a_reference_to_a_secret_is_no_secret() -> None:
    obj = {"spec": {"sourceRef": {"kind": "Secret", "name": "login", "key": "password-file", "optional": True}}}

    assert mask(obj, gvk=GroupVersionKind("example.com", "v1", "Widget"), tag_key=b"k")["spec"] == obj["spec"]


@pytest.mark.parametrize("field", MISSPELLED)
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_with_a_misspelled_secret_is_masked(text, field) -> None:
    """In data, in an annotation, in a field of any kind, and encoded."""
    written = text.replace("FIELD", field) % CANARY
    encoded = base64.b64encode(written.encode()).decode()
    texts = {"plain": written, "encoded": encoded}
    config_map = {"kind": "ConfigMap", "metadata": {"annotations": texts}, "data": texts, "spec": {"one": [texts]}}

    shown = mask(config_map, gvk=GroupVersionKind("", "v1", "ConfigMap"), tag_key=b"k")

    assert CANARY[:8] not in json.dumps(shown)
    assert encoded not in json.dumps(shown)


@pytest.mark.parametrize(
    "text",
    [
        "source:\n  kind: Secret\n  name: login\n  key: opening\n",
        "kinds: [Secret, ConfigMap]\nmetadata:\n  name: rules\n",
        "kind: SecretStore\nmetadata:\n  name: vault\nspec: {}\n",
        "The kind Secret has metadata: a name and labels.\n",
    ],
)
def test_a_text_that_only_names_secrets_is_shown(text) -> None:
    config_map = {"kind": "ConfigMap", "metadata": {"name": "notes"}, "data": {"text": text}}

    assert mask(config_map, gvk=GroupVersionKind("", "v1", "ConfigMap"), tag_key=b"k") == config_map


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("field", ["string_data", "values"])
def test_no_page_shows_a_misspelled_secret_in_a_text(team, field, mode, step) -> None:
    """First created, then changed: the diff of a text shows its lines."""
    text = TEXTS[0].replace("FIELD", field)
    base = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files"}}
    first = team.plan(yaml.safe_dump({**base, "data": {"a.yaml": text % CANARY}}), mode=mode)
    run = team.work(team.start(first))
    assert run.state == "applied"
    second = team.plan(yaml.safe_dump({**base, "data": {"a.yaml": text % f"{CANARY}-2"}}), mode=mode)
    client = Client()
    client.force_login(team.alice)

    answers = list_answers(World(team, [first, second, second], [run]), client, step)

    assert [address for address, answer in answers if CANARY[:8] in answer] == []
    assert find_leaks(CANARY) == []
