"""The cost of a page grows with the number of its objects, findings, members and comments, not with its square."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest
from django.urls import reverse
from django.utils import timezone

from applyviz.engine.objects.exchange import Request
from applyviz.engine.requests.options import Prune, PruneMode
from applyviz.records.enums import FindingSort
from applyviz.records.models import LiveFinding
from applyviz.workflow.approvals import comments
from applyviz.workflow.approvals.commented_lines import CommentedLines, LineText
from tests.attacks.test_slopes import LEAST_SECONDS, MOST_EXPONENT, TIMES, TRIES, Reader, find_exponent
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
SMALL = 60
ENV = "{{name: {0}, valueFrom: {{configMapKeyRef: {{name: {0}, key: a}}}}}}"


def write_shop(count: int) -> tuple[str, ...]:
    """Return a Deployment that reads so many ConfigMaps."""
    names = [f"settings-{n}" for n in range(count)]
    env = ", ".join(ENV.format(name) for name in names)
    spec = f"{{containers: [{{name: a, image: b, env: [{env}]}}]}}"
    template = f"{{metadata: {{labels: {{a: b}}}}, spec: {spec}}}"
    shop = f"spec: {{selector: {{matchLabels: {{a: b}}}}, template: {template}}}"
    return (
        f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: shop}}, {shop}}}",
        *(config_map(name, a="1") for name in names),
    )


def show_graph(team: Team, count: int) -> list[str]:
    plan = team.plan("\n---\n".join(write_shop(count)))
    url = reverse("reviews:show-graph", args=[plan.review.number, plan.number])
    return [f"{url}?{query}" for query in ("fold=0", f"fold=0&find=settings-{count - 1}", "find=nothing", "view=table")]


def show_lines(team: Team, count: int) -> list[str]:
    plan = team.plan(config_map("shop", **{f"key{n}": "a" for n in range(count)}))
    row = plan.changes.get()
    for number in range(count):
        lines = CommentedLines(LineText.DIFF_AFTER, number + 1, number + 1)
        comments.add_comment(plan, by=team.bob, content=comments.check_content("why?", row, lines=lines))
    of_plan = [plan.review.number, plan.number]
    lines_url = reverse("reviews:line-comments", args=[*of_plan, row.position])
    return [
        f"{lines_url}?text={LineText.DIFF_AFTER}&first=1&last=1",
        reverse("reviews:show-changes", args=of_plan),
        reverse("reviews:show-activity", args=of_plan),
    ]


def show_findings(team: Team, count: int) -> list[str]:
    now = timezone.now()
    facts = {"cluster": team.cluster, "group": "", "kind": "ConfigMap", "namespace": "default", "first_seen": now}
    field = {"path": ".data.a", "promised": "1", "live": "2"}
    LiveFinding.objects.all().delete()
    LiveFinding.objects.bulk_create(
        LiveFinding(
            **facts,
            name=f"settings-{n}",
            key=f"{sort}-{n}",
            sort=sort,
            fields=fields,
            manager="kubectl-edit",
            last_seen=now,
        )
        for sort, fields in ((FindingSort.DRIFTED, [field]), (FindingSort.CHANGED, [".data.a"]))
        for n in range(count)
    )
    slug = team.cluster.slug
    return [
        *(reverse("clusters:list-findings", args=[slug, sort.value]) for sort in FindingSort),
        reverse("clusters:show-cluster", args=[slug]),
    ]


def show_members(team: Team, count: int) -> list[str]:
    sets = {"prune": Prune(PruneMode.APPLYSET, applyset=f"configmaps/set-{count}")}
    run = team.apply("\n---\n".join(config_map(f"member-{count}-{n}", a="1") for n in range(count)), **sets)
    assert run.state == "applied"
    return [reverse("clusters:show-applysets", args=[team.cluster.slug])]


def adopt(team: Team, count: int) -> list[str]:
    for number in range(count):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"own-{number}"}, "data": {"a": "1"}}
        team.send(Request("POST", "/api/v1/namespaces/default/configmaps", body=body))
    data = {f"key{n}": json.dumps({"a": n}) for n in range(20 * count)}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"large-{count}"}, "data": data}
    assert team.send(Request("POST", "/api/v1/namespaces/default/configmaps", body=body)).is_ok
    slug = team.cluster.slug
    return [
        reverse("clusters:show-objects", args=[slug]),
        reverse("clusters:adopt-object", args=[slug, "core", "ConfigMap", "default", f"large-{count}"]),
    ]


@pytest.mark.core(2)
@pytest.mark.parametrize("play", [show_graph, show_lines, show_findings, show_members, adopt])
def test_cost_of_a_list_grows_in_proportion(monkeypatch, play: Callable[[Team, int], list[str]]) -> None:
    team = Team().wire_up(monkeypatch)
    reader = Reader(team)

    def time_least(address: str, most: float = 0) -> float:
        """The least processor time of several answers, or the first that is less than `most`."""
        least = math.inf
        for _ in range(TRIES):
            least = min(least, reader.time("", address))
            if least < most:
                break
        return least

    small = [time_least(address) for address in play(team, SMALL)]
    large = play(team, SMALL * TIMES)
    taken = [
        time_least(address, max(before, LEAST_SECONDS) * TIMES**MOST_EXPONENT)
        for address, before in zip(large, small, strict=True)
    ]
    found = {address: find_exponent(*both) for address, *both in zip(large, small, taken, strict=True)}

    assert max(taken) > LEAST_SECONDS
    assert {address: one for address, one in found.items() if one >= MOST_EXPONENT} == {}
