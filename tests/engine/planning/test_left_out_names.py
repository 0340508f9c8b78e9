"""Names of objects to leave out that a manifest writes without its namespace, as the hooks of a chart are named."""

from __future__ import annotations

from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.requests.options import ApplyOptions
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_summary import deployment


def test_name_without_namespace_matches_an_object_of_the_default_namespace_alone():
    left_out = ("apps/Deployment//web", "Deployment//web", "core/Secret//key", "apps/Deployment/other/web")
    changes = Box().plan(deployment("web")).changes

    found = summarize(changes, ApplyOptions(left_out=left_out, namespace="default"))
    elsewhere = summarize(changes, ApplyOptions(left_out=left_out, namespace="other"))

    assert found.unmatched_left_out == ("core/Secret//key", "apps/Deployment/other/web")
    assert elsewhere.unmatched_left_out == left_out
