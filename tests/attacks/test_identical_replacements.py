"""A Secret that can only be replaced, pruned or left out, read by people who may not read it: a guess tells nothing.

The same two worlds as in `test_identical_pages`, where the live Secret is immutable: a wrong guess is refused by the
server and can only be replaced, a right one changes nothing. An approver must acknowledge what an approval requires,
and an export holds every entry of the chain: they are no readers here (decision 0032).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
import time_machine
import yaml

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.requests.options import ApplyMode, Replacement
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.workflow.audit import trail
from applyviz.workflow.live import scans
from applyviz.workflow.notifications import events
from tests.attacks.answers import Answers
from tests.attacks.test_identical_pages import MODES, RIGHT, WRONG, World, compare, prepare, tell
from tests.builders import open_dangers
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
MOST_RISKS = 3
CHOSEN = Replacement(kinds=("core/Secret",))


def immutable(value: str) -> str:
    """An immutable Secret as YAML."""
    return yaml.safe_dump({**yaml.safe_load(secret(password=value)), "immutable": True})


def note_drift(team: Team) -> None:
    """Record an entry about the Secret that is hidden from the readers."""
    ref = ObjectRef(GroupVersionKind("", "v1", "Secret"), "default", "login")
    about = trail.AuditSubject(cluster=team.cluster.slug, ref=ref)
    trail.record(AuditAction.LIVE_DRIFTED, by=None, about=about, detail={})


def replace_it(team: Team, value: str, mode: ApplyMode) -> World:
    """A plan without and one with the choice to replace, and a run of the latter."""
    world = World(team)
    texts = (immutable(value), config_map(b="2"))
    world.plans += [
        team.plan(*texts, mode=mode, takes_over=True),
        team.plan(*texts, mode=mode, takes_over=True, replacement=CHOSEN),
        team.plan(*texts, mode=mode, takes_over=True, replacement=CHOSEN),
    ]
    open_dangers(world.plans[2], team.bob)
    told = AuditEntry.objects.filter(action=AuditAction.RISK_ACKNOWLEDGED, review=world.plans[2].review.number)
    for _ in range(MOST_RISKS - told.count()):
        note_drift(team)  # other entries that are not shown: the numbers of entries are the same in both worlds
    world.runs.append(team.work(team.start(world.plans[2])))
    assert world.runs[0].state == "applied", world.runs[0].error
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
    events.send_pending()
    return world


def choose_readers(found: Answers) -> Answers:
    """Return the answers for people who neither approve nor export."""
    is_export = re.compile(r"/history/(evidence/)?export/").search
    shown = ("viewer", "auditor", "mapped-author")
    return {where: lines for where, lines in found.items() if where[0] in shown and not is_export(where[1])}


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_nobody_learns_from_a_replacement_whether_the_value_is_live(monkeypatch, mode: ApplyMode) -> None:
    with time_machine.travel(datetime(2026, 11, 21, 10, tzinfo=UTC), tick=False):
        team, readers, token = prepare(monkeypatch, mode)
        assert team.edit("/api/v1/namespaces/default/secrets/login", {"immutable": True}).is_ok

        right, wrong = (tell(team, value, mode, readers, token, replace_it) for value in (RIGHT, WRONG))

    compare(choose_readers(right), choose_readers(wrong))
