"""The rules of a run, frozen when it starts, so that later edits of the policy do not change it."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from msgspec import Struct
from msgspec.structs import asdict

from applyviz.engine.objects.values import JSONValue
from applyviz.workflow.policies import BUILT_IN, OnFailure, PolicyRules


class RunRules(Struct, frozen=True):
    """Failure behavior, parallelism and waits of a run.

    - `carries_on`: after a failure, independent objects continue; else nothing more is started.
    - `at_once`: the number of objects of one step in progress at the same time.
    - `waits_for_rollout`: a step is done when its objects are ready, at most `rollout_seconds` after each write.
    """

    carries_on: bool = False
    at_once: int = 16
    waits_for_rollout: bool = False
    rollout_seconds: int = 600

    def to_json(self) -> dict[str, JSONValue]:
        """Return the rules as a run stores them."""
        return asdict(self)

    @classmethod
    def of_policy(cls, policy: PolicyRules, *, has_addons: bool = False) -> RunRules:
        """Return the rules of a policy, within the parallelism that this installation allows.

        - `has_addons`: the plan is one of a kOps channel. As with kOps, an addon that fails does not stop the others,
          unless a policy says that a run stops.
        """
        is_free = has_addons and policy.version == BUILT_IN
        return cls(
            carries_on=is_free or policy.on_failure is OnFailure.CONTINUE,
            at_once=max(1, min(policy.concurrency, settings.APPLYVIZ_RUN_PARALLEL)),
            waits_for_rollout=policy.waits_for_rollout,
            rollout_seconds=int(policy.rollout_deadline.total_seconds()),
        )

    @classmethod
    def list_unknown(cls, data: Mapping[str, JSONValue]) -> list[str]:
        """Return stored rules that this version does not know."""
        return sorted(data.keys() - asdict(cls()).keys())

    @classmethod
    def from_json(cls, data: Mapping[str, JSONValue]) -> RunRules:
        """Read stored rules; missing ones have the installation's defaults."""
        default = cls(at_once=settings.APPLYVIZ_RUN_PARALLEL)
        known = {name: data[name] for name in asdict(default) if name in data}
        return cls(**{**asdict(default), **known})
