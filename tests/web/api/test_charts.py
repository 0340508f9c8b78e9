"""Charts that a program names: rendered, hooks left out, and every refusal by its field."""

from __future__ import annotations

from base64 import b64encode

import pytest

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.models import Plan
from applyviz.sources.rendering.job import Rendered
from applyviz.workflow.plans import charts
from tests.charts import archive, folder
from tests.stories import Team
from tests.web.api.test_api import Program, body
from tests.web.reviews.test_chart_review import OUTPUT

pytestmark = pytest.mark.django_db
ARCHIVE = {"name": "shop-1.2.3.tgz", "base64": b64encode(archive()).decode()}


@pytest.fixture
def program():
    return Program(Team().alice)


@pytest.fixture
def sent(monkeypatch):
    monkeypatch.setattr(charts, "make_runner", lambda socket: lambda job, limits: Rendered(0, OUTPUT, ""))
    return {**body(), "files": [ARCHIVE], "chart": "shop-1.2.3.tgz"}


def test_program_opens_and_continues_a_review_of_a_chart(program, sent):
    made = program.post("reviews/", sent)

    first = Plan.objects.get()
    assert made.status_code == 201, made.content
    assert first.revision.provenance["chart"]["chart_file"] == "shop-1.2.3.tgz"
    assert options_from_json(first.options).left_out == ("core/ConfigMap//migrate",)
    source = program.get(f"reviews/{first.review.number}/").json()["source"]
    assert {"name": "shop", "version": "1.2.3", "source": "shop-1.2.3.tgz"}.items() <= source["chart"].items()
    assert source["commit"] is None
    Plan.objects.update(state="failed")
    files = [{"name": name, "content": data.decode()} for name, data in folder().items()]
    again = program.post(
        f"reviews/{first.review.number}/plans/", {"files": files, "chart": "shop", "chart_hooks": "apply"}
    )
    assert again.status_code == 201, again.content
    assert options_from_json(Plan.objects.get(number=2).options).left_out == ()


@pytest.mark.parametrize(
    ("values", "field", "text"),
    [
        ({"chart": "gone.tgz"}, "chart", "the chart gone.tgz is not in the upload"),
        ({"chart": "", "chart_version": "1.2.3"}, "chart", "name the chart too"),
        ({"chart": 7}, "chart", "are text"),
        ({"chart": "oci://registry.example/shop"}, "chart_version", "enter the exact version of the chart"),
        ({"chart_release": "Bad_Name"}, "chart_release", "is not usable"),
        ({"chart": ""}, "files", "is the archive of a Helm chart"),
        ({"files": [{"name": "a.tgz", "base64": "%%"}]}, "files[0]", "its content as text or as base64"),
        ({"chart_hooks": "perhaps"}, "chart_hooks", "is none of apply, leave-out"),
    ],
)
def test_refusals_name_their_field(program, sent, values, field, text):
    refused = program.post("reviews/", {**sent, **values})

    problems = refused.json()["error"]["problems"]
    assert refused.status_code == 422
    assert any(problem["field"] == field and text in problem["message"] for problem in problems), problems
    assert Plan.objects.count() == 0
