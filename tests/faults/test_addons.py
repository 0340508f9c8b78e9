"""kill -9 of a worker around the second attempt of an addon: each object is written once, the record comes last.

The API server refuses the first write of one object. Each trial kills the worker at another point, before, between and
after the two attempts; the next worker tries the object once more, and never a third time.
"""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.objects.exchange import JSON, Request
from tests.channels import addon, channel, config, pruning
from tests.faults.checker import find_violations
from tests.faults.history import Exchange
from tests.faults.kill_trials import Stage

pytestmark = pytest.mark.faults
SYSTEM = "/api/v1/namespaces/kube-system"
MAPS = f"{SYSTEM}/configmaps"
MANIFEST = "---\n".join(config(name, addon="web") for name in ("web", "other"))
POINTS = [
    "run.again@1",
    *(
        f"{name}@{n}"
        for name in ("run.intended", "run.answered", "run.concluding", "run.concluded")
        for n in range(1, 6)
    ),
]


def _begin(stage: Stage, failures: int = 1) -> int:
    stage.api.begin()
    gone = {"metadata": {"name": "gone", "labels": {"addon": "web"}}}
    assert stage.api.act(Request("POST", MAPS, {}, JSON, gone)).is_ok
    entry = {**addon("web", MANIFEST, id="a", prune=pruning()), "manifest": "1.yaml"}
    files = channel({"web": MANIFEST}, [entry])
    run: int = stage.forge.call("stage", texts=list(files.values()), field_manager="kops")
    stage.listen()
    left = [failures]

    def choose(seen: Exchange, number: int) -> str:
        if not seen.is_write or not seen.place.endswith("/web") or not left[0]:
            return ""
        left[0] -= 1
        return "403"

    stage.api.choose = choose
    return run


def _judge(stage: Stage, run: int, about: Any) -> None:
    history = stage.tell(run)
    assert [str(violation) for violation in find_violations(history)] == [], about
    (told,) = history.runs
    assert told.state == "applied", (about, told.error)
    assert sum(one.is_write and one.place == f"{MAPS}/web" for one in history.exchanges) == 2, about
    # A refusal that no worker recorded counts for none: the next one sends the request again in the first attempt.
    (web,) = [item for item in told.items if item.key[3] == "web"]
    assert web.addon_attempt == (2 if any(entry.status == 403 for entry in web.journal) else 1), about
    effective = [(one.method, one.place) for one in history.exchanges if one.is_effective]
    assert sorted(place for _, place in effective[:2]) == [f"{MAPS}/other", f"{MAPS}/web"], about
    assert effective[2:] == [("DELETE", f"{MAPS}/gone"), ("PATCH", SYSTEM)], about


@pytest.mark.core(1)
@pytest.mark.parametrize("point", POINTS)
def test_next_worker_tries_an_addon_again_once_wherever_one_is_killed(stage, point):
    run = _begin(stage)
    stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint=point))
    stage.forge.call("finish", run_id=run)

    _judge(stage, run, point)


def test_addon_that_failed_twice_is_not_tried_a_third_time_by_the_next_worker(stage):
    run = _begin(stage, failures=9)
    stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint="run.finishing@1"))
    stage.forge.call("finish", run_id=run)

    history = stage.tell(run)
    assert [str(violation) for violation in find_violations(history)] == []
    (told,) = history.runs
    writes = [one for one in history.exchanges if one.is_write and one.place == f"{MAPS}/web"]
    assert (told.state, len(writes)) == ("failed", 2)
    assert stage.api.find(f"{MAPS}/gone") is not None
    assert not stage.api.find(SYSTEM)["metadata"].get("annotations")
