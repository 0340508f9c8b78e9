"""What happens with each addon of a kOps channel in an example of the guide, as lines of text.

With the manifests of addons (`set FILE`), the lines of the choice are followed by the rows of the plan: what each addon
writes, what it prunes, and its record.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.channels.choosing import choose
from applyviz.engine.channels.model import KOPS_MANAGER, AddonPlan, ChannelPlan
from applyviz.engine.channels.reading import read_addons, take_channel_apart
from applyviz.engine.channels.sentences import list_duties, render_choice
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.guide.cluster import answer_request, read_cluster
from applyviz.guide.pages import Example, PagePart
from applyviz.sandbox.api.estimates import with_estimates

_FILE = "channel"
_NOW = "2026-01-01T00:00:00Z"


def _print_choice(plan: AddonPlan, kubernetes: str) -> str:
    duties = "".join(f" {duty}" for duty in list_duties(plan))
    named = " ".join(filter(None, (plan.addon.name, plan.addon.version, plan.addon.id)))
    return f"{named}: {plan.action}. {render_choice(plan, kubernetes)}{duties}"


def _list_documents(example: Example, channel: ChannelPlan) -> Iterator[ManifestDocument]:
    files = {addon.file for addon in channel.applied}
    for block in example.blocks:
        if block.part is PagePart.SET and block.words[0] in files:
            yield from parse_manifests(block.text.encode(), block.words[0]).documents


def _print_rows(example: Example, channel: ChannelPlan) -> Iterator[str]:
    """Yield a line for each row of the plan of the chosen addons."""
    cluster = read_cluster(example.find(PagePart.CLUSTER) or "")
    planner = SetPlanner(
        tuple(_list_documents(example, channel)),
        options=ApplyOptions(field_manager=KOPS_MANAGER, namespace="kube-system", channel=channel),
        context=with_estimates(PlanningContext(bundled(), _NOW, can_dry_run=False)),
    )
    for _change in drive(planner, lambda requests: [answer_request(request, cluster) for request in requests]):
        pass
    for change in planner.plan().changes:
        name = "/".join(filter(None, (change.ref.gvk.kind, change.ref.namespace, change.ref.name)))
        yield f"{change.addon}: {f'record in {name}' if change.is_record else f'{change.operation} {name}'}"


def print_choices(example: Example) -> Iterator[str]:
    """Yield a line for each addon of the example, with all that kOps does beside applying it, then its rows.

    - Raises `ManifestError` for a block without a channel, and `RangeError` for an unreadable version of the server.
    """
    block = next(block for block in example.blocks if block.part is PagePart.CHANNEL)
    document = take_channel_apart(parse_manifests(block.text.encode(), _FILE)).channel
    if document is None:
        raise ManifestError("expected a document of kind Addons without apiVersion")
    kubernetes = block.words[0] if block.words else ""
    live = parse_manifests((example.find(PagePart.CLUSTER) or "").encode(), "cluster").documents
    annotations = {
        d.ref.name: get_at(d.obj, ("metadata", "annotations")) or {} for d in live if d.ref.gvk.kind == "Namespace"
    }
    addons, problems = read_addons(document)
    chosen = choose(addons, kubernetes=kubernetes, annotations=annotations, faults={})
    for plan in chosen:
        yield _print_choice(plan, kubernetes)
    for problem in problems:
        yield f"error: {problem.reason}"
    if example.find(PagePart.SET) is not None:
        yield from _print_rows(example, ChannelPlan(_FILE, _FILE, kubernetes, chosen))
