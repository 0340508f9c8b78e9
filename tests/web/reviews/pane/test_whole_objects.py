"""What the pane says of objects that change as a whole, not at all, or only in who owns their fields."""

import pytest

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Certainty, Operation, Versions
from applyviz.engine.planning.objects.change_builder import REJECTED
from applyviz.web.reviews.pane.fields import FieldFilter
from applyviz.web.reviews.pane.object_addresses import AloneLinks
from applyviz.web.reviews.pane.object_content import ObjectView, explain_no_rows
from applyviz.web.reviews.pane.resolutions import NOTHING
from applyviz.web.reviews.pane.scroll_object import _link_views
from tests.web.builders import build_change

CHANGE = replace(build_change(), fields=(), conflicts=())
DEFAULTED = FieldReason(fields("metadata", "labels", "a"), FieldOperation.DEFAULTED, Reason.SERVER_DEFAULT)

RECORDED = FieldReason(fields("metadata", "annotations", LAST_APPLIED), FieldOperation.SET, Reason.BOOKKEEPING)
MOVED = FieldReason(
    fields("data", "a"), FieldOperation.UNCHANGED, Reason.MANIFEST_SETS, owners_after=(Owner("applyviz", "Update"),)
)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (replace(CHANGE, operation=Operation.PRUNE), "The object is deleted."),
        (
            replace(CHANGE, operation=Operation.UPDATE),
            "Only field ownership changes; no values change.",
        ),
        (
            replace(CHANGE, operation=Operation.UPDATE, fields=(RECORDED,)),
            "Only last-applied changes; no other values change.",
        ),
        (
            replace(CHANGE, operation=Operation.UPDATE, fields=(RECORDED, MOVED)),
            "Only last-applied and field ownership change; no other values change.",
        ),
        (
            replace(CHANGE, operation=Operation.UPDATE, fields=(DEFAULTED,)),
            "The manifest changes no values; the server fills in defaults.",
        ),
        (
            replace(CHANGE, operation=Operation.CREATE, versions=Versions(manifest={"kind": "ConfigMap"})),
            "The object is created. The manifest sets only its name.",
        ),
        (
            replace(CHANGE, operation=Operation.ERROR, certainty=Certainty.NONE, certainty_reason=REJECTED),
            "The API server rejects this object, so none of it changes.",
        ),
    ],
)
def test_changes_without_a_field_are_explained(change, text):
    assert str(explain_no_rows(change, FieldFilter.CHANGES)) == text


@pytest.mark.parametrize("operation", [Operation.PRUNE, Operation.ERROR])
def test_what_changes_as_a_whole_or_not_at_all_counts_no_fields(operation):
    def count(change):
        return _link_views(change, ObjectView.FIELDS, AloneLinks(str, str), NOTHING)[0].count

    assert count(build_change()) > 0
    assert count(replace(build_change(), operation=operation)) is None
