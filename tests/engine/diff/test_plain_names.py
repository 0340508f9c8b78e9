"""Names that are remembered as plain are shown as masking shows them; names that hold anything masked are masked."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.diff import plain_names
from applyviz.engine.diff.marks import is_masked
from applyviz.engine.diff.masking import MaskPolicy, mask
from applyviz.engine.objects.refs import GroupVersionKind
from tests.engine.diff.test_plain_values import KINDS, POLICIES

KEY = b"key of plan 1"
DEPLOYMENT = KINDS[0]
assert DEPLOYMENT is not None
ELEMENTS = ["f:spec", "f:metadata", "f:annotations", "f:password", "f:data", "f:items", "f:args", ".", 'k:{"name":"a"}']
ELEMENTS += ['k:{"name":"DB_PASS","value":"x"}', 'v:"--token=abcdefgh"', 'v:"a"', "i:0", "v:{", "k:7", "f:kind"]
ELEMENTS += ['k:{"metadata":{"annotations":{"a":"hunter22"}}}', "f:stringData", "odd"]
NAMES = st.recursive(
    st.just({}), lambda below: st.dictionaries(st.sampled_from(ELEMENTS), below, max_size=4), max_leaves=12
)
CLAIMED = {"apiVersion": "apps/v1", "kind": "Deployment"}
SECRETS = [{}, {"kind": "Secret", "data": {"a": "hunter22"}}, {"spec": {"password": "hunter22"}}]


@pytest.fixture(autouse=True)
def _forget():
    plain_names._plain.clear()
    yield
    plain_names._plain.clear()


def make(names, **more):
    return {**CLAIMED, "metadata": {"managedFields": [{"fieldsV1": names}]}, **more}


@given(NAMES, st.sampled_from(KINDS), st.sampled_from(POLICIES), st.sampled_from(SECRETS), st.booleans())
def test_remembered_names_are_shown_as_masking_shows_them(names, gvk, policy, more, is_live):
    obj = make(names, **copy.deepcopy(more))

    def show():
        return mask(obj, gvk=gvk, tag_key=KEY, scope="x", policy=policy, is_live=is_live)

    plain_names._plain.clear()
    first = show()
    for kind in KINDS:  # whatever other objects made it remember
        for other in POLICIES:
            mask(make(names), gvk=kind, tag_key=KEY, policy=other)

    assert show() == first


def test_names_are_remembered_across_objects_and_only_where_nothing_is_masked():
    plain = {"f:spec": {"f:replicas": {}, "f:volumes": {'k:{"name":"a"}': {".": {}}}}}
    secret = {"f:spec": {"f:args": {'v:"--token=abcdefgh"': {}}}}
    keys = [plain_names.make_key(names, DEPLOYMENT, MaskPolicy(), CLAIMED) for names in (plain, secret)]

    for names in (plain, secret):
        mask(make(names), gvk=DEPLOYMENT, tag_key=KEY)

    assert [plain_names.are_plain(key) for key in keys] == [True, False]


@pytest.mark.parametrize(
    ("gvk", "policy"),
    [
        (GroupVersionKind("", "v1", "Secret"), MaskPolicy()),
        (DEPLOYMENT, MaskPolicy(names=("replicas",))),
        (DEPLOYMENT, MaskPolicy(paths=("spec.*.replicas",))),
    ],
)
def test_names_that_are_plain_of_one_kind_and_policy_are_masked_by_another(gvk, policy):
    names = {"f:spec": {'k:{"replicas":"x"}': {}}, "f:data": {'k:{"a":"b"}': {}}}
    mask(make(names), gvk=DEPLOYMENT, tag_key=KEY)

    before = mask(make(names), gvk=gvk, tag_key=KEY, policy=policy)

    plain_names._plain.clear()
    assert mask(make(names), gvk=gvk, tag_key=KEY, policy=policy) == before
    assert is_masked(before)


def test_long_and_inexact_names_are_not_remembered():
    long = {f"f:{'a' * 20_000}": {}}

    assert plain_names.make_key(long, DEPLOYMENT, MaskPolicy()) is None
    assert plain_names.make_key({"f:\ud800": {}}, DEPLOYMENT, MaskPolicy()) is None
    assert not plain_names.are_plain(None)
    plain_names.remember(None)
    assert not plain_names.are_plain(None)


def test_memory_of_names_is_bounded():
    keys = [plain_names.make_key({f"f:{n}": {}}, DEPLOYMENT, MaskPolicy()) for n in range(3000)]
    for key in keys:
        plain_names.remember(key)

    assert sum(map(plain_names.are_plain, keys)) <= 1024
    assert plain_names.are_plain(keys[-1])
