"""Metadata that kubectl refuses, in its words; null and unknown fields are fine."""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.manifests.metadata import find_type_problem

CANNOT = "json: cannot unmarshal"


@pytest.mark.parametrize(
    ("meta", "path", "reason"),
    [
        ([], (), f"{CANNOT} array into Go struct field metadataOnlyObject.metadata of type v1.ObjectMeta"),
        ({"uid": 3}, ("uid",), f"{CANNOT} number into Go struct field ObjectMeta.metadata.uid of type types.UID"),
        (
            {"finalizers": ["a", True]},
            ("finalizers", 1),
            f"{CANNOT} bool into Go struct field ObjectMeta.metadata.finalizers of type string",
        ),
        (
            {"generation": 1.5},
            ("generation",),
            f"{CANNOT} number into Go struct field ObjectMeta.metadata.generation of type int64",
        ),
        ({"creationTimestamp": 3}, ("creationTimestamp",), f"{CANNOT} number into a time"),
        (
            {"creationTimestamp": "2026-13-45T00:00:00Z"},
            ("creationTimestamp",),
            'parsing time "2026-13-45T00:00:00Z" as RFC 3339: not a time',
        ),
        ({"deletionTimestamp": "x"}, ("deletionTimestamp",), 'parsing time "x" as RFC 3339: not a time'),
        (
            {"ownerReferences": ["a"]},
            ("ownerReferences", 0),
            f"{CANNOT} string into Go struct field ObjectMeta.metadata.ownerReferences of type v1.OwnerReference",
        ),
        (
            {"ownerReferences": [{"controller": "yes"}]},
            ("ownerReferences", 0, "controller"),
            f"{CANNOT} string into Go struct field OwnerReference.metadata.ownerReferences.controller of type bool",
        ),
        (
            {"managedFields": [{"time": "2026-01-01T00:00:00Z"}, {"manager": []}]},
            ("managedFields", 1, "manager"),
            f"{CANNOT} array into Go struct field ManagedFieldsEntry.metadata.managedFields.manager of type string",
        ),
        (
            {"labels": ["a"]},
            ("labels",),
            f"{CANNOT} array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            {"labels": {"a": None, "b": {}}},
            ("labels", "b"),
            f"{CANNOT} object into Go struct field ObjectMeta.metadata.labels of type string",
        ),
    ],
)
def test_mistyped_metadata_is_refused(meta: Any, path: tuple[object, ...], reason: str) -> None:
    problem = find_type_problem(meta)

    assert problem is not None
    assert (problem.path, problem.reason) == (
        path,
        reason,
    )


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        {"name": None, "labels": None, "finalizers": [None], "foo": 3},
        {"creationTimestamp": "2026-01-01T00:00:00.5+01:00", "generation": 3},
        {"ownerReferences": [{"controller": True, "uid": "x"}, None]},
    ],
)
def test_other_metadata_is_fine(meta: Any) -> None:
    assert find_type_problem(meta) is None
