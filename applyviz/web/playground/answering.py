"""Calculate and render one answer of the playground; of visitors' input only in a child process.

An answer is HTML, so that the process that serves pages only inserts it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.risks.model import RiskLevel
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError
from applyviz.guide.kubectl_order import find_difference
from applyviz.web.components.badges import LEVEL_STYLES
from applyviz.web.components.notices import Notice
from applyviz.web.playground.patch_kinds import render_kinds
from applyviz.web.reviews.pane.fields import FieldFilter
from applyviz.web.reviews.pane.object_pane import PaneChoice, Tab, present_pane
from applyviz.web.reviews.pane.resolutions import show_conflicts

# The other tabs are rendered too, so that they open at once, while the answer stays quick and small.
SPARE_SECONDS = 1.5
SPARE_CHARACTERS = 1_000_000
_CHOSEN = tuple(f.name for f in fields(PaneChoice) if f.name.startswith("is_") or f.name == "has_server_managed")
_TEXTS = ("version", "start", "field", "find")


def choice_to_json(choice: PaneChoice) -> JSONObject:
    """Return what an address chooses as plain JSON values."""
    chosen = {name: getattr(choice, name) for name in (*_CHOSEN, *_TEXTS)}
    return {"tab": choice.tab.value, "show": choice.show.value, **chosen}


def choice_from_json(data: Mapping[str, Any]) -> PaneChoice:
    """Return a choice from the JSON of `choice_to_json`."""
    return PaneChoice(**{**data, "tab": Tab(data["tab"]), "show": FieldFilter(data["show"])})


def _present_kubectl(change: PlannedObject, given: PlaygroundQuery) -> Iterator[Notice]:
    """Yield the notice of what kubectl does otherwise with an object that was applied client-side."""
    found = find_difference(given)
    lines = []
    conflicts = [] if change.conflicts else found.conflicts
    if conflicts:
        named = ", ".join(sorted({f"{c.manager}: {render_path(c.path)}" for c in conflicts}))
        lines.append(
            _("kubectl applies first and would stop at a conflict (%(named)s). applyviz moves the fields first.")
            % {"named": named}
        )
    if lines:
        yield Notice(LEVEL_STYLES[RiskLevel.INFO], _("kubectl does this differently"), lines=tuple(lines))


def render_answer(change: PlannedObject, given: PlaygroundQuery, choice: PaneChoice, base_url: str) -> str:
    """Return the pane of an answer with the chosen tab as HTML; `base_url` is the address of the answer."""
    options = playground.options_for(change, given)
    pane = present_pane(
        change,
        options=options,
        choice=choice,
        url_of=lambda tab: f"{base_url}{tab.value}/",
        field_url_of=lambda index: f"{base_url}fields/{index}/",
        resolution=show_conflicts(change, you=options.field_manager),
    )
    pane = replace(pane, notices=(*pane.notices, *_present_kubectl(change, given)))
    return render_to_string("reviews/_pane.html", {"pane": pane})


def _render(asked: JSONObject, kept: PlaygroundQuery, *, began: float) -> JSONObject:
    change = playground.explain(kept, now=asked["now"])
    wanted, kinds = choice_from_json(asked["choice"]), render_kinds(kept, now=asked["now"])
    panes = [[choice_to_json(wanted), render_answer(change, kept, wanted, asked["base_url"]) + kinds]]
    for choice in (PaneChoice(tab=tab) for tab in Tab):
        is_large = sum(len(html) for _choice, html in panes) > SPARE_CHARACTERS
        if is_large or time.process_time() - began > SPARE_SECONDS:
            break
        if choice != wanted:
            panes.append([choice_to_json(choice), render_answer(change, kept, choice, asked["base_url"]) + kinds])
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
        return {"problems": [[problem.part, problem.reason] for problem in problems]}
