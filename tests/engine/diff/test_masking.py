"""No value of a Secret passes the mask, in any wrapping, and a mask tells "same" from "changed"."""

from __future__ import annotations

import base64
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.diff.marks import remove_tags
from applyviz.engine.diff.masking import Beside, MaskPolicy, find_secrets, is_masked, mask
from applyviz.engine.diff.patch_masking import mask_patch
from applyviz.engine.objects.exchange import JSON_PATCH, STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.refs import GroupVersionKind

SECRET = GroupVersionKind("", "v1", "Secret")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
LIST = GroupVersionKind("", "v1", "List")
POD = GroupVersionKind("", "v1", "Pod")
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
    masked = mask(secret(data={"p": ENCODED, "q": None}, type="Opaque"), gvk=SECRET, tag_key=KEY)
    as_text = mask(secret(stringData={"p": CANARY}), gvk=SECRET, tag_key=KEY)

    assert_hidden([masked, as_text])
    assert masked["data"]["p"] == as_text["stringData"]["p"]
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

    assert_hidden(masked)
    assert is_masked(json.loads(masked["metadata"]["annotations"][LAST_APPLIED])["data"]["p"])


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
    assert is_masked(
        mask(custom, gvk=GroupVersionKind("x.io", "v1", "Db"), tag_key=KEY)["spec"]["users"][0]["password"]
    )
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


def test_value_is_no_second_guess_where_another_has_the_last_word():
    masked = mask(secret(data={"p": ENCODED}, stringData={"p": CANARY}), gvk=SECRET, tag_key=KEY)

    assert masked["data"]["p"] != masked["stringData"]["p"]


def test_tag_is_bound_to_its_place():
    inner = json.dumps(secret(data={"p": ENCODED}))
    obj = secret(data={"p": ENCODED, "q": ENCODED}, metadata={"annotations": {f"guess-{n}": inner for n in range(3)}})

    text = shown(mask(obj, gvk=SECRET, tag_key=KEY))

    tags = re.findall("masked ([0-9a-f]{12})", text)
    assert len(set(tags)) == len(tags) == 5


def test_entries_of_one_name_have_two_places():
    env = [{"name": "DB_PASS", "value": CANARY}, {"name": "PORT", "value": "1"}, {"name": "DB_PASS", "value": CANARY}]

    first, port, second = mask({"spec": {"env": env}}, gvk=POD, tag_key=KEY)["spec"]["env"]

    assert first["value"] != second["value"]
    assert port["value"] == "1"
    moved = mask({"spec": {"env": env[1:]}}, gvk=POD, tag_key=KEY)["spec"]["env"]
    assert moved[1]["value"] == first["value"]  # its place is its name


@pytest.mark.parametrize(
    "spec",
    [
        {"args": [f"--password={CANARY}"]},
        {"args": ["--token", CANARY]},
        {"command": ["sh", "-c", f"mysql --password {CANARY}"]},
        {"env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": CANARY}]},
        {"env": [{"name": "DATABASE_URL", "value": f"postgres://app:{CANARY}@db"}]},
        {"httpHeaders": [{"name": "Authorization", "value": f"Bearer {CANARY}"}]},
        {"apiToken": CANARY},
        {"auth": {"password": {"value": CANARY}}, "password": CANARY},
    ],
)
def test_credentials_in_plain_fields_are_masked(spec):
    spec = json.loads(json.dumps(spec).replace(f'{{"value": "{CANARY}"}}', "{}"))
    masked = mask({"spec": spec}, gvk=POD, tag_key=KEY)

    assert_hidden(masked)
    assert is_masked(masked)
    plain = mask({"spec": spec}, gvk=POD, tag_key=KEY, policy=MaskPolicy(has_plain=False))
    assert plain == {"spec": spec}


def test_what_only_names_a_secret_stays():
    spec = {
        "automountServiceAccountToken": False,
        "env": [
            {"name": "DB_PASS", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
            {"name": "URL_PASSWORD", "value": "$(DB_PASS)"},
            {"name": "TOKEN_FILE", "value": "/run/token"},
        ],
        "args": ["--token", "$(TOKEN)", "--token-file=/run/token", "--token", "--verbose", 7],
        "volumes": [{"secret": {"secretName": "db"}}],
        "tokenReview": {"audiences": ["a"]},
        "token": "",
        "authorization": None,
    }

    assert mask({"spec": spec}, gvk=POD, tag_key=KEY) == {"spec": spec}


def test_definitions_of_kinds_are_no_credentials():
    schema = {"spec": {"description": "password: the password of the user", "token": "x-y-z"}}

    assert mask(schema, gvk=GroupVersionKind("", "v1", "CustomResourceDefinition"), tag_key=KEY) == schema


def test_files_in_config_maps_lose_their_credentials():
    data = {
        "app.properties": f"url=jdbc\ndb.password={CANARY}\n",
        "config.json": json.dumps({"auths": {"r.example": {"auth": ENCODED}}}),
        "key.pem": f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----",
        "pin": 12345,
        "password": 12345,
    }

    masked = mask({"data": data}, gvk=CONFIG_MAP, tag_key=KEY)["data"]

    assert_hidden(masked)
    assert masked["app.properties"].startswith("url=jdbc\ndb.password=\u27eamasked")
    assert masked["pin"] == 12345
    assert is_masked(masked["password"])


def test_names_of_a_policy_are_masked():
    policy = MaskPolicy(has_plain=False, names=("*_pin",))

    masked = mask({"spec": {"env": [{"name": "CARD_PIN", "value": "1"}]}}, gvk=POD, tag_key=KEY, policy=policy)

    assert is_masked(masked)


def test_mixed_versions_show_an_annotation_as_its_author_does():
    manifest = secret(metadata={"annotations": {"mine": f"is it {CANARY}?"}})
    live = secret(data={"p": ENCODED}, metadata={"annotations": {"theirs": f"it is {CANARY}", "plain": "text"}})
    beside = [Beside(one, mask(one, gvk=SECRET, tag_key=KEY)) for one in (manifest, live)]
    annotations = {**manifest["metadata"]["annotations"], **live["metadata"]["annotations"], "server": "hello"}
    annotations[LAST_APPLIED] = json.dumps(manifest)

    masked = mask({**live, "metadata": {"annotations": annotations}}, gvk=SECRET, tag_key=KEY, beside=beside)

    found = masked["metadata"]["annotations"]
    assert found["mine"] == f"is it {CANARY}?"
    assert is_masked(found["theirs"])
    assert found["plain"] == "text"
    assert is_masked(found["server"])
    assert json.loads(found[LAST_APPLIED]) == manifest


def test_mixed_versions_without_secrets_stay():
    obj = {"metadata": {"annotations": {"a": "b"}}}

    assert mask(obj, gvk=CONFIG_MAP, tag_key=KEY, beside=()) == obj


def test_embedded_object_that_repeats_a_value_is_masked_whole():
    text = json.dumps({"kind": "ConfigMap", "note": f"it is {CANARY}"})

    masked = mask(secret(data={"p": ENCODED}, metadata={"annotations": {"x": text}}), gvk=SECRET, tag_key=KEY)

    assert_hidden(masked)


def test_marks_without_tags_tell_no_secrets_apart():
    one, two = (mask(secret(data={"a": text}), gvk=SECRET, tag_key=KEY) for text in ("b25l", "dHdv"))

    assert one != two
    assert remove_tags(one) == remove_tags(two)
    assert is_masked(remove_tags(one))
    escaped = json.dumps({"list": [one["data"]["a"]]})
    assert remove_tags([escaped, 1]) == [json.dumps({"list": [remove_tags(two["data"]["a"])]}), 1]
