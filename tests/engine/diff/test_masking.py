"""No value of a Secret passes the mask, in any wrapping, and a mask tells "same" from "changed"."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.diff.masking import MaskPolicy, find_secrets, is_masked, mask, mask_patch, mask_text
from applyviz.engine.objects.exchange import JSON_PATCH, STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.refs import GroupVersionKind

SECRET = GroupVersionKind("", "v1", "Secret")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
LIST = GroupVersionKind("", "v1", "List")
KEY = b"key of plan 1"
CANARY = "canary-7f3a91d2"
ENCODED = base64.b64encode(CANARY.encode()).decode()
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def secret(**more):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, **more}


def shown(value):
    return json.dumps(value, ensure_ascii=False)


def assert_hidden(value):
    text = shown(value)
    assert CANARY not in text
    assert ENCODED not in text


def test_data_and_string_data_are_masked_with_one_tag():
    masked = mask(
        secret(data={"p": ENCODED, "q": None}, stringData={"p": CANARY}, type="Opaque"), gvk=SECRET, tag_key=KEY
    )

    assert_hidden(masked)
    assert masked["data"]["p"] == masked["stringData"]["p"]
    assert masked["data"]["q"] is None
    assert (masked["type"], masked["metadata"]) == ("Opaque", {"name": "db"})


@pytest.mark.parametrize("length", [0, 1, 7, 64, 4096])
def test_mask_has_one_length(length):
    masked = mask(secret(stringData={"p": "x" * length}), gvk=SECRET, tag_key=KEY)

    assert len(masked["stringData"]["p"]) == 21


def test_tags_differ_by_plan_by_scope_and_by_value():
    def tag(value=CANARY, key=KEY, scope=""):
        return mask(secret(stringData={"p": value}), gvk=SECRET, tag_key=key, scope=scope)["stringData"]["p"]

    assert tag() == tag()
    assert len({tag(), tag("other"), tag(key=b"key of plan 2"), tag(scope="Secret shop/db")}) == 4


ANNOTATIONS = [
    json.dumps(secret(data={"p": ENCODED})),
    json.dumps(secret(stringData={"p": CANARY})),
    json.dumps({"kind": "List", "items": [secret(stringData={"p": CANARY})]}),
    json.dumps([secret(data={"p": ENCODED})]),
    json.dumps(json.dumps(secret(data={"p": ENCODED}))),
    json.dumps({"outer": json.dumps(secret(data={"p": ENCODED}))}),
    "\ufeff" + json.dumps(secret(data={"p": ENCODED})),
    '{"kind":"Secret","data":{"p":"' + ENCODED + '"},"data":{"p":"x"}}',
    json.dumps(secret(data={"p": ENCODED}))[:-3],
    json.dumps(secret(stringData={"p": CANARY}))[:-3],
    json.dumps(secret(stringData={"p": CANARY, "q": "y" * 100_000}))[:-1],
    f"apiVersion: v1\nkind: Secret\nstringData:\n  p: {CANARY}\n",
    f"- kind: 'Secret'\n  data: {{p: {ENCODED}}}\n",
]


@pytest.mark.parametrize("text", ANNOTATIONS, ids=range(len(ANNOTATIONS)))
@pytest.mark.parametrize("name", [LAST_APPLIED, "other.example.com/saved"])
@pytest.mark.parametrize("gvk", [SECRET, CONFIG_MAP, None], ids=["secret", "other", "unknown"])
def test_annotations_that_hold_secrets_are_masked(text, name, gvk):
    assert_hidden(mask({"metadata": {"annotations": {name: text}}}, gvk=gvk, tag_key=KEY))


def test_last_applied_of_a_secret_without_kind_is_masked():
    obj = {"metadata": {"annotations": {LAST_APPLIED: json.dumps({"data": {"p": ENCODED}})}}}

    masked = mask(obj, gvk=SECRET, tag_key=KEY)

    tag = mask(secret(data={"p": ENCODED}), gvk=SECRET, tag_key=KEY)["data"]["p"]
    assert json.loads(masked["metadata"]["annotations"][LAST_APPLIED]) == {"data": {"p": tag}}


def test_annotation_that_repeats_a_value_is_masked():
    obj = secret(data={"p": ENCODED}, metadata={"annotations": {"note": f"the password is {CANARY}", "team": "shop"}})

    masked = mask(obj, gvk=SECRET, tag_key=KEY)

    assert_hidden(masked)
    assert masked["metadata"]["annotations"]["team"] == "shop"


def test_harmless_annotations_stay_as_they_are():
    annotations = {LAST_APPLIED: '{"data":{"a":"b"},\n"kind":"ConfigMap"}', "x": "{not json", "n": "text"}

    masked = mask({"kind": "ConfigMap", "metadata": {"annotations": annotations}}, gvk=CONFIG_MAP, tag_key=KEY)

    assert masked["metadata"]["annotations"] == annotations


@pytest.mark.parametrize("claimed", ["Secret", "secret", "ConfigMap", "", None])
@pytest.mark.parametrize("real", [SECRET, GroupVersionKind("", "v1", "secrets"), None])
def test_the_kind_the_server_resolved_decides(claimed, real):
    obj = {"kind": claimed, "data": {"p": ENCODED}, "stringData": {"p": CANARY}}

    assert_hidden(mask(obj, gvk=real, tag_key=KEY))


@pytest.mark.parametrize("kind", ["SecretList", "List"])
def test_lists_of_secrets_are_masked(kind):
    items = [secret(data={"p": ENCODED})] if kind == "List" else [{"data": {"p": ENCODED}}]

    assert_hidden(mask({"kind": kind, "items": items}, gvk=GroupVersionKind("", "v1", kind), tag_key=KEY))


def test_secrets_inside_other_objects_are_masked():
    inside = {"spec": {"template": secret(stringData={"p": CANARY})}}
    text = {"data": {"manifest.json": json.dumps(secret(data={"p": ENCODED}))}}

    assert_hidden(mask(inside, gvk=GroupVersionKind("x.io", "v1", "Wrapper"), tag_key=KEY))
    assert_hidden(mask({**text, "kind": "ConfigMap"}, gvk=CONFIG_MAP, tag_key=KEY))


def test_text_that_looks_like_a_secret_is_masked_whole():
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData:\n  p: {CANARY}\n"
    obj = {"kind": "ConfigMap", "data": {"db.yaml": text, "plain": "how to keep a Secret: use data:"}}

    masked = mask(obj, gvk=CONFIG_MAP, tag_key=KEY)

    assert_hidden(masked)
    assert is_masked(masked["data"]["db.yaml"])
    assert masked["data"]["plain"] == obj["data"]["plain"]


def test_annotations_that_are_no_text_stay():
    obj = {"metadata": {"annotations": {"n": 1, "m": {"kind": "Secret", "data": {"p": ENCODED}}}}}

    masked = mask(obj, gvk=CONFIG_MAP, tag_key=KEY)

    assert_hidden(masked)
    assert masked["metadata"]["annotations"]["n"] == 1


def test_policy_masks_env_values_and_paths():
    pod = {
        "spec": {"containers": [{"env": [{"name": "db_password", "value": CANARY}, {"name": "PORT", "value": "80"}]}]}
    }
    custom = {"spec": {"users": [{"password": CANARY, "name": "a"}], "pin": 12345}}

    masked = mask(pod, gvk=GroupVersionKind("", "v1", "Pod"), tag_key=KEY)
    by_path = mask(
        custom,
        gvk=GroupVersionKind("x.io", "v1", "Db"),
        tag_key=KEY,
        policy=MaskPolicy(paths=("spec.users.*.password", "spec.pin")),
    )

    assert_hidden([masked, by_path])
    assert masked["spec"]["containers"][0]["env"][1] == {"name": "PORT", "value": "80"}
    assert is_masked(by_path["spec"]["pin"])
    assert by_path["spec"]["users"][0]["name"] == "a"


def test_odd_holders_are_masked_whole():
    for data in (CANARY, [ENCODED], {"p": {"deep": CANARY}}, {"p": 12}):
        masked = mask(secret(data=data, stringData=data), gvk=SECRET, tag_key=KEY)
        assert_hidden(masked)
        assert is_masked(masked)
        assert not find_secrets(masked, gvk=SECRET) & find_secrets(secret(data=data), gvk=SECRET)


def test_masked_things_are_recognised_anywhere():
    masked = mask(secret(data={"p": ENCODED}), gvk=SECRET, tag_key=KEY)

    assert is_masked(masked)
    assert is_masked([masked])
    assert is_masked(shown(masked))
    assert is_masked(json.dumps(masked))
    assert is_masked(shown(masked).encode())
    assert is_masked(mask_text(CANARY, [CANARY]))
    assert not is_masked(secret(data={"p": ENCODED}))
    assert not is_masked(b"")


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/data/p", "value": ENCODED},
        {"op": "replace", "path": "/data", "value": {"p": ENCODED}},
        {"op": "test", "path": "/stringData/a~1b", "value": CANARY},
        {"op": "replace", "path": "", "value": secret(data={"p": ENCODED})},
        {"op": "add", "path": "/metadata/annotations/x", "value": json.dumps(secret(data={"p": ENCODED}))},
        {"op": "add", "path": "/metadata/annotations", "value": {"x": json.dumps(secret(stringData={"p": CANARY}))}},
        {"op": "add", "path": "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
         "value": json.dumps({"data": {"p": ENCODED}})},
        {"op": "add", "path": "/data/p/deep", "value": CANARY},
        {"op": "replace", "path": "", "value": [CANARY]},
        {"op": "add", "path": 7, "value": CANARY},
        CANARY,
    ],
)  # fmt: skip
def test_operations_of_a_json_patch_are_masked(operation):
    masked = mask_patch([operation], JSON_PATCH, gvk=SECRET, tag_key=KEY)

    assert_hidden(masked)
    assert is_masked(masked)


def test_patch_bodies_keep_nulls_and_directives():
    body = {"data": {"gone": None, "p": ENCODED, "$patch": "replace"}, "metadata": {"labels": {"a": "b"}}}

    masked = mask_patch(body, STRATEGIC_MERGE_PATCH, gvk=SECRET, tag_key=KEY)

    assert_hidden(masked)
    assert masked["data"]["gone"] is None
    assert masked["data"]["$patch"] == "replace"
    assert masked["metadata"] == {"labels": {"a": "b"}}
    remove = [{"op": "remove", "path": "/data/p"}, {"op": "add", "path": "/data/p", "value": None}]
    assert mask_patch(remove, JSON_PATCH, gvk=SECRET, tag_key=KEY) == remove
    assert mask_patch(None, STRATEGIC_MERGE_PATCH, gvk=SECRET, tag_key=KEY) is None
    assert is_masked(mask_patch(CANARY, STRATEGIC_MERGE_PATCH, gvk=SECRET, tag_key=KEY))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["kind", "metadata", "items", "data", "spec", "status"]), json_values))
def test_any_shape_is_masked_without_a_crash(obj):
    obj = {**obj, "stringData": {"p": CANARY}}

    assert_hidden(mask(obj, gvk=SECRET, tag_key=KEY))
    assert_hidden(mask({"items": [obj]}, gvk=GroupVersionKind("", "v1", "SecretList"), tag_key=KEY))
