"""Plain values are shown unchanged: masking with and without the shortcut shows the same and finds the same secrets."""

from __future__ import annotations

import base64
import copy
import json
import time
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.diff import masking, plain_values
from applyviz.engine.diff.embedded import parse_embedded
from applyviz.engine.diff.marks import OPEN, is_masked
from applyviz.engine.diff.masking import Beside, MaskPolicy, mask
from applyviz.engine.diff.passwords import KindPasswords, Passwords
from applyviz.engine.diff.plain_values import PlainValues
from applyviz.engine.diff.repeating import find_secrets
from applyviz.engine.objects.refs import GroupVersionKind

KEY = b"key of plan 1"
KINDS = [GroupVersionKind("apps", "v1", "Deployment"), GroupVersionKind("", "v1", "Secret"), None]
KINDS += [GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")]
KINDS += [GroupVersionKind("external-secrets.io", "v1", "ExternalSecret")]
POLICIES = [MaskPolicy(), MaskPolicy(names=("*name*", "0")), MaskPolicy(paths=("spec.*",)), MaskPolicy(has_plain=False)]
PASSWORDS = (("spec", "a"), ("items", "*", "name"), ("metadata", "*"))
POLICIES += [MaskPolicy(passwords=Passwords((KindPasswords("apps", "Deployment", PASSWORDS),)))]
TEXTS = [
    *("", "a", "web", "1.4.2", "--token", "--token=abcdefgh", "-p", "http://u:secretpw@host/", "password: hunter22"),
    *('{"kind":"Secret","data":{"a":"cGFzcw=="}}', '{"a":1}', "[1]", '"{}"', "kind: Secret\ndata:\n  a: b"),
    *(
        f"{OPEN} 0123456789ab\u27eb",
        "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln",
        '{"auths":{"x":{"auth":"YTpi"}}}',
        "my secret is big",
    ),
    *("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "$(TOKEN)", "Bearer abcdefghijklmnopqrst"),
]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
TEXTS += [
    json.dumps({"kind": "Deployment", "metadata": {"annotations": {LAST_APPLIED: "x"}}, "spec": {"a": "DB_PASS=x1y2"}}),
    json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {}, "stringData": {"a": "secretpw"}}),
    json.dumps({"spec": {"a": {"kind": "Secret", "a": "hunter22"}}, "metadata": {"annotations": {"a": "hunter22"}}}),
    json.dumps({"auths": {"x": {"auth": ""}}}),
    json.dumps([{"name": "DB_PASS", "value": "hunter22"}, {"spec": {"a": "plain"}}]),
]
# Found only after decoding: an object of a kind with passwords, a Secret on one line, an escaped field.
TEXTS += [
    base64.b64encode(b"kind: Deployment\nspec:\n  a: hunter22").decode(),
    "{kind: Secret, data: {a: cGFzcw==}}",
    '"{\\"password\\": \\"hunter22\\"}"',
]
NAMES = [
    LAST_APPLIED,
    "a",
    "kind",
    "name",
    "value",
    "data",
    "stringData",
    "items",
    "metadata",
    "annotations",
    "spec",
    "password",
]
NAMES += ["template", "secretTemplate", "binaryData", "Kind"]
NAMES += ["secretKey", "apiToken", "containers", "env", "args", f"{OPEN} x", "last-applied"]
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.just(1.5) | st.sampled_from([*TEXTS, "Secret", "DB_PASS"])
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.sampled_from(NAMES), v, max_size=4), max_leaves=25
)
OBJECTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6)


class _NothingIsPlain(PlainValues):
    """Knows nothing: each text is parsed and searched again."""

    def __contains__(self, value: object) -> bool:
        return False

    def is_plain_text(self, text):
        return False

    def parse(self, text):
        return parse_embedded(text)

    def holds_no_credential(self, text):
        return False

    def is_kept(self, note):
        return False


@given(OBJECTS, st.sampled_from(KINDS), st.sampled_from(POLICIES))
def test_the_shortcut_shows_what_masking_shows(obj, gvk, policy):
    before = copy.deepcopy(obj)
    plain = PlainValues(policy.names, policy.paths, policy.passwords)
    short = mask(obj, gvk=gvk, tag_key=KEY, scope="x", policy=policy, plain=plain)
    whole = mask(obj, gvk=gvk, tag_key=KEY, scope="x", policy=policy, plain=_NothingIsPlain())

    assert short == whole
    assert obj == before
    assert is_masked(short, plain) == is_masked(whole)
    assert Beside(obj, short, plain).holds_masked == Beside(obj, whole).holds_masked
    assert find_secrets(obj, gvk=gvk, plain=plain) == find_secrets(obj, gvk=gvk)


@given(st.lists(OBJECTS, min_size=2, max_size=3))
def test_values_of_one_change_share_what_is_known(objs):
    shared = PlainValues()
    for obj in objs:
        alone = mask(obj, gvk=KINDS[0], tag_key=KEY)
        assert mask(obj, gvk=KINDS[0], tag_key=KEY, plain=shared) == alone


ANNOTATED = st.dictionaries(st.sampled_from([LAST_APPLIED, "note"]), st.sampled_from(TEXTS), max_size=2)


@given(OBJECTS, st.lists(ANNOTATED, min_size=2, max_size=3), st.sampled_from(KINDS), st.sampled_from(POLICIES))
def test_an_annotation_is_shown_alike_in_each_version_of_a_change(obj, annotated, gvk, policy):
    first, *others = ({**obj, "metadata": {"name": "a", "annotations": one}} for one in annotated)

    def mask_all(plain):
        shown = mask(first, gvk=gvk, tag_key=KEY, policy=policy, plain=plain)
        beside = (Beside(first, shown, plain),)
        mixed = [mask(one, gvk=gvk, tag_key=KEY, policy=policy, beside=beside, plain=plain) for one in others * 2]
        live = [mask(one, gvk=gvk, tag_key=KEY, policy=policy, plain=plain, is_live=True) for one in others]
        return [shown, *mixed, *live]

    assert mask_all(PlainValues(policy.names, policy.paths, policy.passwords)) == mask_all(_NothingIsPlain())


@pytest.mark.parametrize("name", ["kind", "Kind", "KIND"])
def test_a_secret_is_not_plain_however_its_kind_is_spelled(name):
    secret = {name: "Secret", "metadata": {"name": "a"}, "data": {"a": "plain value"}}
    obj = {"metadata": {"annotations": {"note": json.dumps({"spec": secret})}}, "spec": {"below": secret}}

    assert "plain value" not in json.dumps(mask(obj, gvk=KINDS[0], tag_key=KEY))


def test_an_annotation_of_a_result_is_not_searched_again(monkeypatch):
    searched, text = [], json.dumps({"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"a": "/b"}})
    monkeypatch.setattr(masking, "find_parts", lambda text: searched.append(text) or [])
    obj, plain = {"metadata": {"annotations": {LAST_APPLIED: text}}}, PlainValues()
    beside = (Beside({}, {}),)

    shown = [mask(obj, gvk=KINDS[0], tag_key=KEY, beside=beside, plain=plain) for _ in range(3)]

    assert shown == [obj] * 3
    assert searched == [text]


@pytest.mark.parametrize(("holder", "is_plain"), [("spec", True), ("data", False), ("stringData", False)])
def test_a_template_is_plain_unless_it_holds_values_of_a_secret(holder, is_plain):
    plain, template = PlainValues(), {"metadata": {"labels": {"a": "b"}}, holder: {"a": "b"}}
    obj = {"spec": {"template": template}}
    plain.add(obj)

    assert [one in plain for one in (obj, template, template[holder])] == [is_plain] * 3
    assert template["metadata"] in plain


def test_a_plain_part_is_the_very_same():
    obj = {"spec": {"containers": [{"name": "a", "env": [{"name": "MODE", "value": "fast"}]}], "token": "x"}}
    masked = mask(obj, gvk=KINDS[0], tag_key=KEY)

    assert masked["spec"]["containers"] is obj["spec"]["containers"]
    assert masked["spec"]["token"] != "x"


def test_a_text_that_was_judged_plain_is_not_decoded_again(monkeypatch):
    searched = []
    monkeypatch.setattr(masking, "find_parts", lambda text: searched.append(text) or [])
    owner = {"manager": "an-editor", "operation": "Apply", "fieldsV1": {"f:spec": {}}}
    obj = {"metadata": {"name": "a-name-of-some-length", "annotations": {"note": "b" * 40}, "managedFields": [owner]}}

    assert mask(obj, gvk=KINDS[0], tag_key=KEY) == obj
    assert searched == []


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        b"raw",
        {"a": (1,)},
        [object()],
        {"name": "DB_PASS", "value": "x"},
        ["--token", "x"],
        {"kind": "secrets"},
        {"env": {"token": "x"}},
    ],
)
def test_what_may_be_masked_is_not_plain(value):
    plain = PlainValues()
    plain.add(value)

    assert value not in plain


def test_nothing_is_plain_where_a_policy_names_paths():
    plain, value = PlainValues(paths=("spec.a",)), {"a": 1}
    plain.add(value)
    plain.add(None)

    assert value not in plain


@given(st.sampled_from(TEXTS) | st.text())
def test_a_text_that_was_judged_is_judged_the_same_again(text):
    plain_values._known.clear()
    first, second = plain_values._is_plain_text(text), plain_values._is_plain_text(text)

    assert first == second == plain_values._judge_text(text)
    assert len(plain_values._known) == (1 if first else 0)


def test_of_texts_only_keyed_hashes_are_kept_and_not_without_end(monkeypatch):
    monkeypatch.setattr(plain_values, "_MOST_KNOWN", 100)
    texts = [f"word {number}" for number in range(250)]

    assert all(map(plain_values._is_plain_text, texts))

    assert 0 < len(plain_values._known) <= 100
    assert all(isinstance(known, bytes) and len(known) == 16 for known in plain_values._known)
    assert not plain_values._known.keys() & {blake2b(text.encode(), digest_size=16).digest() for text in texts}


def test_looking_through_is_linear_also_where_everything_is_nested_and_nothing_plain():
    def nest(depth):
        value = {"password": "x"}
        for _ in range(depth):
            value = {"a": [value]}
        return value

    def measure(depth):
        values = [nest(depth) for _ in range(200)]
        began = time.process_time()
        PlainValues().add(values)
        return time.process_time() - began

    assert min(measure(80) for _ in range(3)) < 12 * min(measure(20) for _ in range(3))
