"""The playground answers about a channel as a review of the same files on the same cluster does."""

from __future__ import annotations

import json

import pytest
import yaml

from applyviz.engine.channels.sentences import list_duties, render_choice
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.schema.builtin import RELEASE
from applyviz.guide.given_channels import ChannelQuery, join_files
from applyviz.guide.whole_channels import explain_channel
from applyviz.records.enums import RunState
from applyviz.workflow.plans import planner
from tests.channels import RECORDS, pruning, simple

pytestmark = pytest.mark.django_db
CHANNEL = "bootstrap-channel.yaml"
CONFIGS = "/api/v1/namespaces/kube-system/configmaps"
NOW = "2026-01-01T00:00:00Z"


def make_plan(team, files):
    review = team.review(files, field_manager="kops")
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def ask(team, files):
    """Ask the playground about a channel on what the sandbox holds."""
    live = [team.live(RECORDS), *team.live(CONFIGS)["items"]]
    texts = [{"apiVersion": "v1", "kind": "ConfigMap", **one} for one in live[1:]]
    cluster = yaml.safe_dump_all([live[0], *texts])
    manifests = join_files((name, text) for name, text in files.items() if name != CHANNEL)
    return explain_channel(ChannelQuery(files[CHANNEL], manifests, cluster, f"{RELEASE}+applyviz-sandbox"), now=NOW)


def read_choices(plan):
    return [
        (one.addon.name, one.action, one.reason, render_choice(one, "").split(CHANNEL)[0], tuple(list_duties(one)))
        for one in plan.addons
    ]


def test_choice_and_rows_are_those_of_a_review(team):
    assert team.work(team.start(make_plan(team, simple()))).state == RunState.APPLIED
    files = simple("2", dns={"needsPKI": True}, web={"prune": pruning()})
    made = make_plan(team, files)

    answer = ask(team, files)

    assert read_choices(answer.channel) == read_choices(options_from_json(made.options).channel)
    rows = made.changes.order_by("position").values_list("operation", "kind", "name", "document__addon")
    found = [(c.operation.value, c.ref.gvk.kind, c.ref.name, c.addon) for c in answer.changes]
    assert sorted(found) == sorted(rows)
    assert {row[0] for row in found} == {"create", "update", "prune"}
    records = [c.versions.after for c in answer.changes if c.is_record]
    notes = json.loads(records[-1]["metadata"]["annotations"]["addons.k8s.io/web"])
    assert notes["manifestHash"] == answer.channel.find("web").manifest_hash
