"""Flip one thing of a plan, and its digest is another: every field, and every leaf of every request body."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields

from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.fingerprint import digest_plan
from applyviz.engine.planning.model.plan import Operation, PlannedObject, PlannedSet
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, Replacement
from tests.engine.planning.cluster import Box

KEY = b"k" * 32
BEFORE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1', y: '2', z: '3'}\n"
AFTER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {app: b}}\ndata: {x: '2', y: '7'}\n"


def make_plan(mode: ApplyMode) -> PlannedSet:
    options = ApplyOptions(mode=mode)
    box = Box()
    box.apply(BEFORE, options)
    return box.plan(AFTER, options)


PLANS = {mode: make_plan(mode) for mode in ApplyMode}


def digest(plan: PlannedSet) -> str:
    return digest_plan(plan, key=KEY, target="t", identity="i", policy_version="p@1", decisions=[])


def flip(value):
    """Another value of the same shape."""
    match value:
        case bool():
            return not value
        case StrEnum():
            return next(other for other in type(value) if other is not value)
        case str():
            return value + "x"
        case int():
            return value + 1
        case tuple():
            return (*value, "x")
        case None:
            return "x"
    raise AssertionError(type(value))


def flip_leaves(value) -> Iterator[object]:
    """The value with one leaf flipped or one entry gone, for each of them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {k: v for k, v in value.items() if k != key}
            yield {(k + "x" if k == key else k): v for k, v in value.items()}
            yield from ({**value, key: other} for other in flip_leaves(inner))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            yield value[:n] + value[n + 1 :]
            yield from ([*value[:n], other, *value[n + 1 :]] for other in flip_leaves(inner))
    else:
        yield flip(value)


def with_change(plan: PlannedSet, **values) -> PlannedSet:
    change = plan.changes[0]
    return replace(plan, changes=(replace(change, **values), *plan.changes[1:]))


def with_request(plan: PlannedSet, **values) -> PlannedSet:
    first, *rest = plan.changes[0].requests
    return with_change(plan, requests=(replace(first, **values), *rest))


@pytest.mark.parametrize("mode", list(ApplyMode))
@pytest.mark.parametrize("name", [f.name for f in fields(ApplyOptions) if f.name not in ("prune", "replacement")])
def test_every_option_counts(mode, name):
    plan = PLANS[mode]
    other = replace(plan.options, **{name: flip(getattr(plan.options, name))})

    assert digest(replace(plan, options=other)) != digest(plan)


@pytest.mark.parametrize("name", [f.name for f in fields(Prune)])
def test_every_part_of_pruning_counts(name):
    plan = PLANS[ApplyMode.SERVER]
    prune = replace(plan.options.prune, **{name: flip(getattr(plan.options.prune, name))})

    assert digest(replace(plan, options=replace(plan.options, prune=prune))) != digest(plan)


@pytest.mark.parametrize("name", [f.name for f in fields(Replacement)])
def test_every_part_of_the_choice_of_replacements_counts(name):
    plan = PLANS[ApplyMode.SERVER]
    chosen = replace(plan.options.replacement, **{name: flip(getattr(plan.options.replacement, name))})

    assert digest(replace(plan, options=replace(plan.options, replacement=chosen))) != digest(plan)


@pytest.mark.parametrize("mode", list(ApplyMode))
@pytest.mark.parametrize("name", ["method", "path", "content_type"])
def test_every_part_of_a_request_counts(mode, name):
    plan = PLANS[mode]

    assert digest(with_request(plan, **{name: flip(getattr(plan.changes[0].requests[0], name))})) != digest(plan)


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_every_leaf_of_a_body_and_of_a_query_counts(mode):
    plan = PLANS[mode]
    request = plan.changes[0].requests[0]
    placeholders = {placeholder.path for placeholder in request.placeholders}

    bodies = list(flip_leaves(request.body))
    same = [body for body in bodies if digest(with_request(plan, body=body, placeholders=())) == digest(plan)]
    queries = [
        query for query in flip_leaves(dict(request.query)) if digest(with_request(plan, query=query)) == digest(plan)
    ]

    assert len(bodies) > 8
    assert (same, queries) == ([], [])
    for placeholder in placeholders:
        fewer = tuple(h for h in request.placeholders if h.path != placeholder)
        assert digest(with_request(plan, placeholders=fewer)) != digest(plan)


def flip_change(change: PlannedObject) -> dict[str, dict[str, object]]:
    """One thing of a change flipped, by its name."""
    live, after = dict(change.versions.live), dict(change.versions.after)
    ref = change.ref
    return {
        "step": {"step": change.step + 1},
        "operation": {"operation": Operation.REPLACE},
        "name": {"ref": ref._replace(name="b")},
        "namespace": {"ref": ref._replace(namespace="other")},
        "group": {"ref": ref._replace(gvk=ref.gvk._replace(group="x"))},
        "version": {"ref": ref._replace(gvk=ref.gvk._replace(version="v2"))},
        "kind": {"ref": ref._replace(gvk=ref.gvk._replace(kind="Secret"))},
        "existence": {"versions": replace(change.versions, live=None)},
        "uid": {"versions": replace(change.versions, live={**live, "metadata": {**live["metadata"], "uid": "other"}})},
        "value before": {"versions": replace(change.versions, live={**live, "data": {**live["data"], "x": "9"}})},
        "value after": {"versions": replace(change.versions, after={**after, "data": {**after["data"], "x": "9"}})},
        "field that goes": {"versions": replace(change.versions, after={**after, "data": {"x": "2"}})},
        "conflict": {"conflicts": (Conflict("other", "Update", "v1", "", (), "says so"),)},
        "error": {"error": "it fails"},
        "request that is gone": {"requests": ()},
        "request that is sent twice": {"requests": (*change.requests, change.requests[0])},
    }


@pytest.mark.parametrize("mode", list(ApplyMode))
@pytest.mark.parametrize("what", list(flip_change(PLANS[ApplyMode.SERVER].changes[0])))
def test_everything_of_a_change_counts(mode, what):
    plan = PLANS[mode]

    assert digest(with_change(plan, **flip_change(plan.changes[0])[what])) != digest(plan)


def test_order_and_number_of_changes_count():
    plan = PLANS[ApplyMode.SERVER]
    (one,) = plan.changes
    other = replace(one, ref=one.ref._replace(name="b"))

    found = {digest(replace(plan, changes=c)) for c in ((one,), (one, other), (other, one), (one, one), ())}

    assert len(found) == 5


@given(st.binary(min_size=32, max_size=32), st.integers(0, 255))
def test_every_bit_of_the_key_counts(key, bit):
    flipped = bytearray(key)
    flipped[bit // 8] ^= 1 << (bit % 8)
    plan = PLANS[ApplyMode.SERVER]
    more = {"target": "t", "identity": "i"}

    assert digest_plan(plan, key=key, **more) != digest_plan(plan, key=bytes(flipped), **more)


NOISE = ("resourceVersion", "generation", "creationTimestamp", "selfLink")


@given(st.sampled_from(NOISE), st.text(max_size=8))
def test_what_changes_by_itself_does_not_count(name, text):
    plan = PLANS[ApplyMode.SERVER]
    versions = plan.changes[0].versions
    noisy = [{**side, "metadata": {**side["metadata"], name: text}} for side in (versions.live, versions.after)]
    other = replace(versions, live={**noisy[0], "status": {"x": text}}, after={**noisy[1], "status": {"x": text}})

    assert digest(with_change(plan, versions=other)) == digest(plan)
