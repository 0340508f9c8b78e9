"""The lines beside a risk: the decisive ones are there, and what is left out is counted and linked."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects import paths
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.engine.risks.reach import CLUSTER_SCOPED, RBAC_CHANGED
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pages import risk_list
from applyviz.web.reviews.pane.diff_lines import DifferingLine
from applyviz.workflow.plans import changes
from tests.web import builders, reading, rows

ROLE = ObjectRef(GroupVersionKind("rbac.authorization.k8s.io", "v1", "Role"), "shop", "deployer")


def make_role(*rules: list[str]) -> dict[str, object]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "deployer", "namespace": "shop"},
        "rules": [{"apiGroups": ["apps"], "resources": [f"r{n}"], "verbs": verbs} for n, verbs in enumerate(rules)],
    }


def show_risks(browser, author, live, after, kind=RBAC_CHANGED):
    risk = Risk(kind, RiskLevel.HIGH, (), {"kind": "Role", "name": "deployer"})
    change = replace(
        builders.build_change(), ref=ROLE, operation=Operation.UPDATE, conflicts=(), open_fields=(), fields=(),
        versions=Versions(None, after, live, after, after), risks=(risk,),
    )  # fmt: skip
    plan = rows.make_plan(author, [change])
    page = reading.read(browser, reverse("reviews:show-risks", args=[plan.review.number, plan.number]))
    return plan, page


def lines_of(page) -> list[str]:
    (table,) = reading.find_all(page, "table")
    return [reading.text_of(row) for row in reading.find_all(table, "tr")]


def test_every_permission_that_is_granted_is_shown(as_bob, alice):
    live = make_role(*[["get", f"verb-{n}"] for n in range(10)])
    after = make_role(*[["get", "patch", f"other-{n}"] for n in range(10)])

    plan, page = show_risks(as_bob, alice, live, after)

    lines = lines_of(page)
    assert [sum(line.endswith("- patch") for line in lines), sum("other-" in line for line in lines)] == [10, 10]
    (link,) = [a for a in reading.find_all(page, "a") if "in the diff" in reading.text_of(a)]
    assert reading.text_of(link) == "and 10 more lines in the diff"
    assert reading.attribute(link, "href") == link_alone(plan, 0, "diff")


@pytest.mark.parametrize("count", [20, 300])
def test_all_lines_that_are_left_out_are_counted(as_bob, alice, count):
    live = make_role(["get"])
    after = make_role(["get", *(f"verb-{n}" for n in range(count))])

    _plan, page = show_risks(as_bob, alice, live, after, CLUSTER_SCOPED)

    assert len(lines_of(page)) == 12
    assert f"and {count - 12} more lines in the diff" in reading.text_of(page)


def test_only_lines_that_are_shown_are_presented(as_bob, alice, monkeypatch):
    presented = []
    present = DifferingLine.present
    monkeypatch.setattr(DifferingLine, "present", lambda line: presented.append(line) or present(line))
    live, after = make_role(["get"]), make_role(["get", *(f"verb-{n}" for n in range(300))])

    _plan, page = show_risks(as_bob, alice, live, after, CLUSTER_SCOPED)

    assert len(presented) == len(lines_of(page)) == 12


def test_forced_fields_are_those_that_another_manager_loses(as_bob, alice):
    you, other = builders.YOU, builders.SETTER
    fields = [
        FieldReason(builders.LABEL, FieldOperation.CHANGED, Reason.MANIFEST_SETS, "", (you,), (you,)),
        FieldReason(builders.STRATEGY, FieldOperation.CHANGED, Reason.MANIFEST_SETS, "", (you,), (you,)),
        FieldReason(builders.IMAGE, FieldOperation.CHANGED, Reason.MANIFEST_SETS, "", (other,), (you,)),
    ]
    base = builders.build_change()
    change = replace(
        base, operation=Operation.UPDATE, conflicts=(), open_fields=(), fields=tuple(fields),
        versions=replace(base.versions, after=base.versions.manifest),
        risks=(Risk(FORCED, RiskLevel.HIGH, facts={"owners": "kubectl-set"}),),
    )  # fmt: skip
    plan = rows.make_plan(alice, [change])

    page = reading.read(as_bob, reverse("reviews:show-risks", args=[plan.review.number, plan.number]))

    assert [line[2:].replace(" ", "") for line in lines_of(page)] == [
        "image:registry.example/frontend:hotfix-3",
        "image:registry.example/frontend:v0.10.1",
    ]


def test_lines_of_a_value_that_is_cut_are_counted_as_at_least(as_bob, alice):
    old = "\n".join(f"line {n}" for n in range(400))
    new = "\n".join(f"other {n}" for n in range(400))
    path = paths.fields("data", "text")
    reason = FieldReason(path, FieldOperation.CHANGED, Reason.MANIFEST_SETS, "", (builders.YOU,), (builders.YOU,))
    live, after = ({"data": {"text": text}} for text in (old, new))
    change = replace(
        builders.build_change(), operation=Operation.UPDATE, conflicts=(), open_fields=(), risks=(), fields=(reason,),
        versions=Versions(None, after, live, after, after),
    )  # fmt: skip
    plan = rows.make_plan(alice, [change])

    page = reading.read(as_bob, reverse("reviews:show-changes", args=[plan.review.number, plan.number]))

    text = reading.text_of(page)
    assert "more lines: see the diff" in text
    assert re.search(r"at least (\+\d+ )?.\d+ lines", text)


def test_object_counts_as_viewed_only_where_the_list_has_every_line_of_its_high_risks(as_bob, alice):
    few = make_role(["get"]), make_role(["get", "patch"])
    many = make_role(*[["get", f"verb-{n}"] for n in range(10)]), make_role(*[["list", f"o-{n}"] for n in range(10)])

    _plan, whole = show_risks(as_bob, alice, *few)
    _plan, cut = show_risks(as_bob, alice, *many)

    watched = [
        [e for e in reading.find_all(page, "div") if reading.attribute(e, "data-watched")] for page in (whole, cut)
    ]
    assert [len(found) for found in watched] == [1, 0]


def test_only_a_forced_change_is_read_with_its_fields(as_bob, alice, monkeypatch):
    """A plan of a thousand objects has hundreds of risks, and the fields of an object take as long as its versions."""
    read = []
    monkeypatch.setattr(risk_list, "read_masked", lambda row: read.append(row.name) or changes.read_masked(row))
    of_kind = {
        kind: replace(
            builders.build_change(),
            ref=ROLE._replace(name=name),
            operation=Operation.UPDATE,
            conflicts=(),
            open_fields=(),
            versions=Versions(None, make_role(["get"]), make_role([]), make_role(["get"]), make_role(["get"])),
            risks=(Risk(kind, RiskLevel.HIGH, (), {"kind": "Role", "name": name, "owners": "x"}),),
        )
        for kind, name in ((RBAC_CHANGED, "deployer"), (FORCED, "taken"))
    }
    plan = rows.make_plan(alice, list(of_kind.values()))

    page = reading.read(as_bob, reverse("reviews:show-risks", args=[plan.review.number, plan.number]))

    assert read == ["taken"]
    assert any(line.endswith("- get") for line in lines_of(page))
