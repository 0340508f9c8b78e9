"""P4: every object ends in one outcome that is true, and success is never claimed without a look at what is there.

Threats H6 (conflicts of both kinds), H7 (what the server made of it), and the answers of a server that fails.
"""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.objects.exchange import MERGE_PATCH, Answer, Request
from applyviz.engine.requests.options import ApplyMode
from tests.model.world import MAPS
from tests.promises.conftest import Scene
from tests.stories import config_map

pytestmark = [pytest.mark.promises, pytest.mark.django_db]
FINAL = {"applied", "deleted", "applied-live-differs", "unchanged", "refused", "stale", "failed", "unknown"}


def _answer_writes(scene: Scene, monkeypatch, *answers: Answer, acts: bool) -> None:
    """The server answers writes so, one after the other; whether it carries them out, `acts` says."""
    send, left = scene.world.send, list(answers)

    def answered(request: Request) -> Answer:
        if not request.is_write or request.is_dry_run or not left:
            return send(request)
        if acts:
            send(request)
            scene.world.exchanges[-1].is_delivered = False
        return left.pop(0)

    monkeypatch.setattr(scene.world, "send", answered)


def _status(code: int, reason: str = "", **details: object) -> Answer:
    body = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": "no", "details": details}
    return Answer(code, body)


@pytest.mark.core(2)
@pytest.mark.parametrize("fault", ["lose answer", "lose request", "refuse connection"])
@pytest.mark.parametrize("nth", [1, 2])
def test_lost_message_is_resolved_by_reading(scene: Scene, fault, nth):
    run = scene.start(scene.change())
    scene.world.fault = lambda request, number: fault if number == nth else ""
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, scene.effective) == ("applied", 2)


@pytest.mark.core(2)
@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 406, 413, 415, 422])
def test_refusal_is_told_as_one(scene: Scene, monkeypatch, code):
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    _answer_writes(scene, monkeypatch, _status(code), acts=False)
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.items[0].outcome, scene.effective) == ("stale" if code == 404 else "refused", 0)
    assert told.items[0].detail


@pytest.mark.core(3)
@pytest.mark.parametrize("code", [408, 500, 502, 503, 504])
@pytest.mark.parametrize("acts", [True, False], ids=["after the effect", "before the effect"])
def test_failing_server_is_asked_what_became_of_it(scene: Scene, monkeypatch, code, acts):
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    _answer_writes(scene, monkeypatch, _status(code), acts=acts)
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.items[0].outcome, scene.effective) == ("applied", 1)


def _show_another(body: Any) -> Any:
    return {**body, "metadata": {**body["metadata"], "name": "somebody-elses"}}


ODD: dict[str, Any] = {
    "another object": _show_another,
    "another kind": lambda body: {**body, "kind": "Secret"},
    "another uid": lambda body: {**body, "metadata": {**body["metadata"], "uid": "another"}},
    "nothing": lambda body: None,
    "a list": lambda body: [body],
    "a Status": lambda body: {"kind": "Status", "apiVersion": "v1", "status": "Success"},
}


@pytest.mark.core(3)
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("acts", [True, False], ids=["carried out", "not carried out"])
def test_success_that_shows_something_else_is_no_success(scene: Scene, monkeypatch, odd, acts):
    """What a server says it did counts only when it shows the object; else live is read."""
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    told = ODD[odd](scene.world.find(f"{MAPS}/there"))
    _answer_writes(scene, monkeypatch, Answer(200, told), acts=acts)
    scene.work(run)

    (found,) = scene.judge(run)
    assert (found.items[0].outcome, scene.effective) == ("applied", 1)


def test_what_nobody_can_know_is_unknown_with_a_reason(scene: Scene):
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    scene.world.fault = lambda request, number: scene.world.edit("there", {"data": {"x": "3"}}) or "lose request"
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.items[0].outcome, bool(told.items[0].detail), scene.effective) == ("unknown", True, 0)


def test_field_conflict_is_refused_and_version_conflict_is_tried_again(scene: Scene, monkeypatch):
    causes = [{"reason": "FieldManagerConflict", "field": ".data.x", "message": 'conflict with "somebody"'}]
    for answer, outcome in (
        (_status(409, "Conflict", causes=causes), "refused"),
        (_status(409, "Conflict"), "applied"),
    ):
        scene.world.begin_anew()
        run = scene.start(scene.change(config_map("there", x="2", w="1")))
        with monkeypatch.context() as patched:
            _answer_writes(scene, patched, answer, acts=False)
            scene.work(run)
        (told,) = scene.judge(run)
        assert told.items[0].outcome == outcome


_OTHER_OWNERS = {
    False: "1 field has other owners than approved",
    True: "2 fields have other owners than approved",
}


def test_other_result_than_promised_is_told_with_its_fields(scene: Scene, monkeypatch):
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    send = scene.world.send

    def webhook(request: Request) -> Answer:
        if request.is_write and not request.is_dry_run:
            changed = {**request.body, "data": {**request.body["data"], "x": "by a webhook"}}
            request_as_admitted = type(request)(
                request.method, request.path, request.query, request.content_type, changed
            )
            scene.world.sandbox.handle(request_as_admitted, user="applyviz")
            return Answer(200, scene.world.find(request.path))
        return send(request)

    monkeypatch.setattr(scene.world, "send", webhook)
    scene.work(run)

    result = run.results.get()
    assert (result.outcome, [d["path"] for d in result.differences]) == ("applied-live-differs", [".data.x"])


@pytest.mark.parametrize("is_client", [False, True], ids=["server-side", "client-side"])
def test_other_owners_than_promised_are_told_with_their_fields(scene: Scene, monkeypatch, is_client):
    """The values are there, but the server keeps another owner of one of them: that is not what was approved."""
    scene.give("there", x="1", w="1")
    plan = scene.plan(
        config_map("there", x="2", w="1"),
        mode=ApplyMode.CLIENT if is_client else ApplyMode.SERVER,
        takes_client_side=False,
    )
    run = scene.start(plan)
    send = scene.world.send

    def add_owner(request: Request) -> Answer:
        answer = send(request)
        if not request.is_write or request.is_dry_run:
            return answer
        entries = answer.body["metadata"]["managedFields"]
        kept = [{**one, "fieldsV1": {**one["fieldsV1"], "f:data": {"f:w": {}}}} for one in entries]
        return Answer(200, {**answer.body, "metadata": {**answer.body["metadata"], "managedFields": kept}})

    monkeypatch.setattr(scene.world, "send", add_owner)
    scene.work(run)

    result = run.results.get()
    assert (result.outcome, result.detail) == ("applied-live-differs", _OTHER_OWNERS[is_client])
    assert result.differences[0] == {
        "path": ".data.x" if not is_client else ".data.w",
        "promised": "owners: applyviz (Apply)",
        "got": "owners: applyviz (Apply), applyviz (Update)" if is_client else "owners: none",
    }


def test_every_object_of_a_run_that_stops_has_an_outcome(scene: Scene, monkeypatch):
    texts = [config_map(f"n{n}", a="1") for n in range(4)]
    run = scene.start(scene.change(*texts))
    scene.world.fault = lambda request, number: "refuse connection" if request.path.endswith("n2") else ""
    scene.work(run)

    (told,) = scene.judge(run)
    outcomes = [item.outcome for item in told.items]
    assert told.state == "failed"
    assert set(outcomes) <= FINAL | {"not-attempted"}
    assert outcomes.count("failed") == 1


def test_somebody_elses_edit_after_the_write_does_not_change_what_came_of_it(scene: Scene):
    run = scene.work(scene.start(scene.change(config_map("there", x="2", w="1"))))
    scene.world.act(Request("PATCH", f"{MAPS}/there", {}, MERGE_PATCH, {"data": {"x": "later"}}))

    (told,) = scene.judge(run)
    assert told.items[0].outcome == "applied"
