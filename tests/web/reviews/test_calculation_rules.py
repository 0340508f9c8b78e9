"""The steps of client-side apply: does each of their fields have its rule, and does a new object have its steps?"""

from __future__ import annotations

import pytest

from tests.stories import Team, config_map, secret
from tests.web.reviews.test_calculation import CLIENT, holds, show

pytestmark = pytest.mark.django_db
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  paused: true
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1", args: [a]}
"""


def test_each_field_of_a_step_has_its_rule(team: Team) -> None:
    team.apply(WEB, **CLIENT)
    changed = WEB.replace("  paused: true\n", "").replace("args: [a]}", "args: [b]}\n      - {name: log, image: log}")

    text = show(team, team.plan(changed, **CLIENT))

    deleted, _, added = text.partition("deltaMap")
    assert holds(deleted, "spec.paused Removed: no longer in the manifest")
    assert holds(added, 'spec.template.spec.containers[name="web"].args Atomic field: replaced as a whole')
    assert holds(added, 'containers[name="log"].image containers merges by name: this entry is new')
    assert not holds(added, "spec.paused Removed")


def test_new_object_has_its_steps_without_a_live_object(team: Team) -> None:
    text = show(team, team.plan(config_map(a="1"), **CLIENT))

    assert holds(text, "Calculation: Create")
    assert holds(text, "The object does not exist yet.")
    assert holds(text, "There is no live object to compare with, so there is no patch.")
    assert "The live object has no last-applied annotation" not in text


def test_rules_of_a_secret_hold_no_values(team: Team) -> None:
    team.apply(secret(password="s3cret-old", gone="s3cret-gone"), **CLIENT)

    text = show(team, team.plan(secret(password="s3cret-new"), **CLIENT))

    assert holds(text, "stringData.gone no longer in the manifest; already removed")
    for value in ("s3cret", "czNjcmV0"):
        assert value not in text
