"""What is told of a server's words beside a masked value."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.server_errors import ServerError
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject, Refusal, Versions
from applyviz.engine.planning.objects import withheld_messages
from applyviz.engine.planning.objects.live_values import NOT_SHOWN, withhold_live
from applyviz.engine.planning.objects.masking import mask_change, mask_risks
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.reach import CRD_CHANGED
from applyviz.engine.risks.texts import RETYPED_VALUE

REF = ObjectRef(GroupVersionKind("", "v1", "Secret"), "default", "login")
MANIFEST = {"kind": "Secret", "stringData": {"password": "the-password"}, "list": [{"a": 1}]}
KEY = b"k" * 32


def change(**values: object) -> PlannedObject:
    return PlannedObject(
        REF, Operation.ERROR, Versions(manifest=MANIFEST, live={"data": {"password": "bGl2ZQ=="}}), **values
    )


def test_refusal_is_told_by_code_reason_and_fields():
    body = {
        "reason": "Invalid",
        "details": {"causes": [{"field": "stringData[password]", "message": "x"}, {"field": "zz"}]},
    }

    told = withheld_messages.describe_answer(Answer(422, body), MANIFEST)

    assert told == f"the server refused it (422 Invalid) at .stringData.password; {withheld_messages.WITHHELD}"
    assert withheld_messages.describe_withheld(0, "no word") == f"the server refused it; {withheld_messages.WITHHELD}"
    assert withheld_messages.name_fields([ServerError("list[0].a", "x")], MANIFEST) == (".list[0].a",)
    assert withheld_messages.name_fields([ServerError("list[7].a", "x")], MANIFEST) == (".list",)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", ""),
        ("nothing needs to be sent", "nothing needs to be sent"),
        ("no answer to the dry run: x", f"no answer to the dry run; {withheld_messages.WITHHELD}"),
        ("webhook x: no", f"the server said why; {withheld_messages.WITHHELD}"),
    ],
)
def test_reason_keeps_our_own_part(said, told):
    assert withheld_messages.withhold_reason(said) == told


def test_words_leave_errors_warnings_and_conflicts():
    conflicts = (
        Conflict("helm", "Apply", "v1", "", ("f:data",), "ours"),
        Conflict("x", "Apply", "v1", "", (), "theirs"),
    )
    found = change(
        error="theirs",
        warnings=("theirs", "theirs"),
        conflicts=conflicts,
        server_errors=(ServerError("stringData.password", "theirs"), ServerError("", "theirs")),
        refusal=Refusal(400, "BadRequest"),
    )

    shown = mask_change(found, tag_key=KEY)

    assert "theirs" not in str(shown)
    assert "(400 BadRequest) at .stringData.password" in shown.error
    assert [c.message for c in shown.conflicts] == ["ours", 'conflict with "x"']
    assert len(shown.warnings) == len(shown.server_errors) == 1


def test_error_of_ours_is_told_where_it_is_of_the_manifest_alone():
    mine = replace(change(error="no such kind"), versions=Versions(manifest=MANIFEST))

    assert mask_change(mine, tag_key=KEY).error == "no such kind"
    assert "the-password" not in mask_change(replace(mine, error="bad the-password"), tag_key=KEY).error
    assert (
        mask_change(change(error="of both"), tag_key=KEY).error
        == f"it could not be calculated; {withheld_messages.WITHHELD}"
    )


def test_status_loses_its_messages():
    status = {"conditions": [{"type": "Ready", "message": "x"}], "n": 1}

    assert withheld_messages.without_messages(status) == {"conditions": [{"type": "Ready"}], "n": 1}


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ({"stringData": {"password": "A"}}, "; against what was last applied, password changes"),
        ({"stringData": {"password": "the-password"}, "data": 7}, "; against what was last applied, nothing changes"),
        (None, ""),
    ],
)
def test_live_values_are_hidden_whatever_they_are(before, told):
    found = replace(change(error="x"), versions=Versions(last_applied=before, manifest=MANIFEST, live={"data": {}}))

    shown = withhold_live(found)

    assert (shown.operation, shown.certainty) == (Operation.WITHHELD, Certainty.UNKNOWN)
    assert shown.certainty_reason == f"{NOT_SHOWN}{told}"
    assert shown.versions.live is None
    assert not shown.error


def test_value_of_the_file_leaves_a_risk_where_it_is_masked():
    facts = {"text": "012", "value": "10", "what": "octal"}
    risks = tuple(
        Risk(RETYPED_VALUE, RiskLevel.MEDIUM, path, facts)
        for path in (("f:stringData", "f:password"), ("f:metadata", "f:labels", "f:tier"))
    )

    hidden, kept = mask_change(change(risks=risks), tag_key=KEY).risks

    assert hidden.facts == {"text": "", "value": "", "what": "octal"}
    assert kept.facts == facts
    assert mask_risks(change(risks=risks), tag_key=KEY) == (hidden, kept)


def test_risks_that_quote_nothing_are_shown_as_they_are():
    risks = (Risk(CRD_CHANGED, RiskLevel.HIGH, facts={"name": "tills"}),)

    assert mask_risks(change(risks=risks), tag_key=KEY) == mask_change(change(risks=risks), tag_key=KEY).risks == risks
