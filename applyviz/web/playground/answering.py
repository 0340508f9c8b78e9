"""Calculate and render one answer of the playground; of visitors' input only in a child process.

An answer is HTML, so that the process that serves pages only inserts it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from msgspec import convert, to_builtins

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.risks.model import RiskLevel
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError
from applyviz.guide.kubectl_order import find_difference
from applyviz.web.components.badges import LEVEL_STYLES
from applyviz.web.components.notices import Notice
from applyviz.web.playground.patch_kinds import render_kinds
from applyviz.web.reviews.pane.object_addresses import AloneLinks, ObjectLinks
from applyviz.web.reviews.pane.object_content import AloneChoice, ObjectView
from applyviz.web.reviews.pane.object_notices import present_notices
from applyviz.web.reviews.pane.resolutions import show_conflicts
from applyviz.web.reviews.pane.scroll_object import present_alone

# The other views are rendered too, so that they open at once, while the answer stays quick and small.
SPARE_SECONDS = 1.5
SPARE_CHARACTERS = 1_000_000


# Answering this manifest loads the schemas and templates that most answers need.
_OURS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}
"""


def _present_kubectl(change: PlannedObject, given: PlaygroundQuery) -> Iterator[Notice]:
    """Yield the notice of what kubectl does otherwise with an object that was applied client-side."""
    found = find_difference(given)
    lines = []
    own, conflicts = ({f"{c.manager}: {render_path(c.path)}" for c in one.conflicts} for one in (change, found))
    if conflicts - own:
        named = ", ".join(sorted(conflicts))
        lines.append(
            _("kubectl applies first and would stop at a conflict (%(named)s). applyviz moves the fields first.")
            % {"named": named}
        )
    if not found.is_moving:
        lines.append(
            _(
                "kubectl only moves the fields of managers that own the last-applied annotation. No manager owns it, "
                "so they keep their fields, and the fields that you left out stay."
            )
        )
    elif found.first_apply is not None:
        lines.append(
            _(
                "kubectl sends your manifest first, which the server accepts, and then the removals, which it refuses. "
                "kubectl prints a warning, and what you left out stays."
            )
        )
    if found.keepers:
        lines.append(
            _(
                "kubectl leaves the last-applied annotation to %(managers)s, who applied it. applyviz gives it to "
                "kubectl-last-applied."
            )
            % {"managers": ", ".join(found.keepers)}
        )
    if found.moved:
        lines.append(
            _(
                "kubectl moves all fields of the managers that own the last-applied annotation (%(managers)s), and of "
                "no others: some fields have other values or owners afterwards."
            )
            % {"managers": ", ".join(found.moved)}
        )
    if found.refusal:
        lines.append(
            _("kubectl applies first, with what you left out still in place, and the server refuses that: %(refusal)s")
            % {"refusal": found.refusal}
        )
    if lines:
        yield Notice(LEVEL_STYLES[RiskLevel.INFO], _("kubectl does this differently"), lines=tuple(lines))


def render_answer(change: PlannedObject, given: PlaygroundQuery, choice: AloneChoice, base_url: str) -> str:
    """Return the object of an answer with the chosen view as HTML; `base_url` is the address of the answer."""
    options = playground.options_for(change, given)
    links = ObjectLinks(
        focus=base_url,
        history="",
        self_of=lambda view: f"{base_url}{view.value}/",
        field_of=lambda index: f"{base_url}fields/{index}/",
        risk_of=lambda _kind, _level: "",
        conflict="",
        has_comments=False,
    )
    shown = present_alone(
        change,
        choice,
        position=0,
        options=options,
        links=links,
        alone_links=AloneLinks(
            page_of=lambda view: f"{base_url}{view.value}/?", part_of=lambda view: f"{base_url}{view.value}/?"
        ),
        notices=(*present_notices(change), *_present_kubectl(change, given)),
        resolution=show_conflicts(change, you=options.field_manager),
    )
    return render_to_string("reviews/changes/_object.html", {"one": replace(shown, can_view=False)})


def _render(asked: JSONObject, kept: PlaygroundQuery, *, began: float) -> JSONObject:
    change = playground.explain(kept, now=asked["now"])
    wanted, kinds = convert(asked["choice"], AloneChoice), render_kinds(kept, now=asked["now"])
    panes = [[to_builtins(wanted), render_answer(change, kept, wanted, asked["base_url"]) + kinds]]
    for choice in map(AloneChoice, ObjectView):
        is_large = sum(len(html) for _choice, html in panes) > SPARE_CHARACTERS
        if is_large or time.process_time() - began > SPARE_SECONDS:
            break
        if choice != wanted:
            panes.append([to_builtins(choice), render_answer(change, kept, choice, asked["base_url"]) + kinds])
    gvk, paths = change.ref.gvk, [list(reason.path) for reason in change.fields]
    return {"kept": kept.to_json(), "panes": panes, "kind": [gvk.group, gvk.version, gvk.kind], "paths": paths}


def answer(asked: JSONObject) -> JSONObject:
    """Return the answer to a question: the masked input, panes as HTML and the paths of its fields, or its problems."""
    began, given = time.process_time(), PlaygroundQuery.from_json(asked["given"])
    try:
        kept = given if asked["is_masked"] else playground.without_secrets(given)
        return _render(asked, kept, began=began)
    except PlaygroundQueryError as error:
        problems = error.problems or (playground.NOT_COMPUTED,)
        return {"problems": [list(named) for named in playground.name_lines(problems, asked["given"])]}


def prepare() -> None:
    """Answer a question about a built-in manifest, so that children find schemas and templates in memory."""
    asked = {"now": "2026-01-01T00:00:00Z", "is_masked": True, "base_url": "/", "choice": to_builtins(AloneChoice())}
    _render(asked, PlaygroundQuery(_OURS), began=time.process_time())
