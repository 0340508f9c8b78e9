"""The rules of one policy, and the strictest of several: frozen values, read from and written to plain JSON.

Left out on purpose: exceptions. A plan that must run without the required approvals needs an emergency apply
(`workflow/runs/emergency_apply.py`), which has its own record.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.digest.serialize import from_json, to_json
from applyviz.engine.risks.model import KINDS, RiskKind
from applyviz.workflow.policies.owners import OwnerRule
from applyviz.workflow.policies.windows import Freeze, Windows

BUILT_IN = "built-in@1"
MANY_OBJECTS = 50
POLICY_RISKS = tuple(sorted((kind for kind in KINDS.values() if kind.policy_order), key=lambda kind: kind.policy_order))
"""The risks for which a policy may require more approvals, in the order of its form."""
AT_ONCE = 16


class OnFailure(StrEnum):
    """The behavior of a run after an object could not be applied."""

    STOP = "stop"
    CONTINUE = "continue"


class RiskDemand(Struct, frozen=True):
    """The total approvals for a plan with a risk, and their team ("": anyone who may approve)."""

    risk: RiskKind
    approvals: int
    team: str = ""


class Rules(Struct, frozen=True):
    """The content of one policy.

    - `asking_teams`: the teams whose members may request (none: every author); `approvals` come from members of
      `approving_team` ("": anyone who may approve).
    - `owners`: the teams whose approvals changes of kinds and files need (`owners.py`).
    - `refuses_sole`: approvals by people whose role rests on a grant of the sole administrator do not count.
    - `allows_unknown_editors`: a plan of a followed branch can be approved although no account matches somebody who
      wrote, committed or pushed it; a high risk names them.
    - `allows_tokens`: a plan with a high risk can be started by an API token; otherwise a person starts it.
    - `approval_hours` 0: approvals do not expire; `windows` empty: always open.
    - `concurrency`: objects of one step that are written in parallel; `rollout_seconds`: the rollout deadline.
    - `replaced_kinds` (`group/Kind`) and the objects with `replace_annotation: "true"` are replaced where the server
      refuses their change as immutable; the replacement is a high risk like any other.
    - `kept_kinds` (`group/Kind`, `*` for every kind) are never deleted, pruned or replaced (`kept_kinds.py`).
    - `most_deletions`: the objects that one plan may delete, prune or replace; `most_pruned_percent`: the share of the
      live objects of a set that prune may delete (both 0: no limit); deleting an object of `critical_kinds`
      (`group/Kind`) is a high risk (`deletions.py`).
    """

    asking_teams: tuple[str, ...] = ()
    approvals: int = 1
    approving_team: str = ""
    for_risks: tuple[RiskDemand, ...] = ()
    owners: tuple[OwnerRule, ...] = ()
    many_objects: int = MANY_OBJECTS
    windows: Windows = ()
    freezes: tuple[Freeze, ...] = ()
    approval_hours: int = 0
    refuses_sole: bool = False
    allows_unknown_editors: bool = False
    allows_tokens: bool = False
    may_run_estimated: bool = True
    may_run_unknown: bool = False
    on_failure: OnFailure = OnFailure.STOP
    concurrency: int = AT_ONCE
    waits_for_rollout: bool = False
    rollout_seconds: int = 600
    replaced_kinds: tuple[str, ...] = ()
    replace_annotation: str = ""
    kept_kinds: tuple[str, ...] = ()
    most_deletions: int = 0
    most_pruned_percent: int = 0
    critical_kinds: tuple[str, ...] = ()


def rules_to_json(rules: Rules) -> dict[str, JSONValue]:
    """Write rules as a version stores them; what is at its default is left out."""
    return dict(to_json(rules))


def rules_from_json(data: JSONObject) -> Rules:
    """Read rules from their stored form."""
    return from_json(Rules, dict(data))


class Demand(Struct, frozen=True):
    """Required approvals and their reason; `team` "" counts everyone who may approve."""

    approvals: int
    team: str = ""
    because: str = ""


class PolicyRules(Struct, frozen=True):
    """The strictest of all policies that apply to a plan.

    - `version` names each of them with its version, `BUILT_IN` when there is none; `digest` is that of their content.
      Both are part of the plan digest. `forged` names those that were not published by this installation, `missing`
      the versions that the audit log records as in force and that are not there.
    - `asking`: the requester must be in one team of each group. `demands`: all must be met, one approval may meet
      several. `risk_demands` are added when the plan has that risk, `owners` when it writes what they own.
    - `windows`: one of each group must be open. `rollout_deadline`: the longest of all.
    - `replaced_kinds`, `replace_annotations`: of all of them, because they only choose what is proposed.
    """

    version: str = BUILT_IN
    digest: str = ""
    forged: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    asking: tuple[tuple[str, ...], ...] = ()
    demands: tuple[Demand, ...] = (Demand(1),)
    risk_demands: tuple[RiskDemand, ...] = ()
    owners: tuple[OwnerRule, ...] = ()
    many_objects: int = MANY_OBJECTS
    windows: tuple[Windows, ...] = ()
    freezes: tuple[Freeze, ...] = ()
    approval_lasts: timedelta | None = None
    refuses_sole: bool = False
    allows_unknown_editors: bool = False
    allows_tokens: bool = False
    may_run_estimated: bool = True
    may_run_unknown: bool = False
    on_failure: OnFailure = OnFailure.STOP
    concurrency: int = AT_ONCE
    waits_for_rollout: bool = False
    rollout_deadline: timedelta = timedelta(seconds=600)
    replaced_kinds: tuple[str, ...] = ()
    replace_annotations: tuple[str, ...] = ()


def keep_strictest(demands: Iterable[Demand]) -> tuple[Demand, ...]:
    """Return the greatest of several demands on one team; drop those without approvals."""
    kept: dict[str, Demand] = {}
    for demand in demands:
        if demand.approvals > 0 and (demand.team not in kept or demand.approvals > kept[demand.team].approvals):
            kept[demand.team] = demand
    return tuple(kept[team] for team in sorted(kept))


def find_strictest(found: Iterable[tuple[str, int, Rules]]) -> PolicyRules:
    """Combine policies (slug, number, rules): where they differ, the strictest wins."""
    chosen = sorted(found, key=lambda one: one[0])
    rules = [rule for _, _, rule in chosen]
    lasting = [r.approval_hours for r in rules if r.approval_hours]
    waiting = [r.rollout_seconds for r in rules if r.waits_for_rollout]
    stops = any(r.on_failure is OnFailure.STOP for r in rules)
    return PolicyRules(
        version=" ".join(f"{slug}@{number}" for slug, number, _ in chosen),
        names=tuple(slug for slug, _, _ in chosen),
        asking=tuple(r.asking_teams for r in rules if r.asking_teams),
        demands=keep_strictest(Demand(r.approvals, r.approving_team, f"policy {slug}") for slug, _, r in chosen),
        risk_demands=tuple(dict.fromkeys(d for r in rules for d in r.for_risks)),
        owners=tuple(dict.fromkeys(owner for r in rules for owner in r.owners)),
        many_objects=min(r.many_objects for r in rules),
        windows=tuple(dict.fromkeys(r.windows for r in rules if r.windows)),
        freezes=tuple(dict.fromkeys(f for r in rules for f in r.freezes)),
        approval_lasts=timedelta(hours=min(lasting)) if lasting else None,
        refuses_sole=any(r.refuses_sole for r in rules),
        allows_unknown_editors=all(r.allows_unknown_editors for r in rules),
        allows_tokens=all(r.allows_tokens for r in rules),
        may_run_estimated=all(r.may_run_estimated for r in rules),
        may_run_unknown=all(r.may_run_unknown for r in rules),
        on_failure=OnFailure.STOP if stops else OnFailure.CONTINUE,
        concurrency=min(r.concurrency for r in rules),
        waits_for_rollout=bool(waiting),
        rollout_deadline=timedelta(seconds=max(waiting or [600])),
        replaced_kinds=tuple(dict.fromkeys(kind for r in rules for kind in r.replaced_kinds)),
        replace_annotations=tuple(dict.fromkeys(r.replace_annotation for r in rules if r.replace_annotation)),
    )
