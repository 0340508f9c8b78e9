"""What rows say in words: a section that gets fields is not removed, and a conflict with a scaled count says so."""

from __future__ import annotations

import re

import pytest

from applyviz.conformance.inputs import CERTAINTIES, ApplyInput, Planned, plan_all, read_documents
from applyviz.engine.requests.options import ApplyMode
from applyviz.web.api.responses import present_fields
from applyviz.web.reviews.pane.fields import FieldFilter, select_reasons
from applyviz.web.reviews.pane.flat_rows import present_flat_rows
from applyviz.web.reviews.pane.resolutions import list_conflicts
from applyviz.web.templatetags.field_rows import change_summary

EMPTY = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      securityContext: {}
      containers: [{name: web, image: 'web:1', resources: {}}]
"""
SPELLINGS = ("128Mi", "134217728")
FILLED = EMPTY.replace("securityContext: {}", "securityContext: {runAsUser: 5}").replace(
    "resources: {}", "resources: {limits: {cpu: 500m}}"
)
SCALED = EMPTY.replace(
    "namespace: shop}",
    """namespace: shop, managedFields: [
  {manager: MANAGER, operation: Update, apiVersion: apps/v1, subresource: scale, fieldsType: FieldsV1,
   fieldsV1: {'f:spec': {'f:replicas': {}}}},
  {manager: kubectl, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1,
   fieldsV1: {'f:spec': {'f:selector': {}}}}]}""",
)


def plan(given: ApplyInput, mode: ApplyMode, certainty: str = CERTAINTIES[0]) -> Planned:
    return next(one for one in plan_all(given) if (one.mode, one.certainty) == (mode, certainty))


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_empty_section_that_gets_fields_is_filled_and_not_removed(mode):
    planned = plan(ApplyInput("x", read_documents(FILLED), before=((read_documents(EMPTY), mode),)), mode)

    told = {row["path"]: row["operation"] for row in present_fields(planned.change, planned.options)}
    assert told == {
        ".spec.template.spec.securityContext": "filled",
        ".spec.template.spec.securityContext.runAsUser": "set",
        '.spec.template.spec.containers[name="web"].resources': "filled",
        '.spec.template.spec.containers[name="web"].resources.limits.cpu': "set",
    }
    assert select_reasons(planned.change, FieldFilter.REMOVED) == []


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_amount_that_is_stored_in_another_spelling_has_both_texts(mode):
    before, wanted = (EMPTY.replace("resources: {}", f"resources: {{limits: {{memory: {m}}}}}") for m in SPELLINGS)
    planned = plan(ApplyInput("x", read_documents(wanted), before=((read_documents(before), mode),)), mode)
    change = planned.change

    chosen = select_reasons(change, FieldFilter.CHANGES)
    (flat,) = present_flat_rows(change, chosen, options=planned.options, url_of=str)
    page = " ".join(re.sub("<[^>]*>", " ", change_summary(flat)).split())
    assert flat.row.path.endswith(".resources.limits.memory")
    assert "128Mi → becomes &quot;134217728&quot;" in page


@pytest.mark.parametrize("certainty", CERTAINTIES)
@pytest.mark.parametrize("manager", ["kubectl", "kube-controller-manager"])
def test_conflict_with_a_count_that_was_scaled_says_so(manager, certainty):
    live = tuple(document.obj for document in read_documents(SCALED.replace("MANAGER", manager)))
    given = ApplyInput("x", read_documents(EMPTY.replace("replicas: 2", "replicas: 3")), live)
    planned = plan(given, ApplyMode.SERVER, certainty)

    (row,) = list_conflicts(planned.change, you=planned.options.field_manager).values()
    assert row.managers == f"{manager} (scale)"
    assert all(f"{manager} (scale)" in str(card.about) for card in row.cards)
    (told,) = (r["why"] for r in present_fields(planned.change, planned.options) if r["path"] == ".spec.replicas")
    assert told == f"conflict: {manager} (scale) owns it with a different value"
