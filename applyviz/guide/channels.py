"""What happens with each addon of a kOps channel in an example of the guide, as lines of text.

With the manifests of addons (`set FILE`), the lines of the choice are followed by the rows of the plan: what each addon
writes, what it prunes, and its record.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.channels.model import AddonPlan
from applyviz.engine.channels.reading import read_addons
from applyviz.engine.channels.sentences import list_duties, render_choice
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.guide.pages import Example, PagePart
from applyviz.guide.playground import read_text
from applyviz.guide.whole_channels import NO_CHANNEL, AddonFile, explain_addons

_NOW = "2026-01-01T00:00:00Z"


def _print_choice(plan: AddonPlan, kubernetes: str) -> str:
    duties = "".join(f" {duty}" for duty in list_duties(plan))
    named = " ".join(filter(None, (plan.addon.name, plan.addon.version, plan.addon.id)))
    return f"{named}: {plan.action}. {render_choice(plan, kubernetes)}{duties}"


def list_files(example: Example) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each manifest of an addon in an example."""
    for block in example.blocks:
        if block.part is PagePart.SET and block.words:
            yield block.words[0], block.text


def _print_row(change: PlannedObject) -> str:
    name = "/".join(filter(None, (change.ref.gvk.kind, change.ref.namespace, change.ref.name)))
    return f"{change.addon}: {f'record in {name}' if change.is_record else f'{change.operation} {name}'}"


def print_choices(example: Example) -> Iterator[str]:
    """Yield a line for each addon of the example, with all that kOps does beside applying it, then its rows.

    - Raises `ManifestError` for a block without a channel, and `RangeError` for an unreadable version of the server.
    """
    block = next(block for block in example.blocks if block.part is PagePart.CHANNEL)
    document = read_text("channel", block.text).channel
    if document is None:
        raise ManifestError(NO_CHANNEL)
    addons, problems = read_addons(document)
    files = {name: AddonFile(text, read_text("manifests", text, file=name)) for name, text in list_files(example)}
    live = read_text("cluster", example.find(PagePart.CLUSTER) or "")
    kubernetes = block.words[0] if block.words else ""
    answer = explain_addons(addons, files, live, kubernetes=kubernetes, now=_NOW)
    for plan in answer.channel.addons:
        yield _print_choice(plan, kubernetes)
    for problem in problems:
        yield f"error: {problem.reason}"
    for change in answer.changes:
        yield _print_row(change)
