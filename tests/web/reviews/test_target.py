"""The cluster and the namespaces that a plan changes, in its header, on its approve page and in what is kept of it."""

import io
import zipfile

import pytest
from django.urls import reverse

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions
from tests.web import builders, reading, rows

U, S, D, M = Operation.UPDATE, Operation.UNCHANGED, Operation.DELETE, Operation.NOT_FOUND


def make(alice, *objects, state="complete"):
    """A plan for which `default` was entered, with objects in other namespaces."""
    changes = [
        replace(
            builders.build_change(),
            ref=ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), namespace, f"o{n}"),
            operation=operation,
            conflicts=(),
        )
        for n, (namespace, operation) in enumerate(objects)
    ]
    return rows.make_plan(alice, changes, options=ApplyOptions(field_manager="ci", namespace="default"), state=state)


def address(name, plan):
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number])


def read_target(browser, plan):
    page = reading.read(browser, address("show-changes", plan))
    (about,) = (one for one in reading.find_all(page, "p") if reading.attribute(one, "class") == "target")
    return reading.text_of(reading.find_all(about, "b")[0])


@pytest.mark.parametrize(
    ("objects", "target"),
    [
        ([("shop", U), ("shop", U)], "Shop / shop"),
        ([("shop", U), ("", U), ("cart", D), ("base", S), ("lost", M)], "Shop / cart, shop"),
        ([("shop", S), ("cart", S)], "Shop / cart, shop"),
        ([("", U)], "Shop"),
        ([(f"team-{n}", U) for n in range(4)], "Shop / 4 namespaces"),
    ],
    ids=["entered", "changed", "unchanged", "cluster", "many"],
)
def test_header_names_the_namespaces_of_what_changes(as_bob, alice, objects, target):
    assert read_target(as_bob, make(alice, *objects)) == target


def test_header_names_the_namespace_that_was_entered_until_objects_are_known(as_bob, alice):
    assert read_target(as_bob, make(alice, state="planning")) == "Shop / default"


def test_approval_record_and_archive_name_what_the_header_names(as_bob, alice):
    plan = make(alice, ("shop", U), ("base", S))

    approval = as_bob.get(address("confirm-plan", plan)).content.decode()
    record = as_bob.get(address("show-record", plan)).content.decode()
    kept = zipfile.ZipFile(io.BytesIO(as_bob.get(address("keep-requests", plan)).content))
    readme = next(kept.read(name).decode() for name in kept.namelist() if name.endswith("README.txt"))

    assert ["/ default" in text for text in (approval, record, readme)] == [False, False, False]
    assert "1 change to Shop / shop may run" in " ".join(approval.split())
    assert ("Shop / shop" in record, "\nShop / shop · " in readme) == (True, True)
