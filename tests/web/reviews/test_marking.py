"""Objects of the list that are marked as viewed together: a group, a filtered list, all; none with a high risk."""

from __future__ import annotations

import re

import pytest

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.records.models import ViewedObject
from tests.web import builders, rows
from tests.web.reviews.test_changes import update, url

CALM = ["calm", "new-0", "new-1", "new-2"]


@pytest.fixture
def grouped(alice):
    """Three new objects, an update with a high risk, and one without."""
    risk = Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS)
    new = [replace(update(f"new-{n}"), operation=Operation.CREATE) for n in range(3)]
    return rows.make_plan(alice, [*new, replace(update("risky"), risks=(risk,)), update("calm")])


@pytest.mark.parametrize(
    ("form", "marked", "query"),
    [
        ({"shown": "on", "group": "create"}, ["new-0", "new-1", "new-2"], ""),
        ({"shown": "on", "q": "new-1"}, ["new-1"], "?q=new-1"),
        ({"shown": "on", "layout": "tree", "group": "shop/Deployment"}, CALM, "?layout=tree"),
        ({"shown": "on"}, CALM, ""),
        ({"shown": "on", "group": "nothing"}, [], ""),
    ],
)  # fmt: skip
def test_objects_of_the_list_are_marked_together_but_none_with_a_high_risk(as_bob, grouped, form, marked, query):
    answer = as_bob.post(url(grouped, "mark-viewed"), form)

    assert answer.headers["Location"] == url(grouped, query=query)
    assert sorted(key.rpartition("/")[2] for key in ViewedObject.objects.values_list("object_key", flat=True)) == marked


def test_list_offers_to_mark_what_it_shows(as_bob, grouped):
    pages = [as_bob.get(url(grouped, query=query)).content.decode() for query in ("", "?q=new-1", "?q=risky")]
    as_bob.post(url(grouped, "mark-viewed"), {"shown": "on"})
    after = as_bob.get(url(grouped))

    offers = [re.findall(r"Mark (\d+) as viewed", page) for page in pages]
    assert offers == [["3", "1"], ["1"], []]
    assert "Mark" not in after.content.decode()
    assert "1 object with a high risk is not marked as viewed: view it below." in after.content.decode()
