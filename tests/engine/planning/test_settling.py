"""What becomes of an object's conflicts where there are very many, none, or some that cannot be read?"""

from __future__ import annotations

from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import clone
from applyviz.engine.planning.conflicts.file_edits import EditedText
from applyviz.engine.planning.conflicts.resolutions import ResolutionChoice, ResolutionKind
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.objects.previews import preview
from applyviz.engine.requests.options import ApplyOptions
from tests.engine.planning.cluster import Box

OTHER = ApplyOptions(field_manager="other")
PATH = "/api/v1/namespaces/default/configmaps/a"
KEY = ("", "ConfigMap", "default", "a")


def config(value: str, count: int = 1) -> str:
    data = "".join(f"  k{n:02}: {value}\n" for n in range(count))
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{data}"


def refuse_for(manager: str, field: str) -> Answer:
    cause = {"reason": "FieldManagerConflict", "message": f'conflict with "{manager}"', "field": field}
    return Answer(409, {"kind": "Status", "reason": "Conflict", "message": "conflict", "details": {"causes": [cause]}})


def tell(field):
    """The ways of one field without the times of its owners, which depend on what else is written."""
    options = [
        (w.resolution, w.value, w.is_present, [o.manager for o in w.owners], w.edit, w.is_possible)
        for w in field.options
    ]
    return field.path, field.managers, options


def test_very_many_conflicts_have_the_ways_that_few_have():
    box = Box()
    box.apply(config("theirs", 41), OTHER)

    change = box.plan_one(config("ours", 41))

    assert (change.operation, len(change.open_fields)) == (Operation.BLOCKED, 41)
    assert [one.path for one in change.open_fields] == [("f:data", f"f:k{n:02}") for n in range(41)]
    few = box.plan_one(config("ours", 40))
    assert list(map(tell, change.open_fields[:40])) == list(map(tell, few.open_fields))
    assert [(w.resolution, w.value, [o.manager for o in w.owners]) for w in change.open_fields[40].options] == [
        (ResolutionKind.OVERWRITE, "ours", ["applyviz"]),
        (ResolutionKind.GIVE_UP, "theirs", ["other"]),
        (ResolutionKind.SHARE, "theirs", ["applyviz", "other"]),
    ]


def test_very_many_conflicts_say_where_their_edits_are():
    box = Box()
    box.apply(config("theirs", 201), OTHER)
    text = config("ours", 201)
    sources = {"m.yaml": EditedText(text)}
    field = ("f:data", "f:k07")

    change = box.plan_one(text, sources=sources)
    left = {KEY: tuple(ResolutionChoice(one.path, "other", ResolutionKind.GIVE_UP) for one in change.open_fields)}
    decided = box.plan_one(text, sources=sources, decisions=left)

    take_over, leave, _keep = next(one for one in change.open_fields if one.path == field).options
    assert (take_over.patch, leave.patch and leave.patch.text) == (None, "")
    assert leave.patch is not None
    assert leave.patch.reason == (
        "More than 40 fields of this object are disputed: the edit is offered for all of them at once, when they are "
        "decided. Remove data.k07."
    )
    assert decided.patch is not None
    assert decided.patch.reason == (
        "201 edits are too many for one patch: take the request body as the new text of the object."
    )


def test_conflicts_over_ownership_that_cannot_be_read_stay_open_without_ways():
    box = Box()
    box.apply(config("theirs"), OTHER)
    live = clone(box.get(PATH))
    live["metadata"]["managedFields"][0]["operation"] = "Merge"
    answers = {"GET": Answer(200, live), "PATCH": refuse_for("other", ".data.k00")}
    box.intercept = lambda request: answers[request.method] if request.path == PATH else None
    decisions = {KEY: (ResolutionChoice(("f:data", "f:k00"), "other", ResolutionKind.GIVE_UP),)}

    change = box.plan_one(config("ours"), decisions=decisions)

    assert (change.operation, change.open_fields, change.answers) == (Operation.BLOCKED, (), ())
    assert [c.manager for c in change.conflicts] == ["other"]


def test_object_that_nothing_is_sent_for_has_an_empty_preview():
    change = Box().plan_one(config("ours").replace("{name: a}", "{name: a, namespace: nowhere}"))

    shown = preview(change, {("f:data", "f:k00"): ResolutionKind.GIVE_UP})

    assert (change.operation, change.requests) == (Operation.ERROR, ())
    assert (shown.fields, shown.still_open, shown.request) == ((), (), None)
    assert (shown.is_edited, shown.takes_over) == (False, False)


def test_plan_without_notes_does_the_same_and_tells_no_reasons():
    box = Box()
    box.apply(config("one"))

    noted, bare = (box.plan_one(config("two"), has_notes=has_notes) for has_notes in (True, False))

    assert noted.fields
    versions = replace(noted.versions, merged=None)  # the server confirms the result, so nothing else is calculated
    assert bare == replace(noted, fields=(), risks=(), blocked_removals=(), versions=versions)
