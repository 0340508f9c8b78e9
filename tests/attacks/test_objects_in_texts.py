"""Objects inside text values are masked in every spelling, in every encoding and in every request."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from applyviz.engine.diff.encoded import decode_all
from applyviz.engine.diff.masking import MaskPolicy, mask
from applyviz.engine.diff.passwords import KindPasswords, Passwords
from applyviz.engine.diff.patch_masking import mask_patch
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.options import SetAction
from tests.attacks import test_password_fields as password_fields
from tests.attacks.conftest import list_stored
from tests.attacks.test_identical_pages import World
from tests.stories import Team

pytestmark = pytest.mark.attacks
CANARY = "q7Rz0xWv-canary"
POLICY = MaskPolicy(passwords=Passwords((KindPasswords("example.com", "Backup", (("spec", "opening"),)),)))


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def write(version: str, kind: str, **fields: Any) -> JSONObject:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "nightly"}, **fields}


OBJECTS = {
    "a password of a custom kind": write("example.com/v1", "Backup", spec={"opening": CANARY, "plain": "shown"}),
    "stringData": write("v1", "Secret", stringData={"opening": CANARY}),
    "data": write("v1", "Secret", data={"opening": b64(CANARY)}),
    "a list of Secrets": {
        "apiVersion": "v1",
        "kind": "List",
        "items": [write("v1", "Secret", data={"opening": b64(CANARY)})],
    },
    "a plain password": write("v1", "ConfigMap", data={"password": CANARY}),
}
WRITTEN: dict[str, Callable[[JSONObject], str]] = {
    "JSON": json.dumps,
    "JSON that was cut": lambda obj: json.dumps(obj)[:-1],
    "JSON in a sentence": lambda obj: f"see {json.dumps(obj)}",
    "YAML": yaml.safe_dump,
    "YAML on one line": lambda obj: yaml.safe_dump(obj, default_flow_style=True),
    "the second document": lambda obj: f"a: b\n---\n{yaml.safe_dump(obj)}",
    "JSON in JSON": lambda obj: json.dumps([{"op": "add", "path": "/x", "value": obj}]),
    "YAML in JSON": lambda obj: json.dumps({"manifest": yaml.safe_dump(obj)}),
}
ENCODED: dict[str, Callable[[str], str]] = {
    "plain": str,
    "base64": b64,
    "base64 in a sentence": lambda text: f"see here: {b64(text)} and there",
    "hex": lambda text: text.encode().hex(),
    "gzip": lambda text: base64.b64encode(gzip.compress(text.encode())).decode(),
    "address": quote,
    "JSON string": json.dumps,
}
CARRIERS: dict[str, Callable[[str], JSONObject]] = {
    "data": lambda text: write("v1", "ConfigMap", data={"file": text}),
    "annotation": lambda text: {**write("v1", "ConfigMap"), "metadata": {"annotations": {"note": text}}},
    "argument": lambda text: write("apps/v1", "Deployment", spec={"containers": [{"args": ["--file", text]}]}),
    "field": lambda text: write("example.com/v1", "Backup", spec={"plain": text}),
}


def list_shown(obj: JSONObject) -> Iterator[tuple[str, Any]]:
    """Yield each form in which a page, the API or an export shows an object or a request for it."""
    gvk = GroupVersionKind.from_object(obj)
    body = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}
    operations = [{"op": "add", "path": f"/{name}", "value": value} for name, value in body.items()]
    yield "object", mask(obj, gvk=gvk, tag_key=b"k", policy=POLICY)
    yield "live", mask(obj, gvk=gvk, tag_key=b"k", policy=POLICY, is_live=True)
    yield "merge patch", mask_patch(body, MERGE_PATCH, gvk=gvk, tag_key=b"k", policy=POLICY)
    yield "JSON patch", mask_patch(operations, JSON_PATCH, gvk=gvk, tag_key=b"k", policy=POLICY)


def list_texts(value: Any) -> Iterator[str]:
    """Yield every text of a value, and what each of them holds encoded."""
    if isinstance(value, str):
        yield from (value, *decode_all(value).texts)
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from list_texts(below)


def holds_canary(shown: Any) -> bool:
    forms = (CANARY[:8], b64(CANARY)[:12], CANARY.encode().hex()[:16])
    return any(form in text for text in list_texts(shown) for form in forms)


@pytest.mark.core(57)  # every pair of an object, a writing and an encoding
@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("writing", WRITTEN)
@pytest.mark.parametrize("name", OBJECTS)
def test_no_request_shows_an_object_that_a_text_holds(name: str, writing: str, encoding: str) -> None:
    text = ENCODED[encoding](WRITTEN[writing](OBJECTS[name]))
    assert holds_canary(text)

    shown = [(carrier, *one) for carrier, carry in CARRIERS.items() for one in list_shown(carry(text))]

    assert [(carrier, form) for carrier, form, one in shown if holds_canary(one)] == []


@pytest.mark.parametrize("text", ["password: %s\nuser: a", 'password: "%s"\nuser: a', "user: a\npassword: %s\n"])
@pytest.mark.parametrize("carrier", ["see %s", '{"a": %s', "%s, and so on"])
def test_no_line_of_an_escaped_text_shows_a_password(text: str, carrier: str) -> None:
    written = carrier % json.dumps(text % CANARY)

    shown = [one for carry in CARRIERS.values() for one in list_shown(carry(written))]

    assert not any(map(holds_canary, shown))


@pytest.mark.parametrize(
    "text",
    [
        "? kind\n: Secret\n? stringData\n: {opening: %s}",
        "- - kind: Secret\n    stringData: {opening: %s}",
        "kind: !!str Secret\nstringData:\n  opening: %s",
        "kind: &a Secret\nstringData:\n  opening: %s",
        "kind: >-\n  Secret\nstringData:\n  opening: %s",
        "{items: [{kind: Secret, stringData: {opening: %s}}]}",
    ],
)
def test_no_spelling_of_yaml_shows_a_secret(text: str) -> None:
    assert "Secret" in yaml.safe_load(text % CANARY).__repr__()

    shown = [one for carry in CARRIERS.values() for one in list_shown(carry(text % CANARY))]

    assert not any(map(holds_canary, shown))


GATEWAY = """\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: shop
spec:
  listeners:
  - name: https
    tls:
      certificateRefs:
      - kind: Secret
        name: shop-tls
"""
BESIDE = {
    "the reference holds a value": GATEWAY.replace("name: shop-tls", "name: shop-tls\n        opening: %s"),
    "the reference holds a map": GATEWAY.replace("name: shop-tls", "name: {opening: %s}"),
    "a Secret with a misspelled field": GATEWAY + "---\nkind: Secret\nmetadata: {name: a}\nopening: %s\n",
    "the same, of other letters": GATEWAY + "---\nkInd: ' secret'\nmetadata: {name: a}\nopening: %s\n",
    "a Secret without metadata": GATEWAY + "---\nkind: Secret\nopening: %s\n",
    "a Secret in a text of it": GATEWAY + "  note: |\n    kind: Secret\n    metadata: {name: a}\n    opening: %s\n",
    "JSON in a text of it": GATEWAY + """  note: 'see {"kind": "Secret", "metadata": {}, "opening": "%s"}'\n""",
    "JSON in a name": GATEWAY.replace("shop-tls", """'{"kind": "Secret", "opening": "%s"}'"""),
    "a comment": GATEWAY + "# kind: Secret\n# opening: %s\n",
    "an alias": GATEWAY.replace("kind: Secret", "kind: &a Secret") + "---\nkind: *a\nopening: %s\n",
    "a merge": GATEWAY + "note:\n  <<: {kind: Secret}\n  opening: %s\n",
    "a field of data": GATEWAY + "data: {opening: %s}\n",
    "no YAML": GATEWAY + "opening: [%s\n",
}


def test_a_text_that_only_refers_to_a_secret_is_shown() -> None:
    shown = [shown for _, shown in list_shown(CARRIERS["data"](GATEWAY))]

    assert all("certificateRefs" in json.dumps(one) for one in shown)


@pytest.mark.parametrize("case", BESIDE)
def test_a_reference_to_a_secret_shows_no_value_beside_it(case: str) -> None:
    shown = [one for carry in CARRIERS.values() for one in list_shown(carry(BESIDE[case] % CANARY))]

    assert not any(map(holds_canary, shown))


@pytest.mark.parametrize("name", ["Value", "values", "stringData"])
def test_an_unknown_field_of_an_operation_is_masked(name: str) -> None:
    operations = [{"op": "add", "path": "/data/opening", name: CANARY}, {"op": "remove", "path": "/a", name: [CANARY]}]
    gvk = GroupVersionKind("", "v1", "Secret")

    shown = mask_patch(operations, JSON_PATCH, gvk=gvk, tag_key=b"k")

    assert not holds_canary(shown)
    assert [one["path"] for one in shown] == ["/data/opening", "/a"]


@pytest.mark.core(1)
@pytest.mark.django_db
@pytest.mark.parametrize("encoding", ["plain", "base64"])
@pytest.mark.parametrize("kind", ["json", "merge"])
def test_no_page_shows_what_a_patch_carries(team: Team, kind: str, encoding: str, step: int) -> None:
    """In the plan, its pages, the API, the archive of requests, the journal of its run and the audit log."""
    assert team.apply(yaml.safe_dump(password_fields.define())).state == "applied"
    assert team.apply(yaml.safe_dump(password_fields.write({}))).state == "applied"
    text = ENCODED[encoding](yaml.safe_dump(password_fields.write({"opening": CANARY})))
    body = [{"op": "add", "path": "/spec/plain", "value": text}] if kind == "json" else {"spec": {"plain": text}}
    target = {"apiVersion": "example.com/v1", "kind": "Backup", "name": "nightly"}
    patch = yaml.safe_dump({"kind": "Patch", "target": target, "type": kind, "patch": body})

    plan = team.plan(patch, action=SetAction.PATCH)
    run = team.work(team.start(plan))

    assert run.state == "applied", run.error
    assert password_fields.find_shown(World(team, [plan, plan, plan], [run]), 0, step) == []
    stored = "\n".join(text for _, text in list_stored())
    assert [one for one in decode_all(stored).texts if CANARY[:8] in one] == []
    assert CANARY[:8] not in stored
    assert b64(CANARY)[:10] not in stored
