"""What happens with each addon of a kOps channel in an example of the guide, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.channels.choosing import choose
from applyviz.engine.channels.reading import read_addons, take_channel_apart
from applyviz.engine.channels.sentences import list_duties, render_choice
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.values import get_at
from applyviz.guide.pages import Example, PagePart


def print_choices(example: Example) -> Iterator[str]:
    """Yield a line for each addon of the example, and one for all that kOps does beside applying it.

    - Raises `ManifestError` for a block without a channel, and `RangeError` for an unreadable version of the server.
    """
    block = next(block for block in example.blocks if block.part is PagePart.CHANNEL)
    channel = take_channel_apart(parse_manifests(block.text.encode(), "channel")).channel
    if channel is None:
        raise ManifestError("expected a document of kind Addons without apiVersion")
    kubernetes = block.words[0] if block.words else ""
    live = parse_manifests((example.find(PagePart.CLUSTER) or "").encode(), "cluster").documents
    annotations = {d.ref.name: get_at(d.obj, ("metadata", "annotations")) or {} for d in live}
    addons, problems = read_addons(channel)
    for plan in choose(addons, kubernetes=kubernetes, annotations=annotations, faults={}):
        duties = "".join(f" {duty}" for duty in list_duties(plan))
        named = " ".join(filter(None, (plan.addon.name, plan.addon.version, plan.addon.id)))
        yield f"{named}: {plan.action}. {render_choice(plan, kubernetes)}{duties}"
    for problem in problems:
        yield f"error: {problem.reason}"
