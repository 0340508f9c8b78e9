"""kOps channels in the sources of plans: the choice of addons on one cluster, and the documents of the chosen ones.

Planning makes the choice and stores it with the options of the plan, so that approvals cover it. A run uses the stored
choice: the records that it writes would change a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from applyviz.clusters.facts import VERSION
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.channels.choosing import choose, find_faults
from applyviz.engine.channels.model import KOPS_MANAGER, Addon, AddonAction, AddonPlan, ChannelPlan
from applyviz.engine.channels.reading import list_manifests, read_addons
from applyviz.engine.channels.sentences import NODE_LABELS, render_choice
from applyviz.engine.manifests.documents import ManifestDocument, ParsedFile
from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, get_at
from applyviz.engine.planning.model.plan import PlanProblem
from applyviz.engine.requests.calls import read_namespace
from applyviz.engine.requests.flow import Catalog, is_not_found
from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyOptions, PruneMode
from applyviz.sources.bundle import SourceBundle
from applyviz.sources.links import hide_query

_MOST_NODES = 10
_NODES = Request("GET", "/api/v1/nodes", purpose="list")
_NAMESPACES = Request("GET", "/api/v1/namespaces", purpose="list")
MISSING = "missing "
"""The beginning of the names in the provenance of a channel that say why a manifest could not be fetched."""


class ReadChannel(Struct, frozen=True):
    """The channel of a source: its file, its entries, and everything wrong with it."""

    document: ManifestDocument
    location: str
    addons: tuple[Addon, ...]
    problems: tuple[PlanProblem, ...]
    unfetched: Mapping[str, str]

    @property
    def file(self) -> str:
        """The name of the channel's file."""
        return self.document.position.file


def as_kops(options: ApplyOptions, *, is_manager_given: bool) -> ApplyOptions:
    """Return the options for a channel: kOps' field manager, unless one was given.

    - kOps also forces every conflict; here each one is shown, and people resolve it.
    """
    return options if is_manager_given else replace(options, field_manager=KOPS_MANAGER)


def as_source(options: ApplyOptions, files: Iterable[ParsedFile]) -> ApplyOptions:
    """Return the options of a review for its manifests; those of a channel have kOps' defaults."""
    if not has_channel(files):
        return options
    return as_kops(options, is_manager_given=options.field_manager != PRODUCT_MANAGER)


def has_channel(files: Iterable[ParsedFile]) -> bool:
    """Return whether a source holds a channel."""
    return any(file.channel is not None for file in files)


def read_channel(files: Sequence[ParsedFile], bundle: SourceBundle) -> ReadChannel | None:
    """Return the channel of a source; None without one. A source has one channel: further ones are problems."""
    found = [file.channel for file in files if file.channel is not None]
    if not found:
        return None
    document = found[0]
    addons, wrong = read_addons(document)
    second = (
        PlanProblem("a source has one channel: create another review for this one", d.position) for d in found[1:]
    )
    problems = (*(PlanProblem(problem.explanation, problem.position) for problem in wrong), *second)
    provenance = next(file.provenance for file in bundle.files if file.name == document.position.file)
    location = hide_query(provenance.get("final_url", "")) or document.position.file
    unfetched = {name.removeprefix(MISSING): why for name, why in provenance.items() if name.startswith(MISSING)}
    return ReadChannel(document, location, addons, problems, unfetched)


def _require_plain(options: ApplyOptions) -> None:
    """Raise `PlanError` for options that would leave out parts of an addon, or prune across addons."""
    if options.prune.mode is not PruneMode.NONE:
        raise PlanError("each addon of a kOps channel prunes by its own kinds: choose no prune method")
    if options.selector:
        raise PlanError("the addons of a kOps channel are applied whole: remove the selector")
    if not options.is_applying:
        raise PlanError("a kOps channel can only be applied: upload the manifests of its addons instead")


def _require_listed(what: str, names: Iterable[str], addons: Iterable[Addon]) -> None:
    """Raise `PlanError` for an addon that is to be planned anyway or to mark nodes, and that the channel lacks."""
    unknown = sorted(set(names) - {addon.name for addon in addons})
    if unknown:
        raise PlanError(f"addon {unknown[0]} is to {what}, but is not in this channel")


def _read_annotations(reader: ClusterReader, namespaces: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    """Return the annotations of all namespaces; of these that exist, if the cluster does not list them."""
    listed = reader.try_send(_NAMESPACES)
    items = get_at(listed.body, ("items",)) if listed.is_ok else None
    if isinstance(items, list):
        return {str(get_at(one, ("metadata", "name"), "")): _take_annotations(one) for one in items}
    answers = reader.try_send_all([read_namespace(name) for name in namespaces])
    found = {}
    for name, answer in zip(namespaces, answers, strict=True):
        if not answer.is_ok and not is_not_found(answer):
            why = answer.message or answer.status or "no answer"
            raise PlanError(f"namespace {name}, which records installed addons, could not be read ({why})")
        if answer.is_ok:
            found[name] = _take_annotations(answer.body)
    return found


def _take_annotations(namespace: JSONValue) -> Mapping[str, str]:
    live = get_at(namespace, ("metadata", "annotations"))
    return live if isinstance(live, Mapping) else {}


def choose_addons(
    channel: ReadChannel, bundle: SourceBundle, reader: ClusterReader, options: ApplyOptions, served: Catalog
) -> ChannelPlan:
    """Read the version of the server and the records of the addons; return the choice.

    - `served`: the kinds that the cluster serves.
    - Raises `PlanError` when they cannot be read, and for options that do not fit a channel.
    """
    _require_plain(options)
    _require_listed("be planned anyway", options.addons_anyway, channel.addons)
    _require_listed("mark nodes", options.marking_addons, channel.addons)
    version = reader.try_send(VERSION)
    kubernetes = str(get_at(version.body, ("gitVersion",), "")) if version.is_ok else ""
    if not kubernetes:
        raise PlanError("the server does not report its version, which decides what a kOps channel installs")
    namespaces = sorted({"kube-system", *(addon.namespace for addon in channel.addons)})
    annotations = _read_annotations(reader, namespaces)
    contents = {file.name: file.data for file in bundle.files}
    chosen = choose(
        channel.addons,
        kubernetes=kubernetes,
        annotations=annotations,
        faults=find_faults(channel.addons, contents),
        missing=[name for name in namespaces if name not in annotations],
        anyway=options.addons_anyway,
    )
    nodes = _read_nodes(reader, {one.addon.needs_rolling_update for one in chosen if one.marks_nodes})
    noted = tuple(_add_facts(one, served, nodes, options.marking_addons) for one in chosen)
    return ChannelPlan(channel.file, channel.location, kubernetes, noted)


def _read_nodes(reader: ClusterReader, groups: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the nodes that kOps would mark for each group; nothing for a group that cannot be read."""
    names = sorted(groups)
    requests = [
        replace(_NODES, query={"labelSelector": f"{NODE_LABELS[name]}="} if NODE_LABELS[name] else {}) for name in names
    ]
    found = {}
    for name, answer in zip(names, reader.try_send_all(requests), strict=True):
        items = get_at(answer.body, ("items",)) if answer.is_ok else None
        if isinstance(items, list):
            found[name] = tuple(str(get_at(node, ("metadata", "name"), "")) for node in items)
    return found


def _add_facts(
    one: AddonPlan, served: Catalog, nodes: Mapping[str, tuple[str, ...]], marking: Collection[str]
) -> AddonPlan:
    """Return a choice with what only the cluster knows: kinds that it does not serve, and its nodes.

    - Raises `PlanError` if nodes are to be marked, and cannot be read.
    """
    found = nodes.get(one.addon.needs_rolling_update) if one.marks_nodes else None
    shown, more = (None, 0) if found is None else (found[:_MOST_NODES], max(0, len(found) - _MOST_NODES))
    is_marking = one.marks_nodes and one.addon.name in marking
    if is_marking and found is None:
        raise PlanError(f"addon {one.addon.name} is to mark nodes, and the nodes could not be read")
    marked = (found or ()) if is_marking else ()
    return replace(one, unserved=_list_unserved(one, served), nodes=shown, more_nodes=more, marked=marked)


def _list_unserved(one: AddonPlan, served: Catalog) -> tuple[str, ...]:
    kinds = (kind for kind in one.addon.prune if served.find_preferred(kind.group, kind.kind) is None)
    return tuple(dict.fromkeys(kind.title for kind in kinds)) if one.is_applied else ()


def find_missing(channel: ReadChannel, bundle: SourceBundle) -> Iterator[PlanProblem]:
    """Yield the entries whose manifest is not in the source."""
    present = {file.name for file in bundle.files}
    for addon in channel.addons:
        if addon.file not in present:
            why = channel.unfetched.get(addon.file, "")
            detail = f"the manifest {addon.file} of addon {addon.name} is missing" + (f": {why}" if why else "")
            yield PlanProblem(detail, addon.position)


def list_problems(channel: ReadChannel, chosen: ChannelPlan, files: Sequence[ParsedFile]) -> Iterator[PlanProblem]:
    """Yield everything that keeps a part of a channel from being planned."""
    yield from channel.problems
    for one in chosen.addons:
        if one.action is AddonAction.NOT_PLANNED:
            why = channel.unfetched.get(one.addon.file, "")
            detail = render_choice(one, chosen.kubernetes) + (f" {why}" if why else "")
            yield PlanProblem(f"addon {one.addon.name} is not planned: {detail}", one.addon.position)
    skipped = _list_skipped(channel, chosen)
    for file in files:
        if file.file not in skipped:
            yield from (PlanProblem(problem.explanation, problem.position) for problem in file.problems)


def _list_skipped(channel: ReadChannel, chosen: ChannelPlan) -> frozenset[str]:
    """Return the files of the channel that are not applied."""
    return list_manifests(channel.document) - {addon.file for addon in chosen.applied}


def list_documents(
    channel: ReadChannel, chosen: ChannelPlan, files: Sequence[ParsedFile]
) -> tuple[ManifestDocument, ...]:
    """Return the documents of the chosen addons, in the order of the channel, then those that no addon names."""
    by_name = {file.file: file for file in files}
    skipped = _list_skipped(channel, chosen)
    names = dict.fromkeys([*(addon.file for addon in chosen.applied), *by_name])
    return tuple(document for name in names if name not in skipped for document in by_name[name].documents)
