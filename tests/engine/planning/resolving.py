"""Resolutions of conflicts and releases of fields that others keep, followed like all other advice (`advice.py`)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, Request
from applyviz.engine.planning.conflicts.blocked_removals import Keeper
from applyviz.engine.planning.conflicts.file_edits import EditedText
from applyviz.engine.planning.conflicts.resolutions import (
    FieldResolutions,
    ResolutionChoice,
    ResolutionKind,
    ResolutionOption,
)
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from tests.engine.planning.advice import CLIENT, config_map, follows, path_of, text_of
from tests.engine.planning.cluster import Box


def _dispute(
    box: Box, name: str, resolution: ResolutionKind
) -> tuple[dict[str, Any], str, PlannedObject, FieldResolutions, ResolutionOption]:
    """A conflict over `data.mode`, and what a resolution says it will give."""
    box.apply(text_of(config_map(name, mode="theirs", rest="1")), ApplyOptions(field_manager="other"))
    wanted = config_map(name, mode="ours", own="2")
    text = text_of(wanted)
    change = box.plan_one(text, sources={"app.yaml": EditedText(text, text)})
    (field,) = change.open_fields
    return wanted, text, change, field, next(w for w in field.options if w.resolution is resolution)


def _follow_resolution(box: Box, name: str, resolution: ResolutionKind) -> None:
    wanted, text, change, field, said = _dispute(box, name, resolution)
    assert change.operation is Operation.BLOCKED
    decision = {change.ref.key: tuple(ResolutionChoice(field.path, m, resolution) for m in field.managers)}
    plan = box.plan(text, decisions=decision)
    box.run(plan)

    live = box.get(path_of(wanted))
    assert live["data"] == {"mode": said.value, "own": "2", "rest": "1"}
    entries = [e for e in live["metadata"]["managedFields"] if "f:mode" in e["fieldsV1"].get("f:data", {})]
    assert sorted(e["manager"] for e in entries) == sorted(o.manager for o in said.owners)
    # The edit goes home: the file with it meets no conflict and changes nothing any more.
    edited = dict(wanted["data"])
    if said.edit is not None:
        edited = {k: v for k, v in edited.items() if k != "mode"} if said.edit.is_removed else edited
        edited |= {} if said.edit.is_removed else {"mode": str(said.edit.after)}
    again = box.plan_one(text_of({**wanted, "data": edited}))
    assert (again.operation, again.conflicts) == (Operation.UNCHANGED, ())


@follows(ResolutionKind.OVERWRITE)
def overwrite(box: Box) -> None:
    _follow_resolution(box, "overwritten", ResolutionKind.OVERWRITE)


@follows(ResolutionKind.GIVE_UP)
def give_up(box: Box) -> None:
    _follow_resolution(box, "given-up", ResolutionKind.GIVE_UP)


@follows(ResolutionKind.SHARE)
def share(box: Box) -> None:
    _follow_resolution(box, "shared", ResolutionKind.SHARE)


def _run_command(box: Box, command: str) -> None:
    """Send what `kubectl patch --type=json` sends."""
    words = shlex.split(command)
    assert words[:3] == ["kubectl", "patch", "configmaps"]
    path = f"/api/v1/namespaces/{words[words.index('--namespace') + 1]}/configmaps/{words[3]}"
    body = json.loads(words[words.index("--patch") + 1])
    assert box.handle(Request("PATCH", path, {"fieldManager": "kubectl-patch"}, JSON_PATCH, body)).is_ok


def _follow_release(box: Box, name: str, keep: Callable[[dict[str, Any]], None], keeper: Keeper) -> None:
    """We applied `mode`, `keep` makes somebody else keep it, and we drop it."""
    wanted, without = config_map(name, mode="1", rest="2"), config_map(name, rest="2")
    box.apply(text_of(wanted))
    keep(wanted)
    change = box.plan_one(text_of(without))
    assert any(h.kind is REMOVAL_WILL_NOT_HAPPEN for h in change.risks)
    (release,) = change.blocked_removals
    (holder,) = release.holders
    assert (holder.keeper, release.is_gone) == (keeper, True)
    assert release.returns is (keeper is not Keeper.BY_HAND)

    _run_command(box, release.command)
    box.apply(text_of(without))

    assert box.get(path_of(wanted))["data"] == {"rest": "2"}
    assert box.plan_one(text_of(without)).operation is Operation.UNCHANGED


def _updates(box: Box, manager: str) -> Callable[[dict[str, Any]], None]:
    """Somebody changes the field and changes it back to what we apply: both own it then."""

    def update(wanted: dict[str, Any]) -> None:
        for value in ("other", "1"):
            patch = {"data": {"mode": value}}
            query = {"fieldManager": manager}
            assert box.handle(Request("PATCH", path_of(wanted), query, MERGE_PATCH, patch)).is_ok
        box.apply(text_of(wanted))

    return update


@follows(Keeper.BY_HAND)
def release_by_hand(box: Box) -> None:
    _follow_release(box, "kept-by-hand", _updates(box, "kubectl-edit"), Keeper.BY_HAND)


@follows(Keeper.CONTROLLER)
def release_controller(box: Box) -> None:
    _follow_release(box, "kept-by-controller", _updates(box, "config-controller"), Keeper.CONTROLLER)


@follows(Keeper.TOOL)
def release_tool(box: Box) -> None:
    _follow_release(box, "kept-by-tool", _updates(box, "helm"), Keeper.TOOL)


@follows(Keeper.APPLIER)
def release_applier(box: Box) -> None:
    def apply(wanted: dict[str, Any]) -> None:
        box.apply(text_of({**wanted, "data": {"mode": "1"}}), ApplyOptions(field_manager="shop"))

    _follow_release(box, "kept-by-applier", apply, Keeper.APPLIER)
    # The other resolution: its own manifest without the field, then ours.
    wanted, without = config_map("let-go", mode="1", rest="2"), config_map("let-go", rest="2")
    box.apply(text_of(wanted))
    apply(wanted)
    box.apply(text_of({**wanted, "data": {}}), ApplyOptions(field_manager="shop"))
    box.apply(text_of(without))
    assert box.get(path_of(wanted))["data"] == {"rest": "2"}


@follows(Keeper.CLIENT_SIDE)
def release_client_side(box: Box) -> None:
    sharing = ApplyOptions(takes_client_side=False)
    wanted, without = config_map("kept-client-side", mode="1", rest="2"), config_map("kept-client-side", rest="2")
    box.apply(text_of({**wanted, "data": {"mode": "1"}}), CLIENT)
    box.apply(text_of(wanted), sharing)
    change = box.plan_one(text_of(without), sharing)
    (release,) = change.blocked_removals
    assert [h.keeper for h in release.holders] == [Keeper.CLIENT_SIDE]
    assert release.holders[0].command.startswith("kubectl apply ")

    box.apply(text_of({**wanted, "data": {}}), CLIENT)  # takes it out of its manifest
    box.apply(text_of(without), sharing)

    assert box.get(path_of(wanted))["data"] == {"rest": "2"}
