"""Calculate what happens with each addon of a kOps channel that was given as text, in a cluster in memory.

The choice is that of reviews (`engine.channels`). The addons whose manifests are given are planned as in reviews too
(`SetPlanner`), with the requests of kOps: its field manager, and force. Nothing else is calculated here.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from applyviz.engine.channels.choosing import choose, find_faults
from applyviz.engine.channels.model import KOPS_MANAGER, Addon, ChannelPlan
from applyviz.engine.channels.reading import KIND, read_addons
from applyviz.engine.channels.versions import RangeError, read_cluster_version
from applyviz.engine.diff.masking import MaskPolicy, is_masked, mask
from applyviz.engine.diff.yaml_text import render_yaml
from applyviz.engine.manifests.documents import ManifestDocument, ParsedFile
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.crds import defines_kind
from applyviz.guide.given import PlaygroundQueryError, PlaygroundQueryProblem
from applyviz.guide.given_channels import ChannelQuery, join_files, split_files
from applyviz.guide.playground import explain_problems, find_policy, read_text
from applyviz.guide.stored_cluster import NAMESPACE, StoredCluster
from applyviz.guide.whole_sets import encode, mask_text, read_catalog
from applyviz.sandbox.api.estimates import with_estimates

_FILE = "channel"
_DEFINITION = "CustomResourceDefinition"
_SYSTEM = "kube-system"
_KIND = GroupVersionKind("", "", KIND)
NO_CHANNEL = "expected a document of kind Addons without apiVersion"


class AddonFile(Struct, frozen=True):
    """The manifest of an addon: its text and its objects."""

    text: str
    parsed: ParsedFile

    @property
    def has_masks(self) -> bool:
        """Whether values of it are masked, so that its hash is not that of the file any more."""
        return any(is_masked(document.obj) for document in self.parsed.documents)


class ChannelTexts(Struct, frozen=True):
    """The texts of a question, parsed."""

    document: ManifestDocument
    addons: tuple[Addon, ...]
    files: Mapping[str, AddonFile]
    cluster: ParsedFile


class ChannelAnswer(Struct, frozen=True):
    """The choice for each addon, the rows of those whose manifests are given, and what keeps them from being recorded.

    - `files`: the names of the manifests that are given; `masked`: those whose hash is not checked.
    """

    channel: ChannelPlan
    changes: tuple[PlannedObject, ...] = ()
    problems: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()


def _read_channel(text: str, problems: list[PlaygroundQueryProblem]) -> tuple[ManifestDocument | None, list[Addon]]:
    """Return the channel with its entries; adds what is wrong with it to `problems`."""
    file = read_text("channel", text)
    more = [one for one in file.problems if one.document is not None and one.document.obj.get("kind") == KIND]
    found = list(explain_problems(replace(file, problems=tuple(one for one in file.problems if one not in more))))
    found += [
        PlaygroundQueryProblem("channel", f"line {one.position.line}: this is another channel: ask about one at a time")
        for one in more
    ]
    if file.channel is None and not found:
        found.append(PlaygroundQueryProblem("channel", NO_CHANNEL))
    elif file.channel is not None and file.documents:
        reason = "this is no part of a channel: enter it under Manifests of addons, or under Live objects"
        found.append(PlaygroundQueryProblem("channel", f"line {file.documents[0].position.line}: {reason}"))
    problems += found
    if file.channel is None:
        return None, []
    addons, wrong = read_addons(file.channel)
    for one in wrong:
        at = one.position
        problems.append(PlaygroundQueryProblem("channel", f"line {at.line}, column {at.column}: {one.reason}"))
    return file.channel, list(addons)


def _read_files(text: str, addons: Iterable[Addon], problems: list[PlaygroundQueryProblem]) -> dict[str, AddonFile]:
    """Return the manifests of addons by their names; adds what is wrong with them to `problems`."""
    named, found = {addon.file for addon in addons}, dict[str, AddonFile]()

    def refuse(reason: str) -> None:
        problems.append(PlaygroundQueryProblem("manifests", reason))

    for name, content in split_files(text):
        if not name:
            refuse("write the name of the file above each manifest, for example # File: dns.yaml")
        elif name in found:
            refuse(f"{name} is named twice")
        elif name not in named:
            refuse(f"no entry of the channel names {name}")
        else:
            parsed = read_text("manifests", content, file=name)
            found[name] = AddonFile(content, parsed)
            for problem in explain_problems(parsed):
                refuse(f"{name}, {problem.reason}")
    return found


def read_channel_texts(given: ChannelQuery) -> ChannelTexts:
    """Return the texts as a channel, its manifests and the objects of the cluster.

    - Raises `PlaygroundQueryError` with every problem of every text.
    """
    problems: list[PlaygroundQueryProblem] = []
    document, addons = _read_channel(given.channel, problems)
    files = _read_files(given.manifests, addons, problems) if not problems else {}
    cluster = read_text("cluster", given.cluster)
    problems += explain_problems(cluster)
    try:
        read_cluster_version(given.kubernetes)
    except RangeError as error:
        problems.append(PlaygroundQueryProblem("kubernetes", str(error)))
    if problems or document is None:
        raise PlaygroundQueryError(tuple(problems))
    return ChannelTexts(document, tuple(addons), files, cluster)


def _fill(addons: Iterable[Addon], files: Mapping[str, AddonFile], live: ParsedFile, now: str) -> StoredCluster:
    """Return the cluster: its definitions first, then its other objects, then the namespaces that addons need."""
    cluster = StoredCluster(read_catalog(live.documents), namespace=_SYSTEM, now=now)
    listed = sorted(enumerate(live.documents), key=lambda one: one[1].ref.gvk.kind != _DEFINITION)
    stored = [(at, cluster.hold(encode(document))) for at, document in listed]
    problems = tuple(PlaygroundQueryProblem("cluster", reason, at) for at, reason in stored if reason)
    if problems:
        raise PlaygroundQueryError(problems)
    documents = [document for file in files.values() for document in file.parsed.documents]
    cluster.add_namespaces(documents, (addon.namespace for addon in addons))
    return cluster


def _plan(
    channel: ChannelPlan, files: Mapping[str, AddonFile], cluster: StoredCluster, now: str
) -> tuple[tuple[PlannedObject, ...], tuple[str, ...]]:
    """Return the rows of addons whose manifests are given, and problems; without one, an addon would prune all."""
    known = tuple(one for one in channel.addons if one.addon.file in files)
    names = dict.fromkeys(one.addon.file for one in known if one.is_applied)
    if not names:
        return (), ()
    planner = SetPlanner(
        tuple(encode(document) for name in names for document in files[name].parsed.documents),
        options=ApplyOptions(
            field_manager=KOPS_MANAGER,
            namespace=_SYSTEM,
            takes_over=True,
            takes_client_side=False,
            channel=replace(channel, addons=known),
        ),
        context=with_estimates(PlanningContext(cluster.catalog, now)),
    )
    for _change in drive(planner, lambda requests: [cluster.answer(request) for request in requests]):
        pass
    plan = planner.plan()
    return plan.changes, tuple(problem.reason for problem in plan.problems)


def explain_addons(
    addons: Sequence[Addon], files: Mapping[str, AddonFile], live: ParsedFile, *, kubernetes: str, now: str
) -> ChannelAnswer:
    """Return what happens with each entry of a channel on a cluster with these objects.

    - A namespace that is not among the objects exists, and has no records.
    - Raises `PlaygroundQueryError`, and `RangeError` for a version of the server that cannot be read.
    """
    cluster = _fill(addons, files, live, now)
    masked = frozenset(name for name, file in files.items() if file.has_masks)
    hashed = {name: file.text.encode() for name, file in files.items() if name not in masked}
    spaces = [one for one in cluster.objects if one.ref.gvk == NAMESPACE]
    chosen = choose(
        addons,
        kubernetes=kubernetes,
        annotations={one.ref.name: get_at(one.obj, ("metadata", "annotations")) or {} for one in spaces},
        faults=find_faults((addon for addon in addons if addon.file in hashed), hashed),
    )
    channel = ChannelPlan(_FILE, _FILE, kubernetes, chosen)
    try:
        changes, problems = _plan(channel, files, cluster, now)
    except ApplyVizError as error:
        raise PlaygroundQueryError((PlaygroundQueryProblem("manifests", str(error)),)) from None
    return ChannelAnswer(channel, changes, problems, frozenset(files), masked)


def explain_channel(given: ChannelQuery, *, now: str) -> ChannelAnswer:
    """Return what happens with each addon of a channel; `now` is RFC 3339 in UTC. Raises `PlaygroundQueryError`."""
    texts = read_channel_texts(given)
    return explain_addons(texts.addons, texts.files, texts.cluster, kubernetes=given.kubernetes, now=now)


def without_secrets(given: ChannelQuery) -> ChannelQuery:
    """Return the question without secrets: texts that contain secrets are rewritten with masked values.

    - Raises `PlaygroundQueryError`; an unreadable text cannot be masked.
    """
    texts = read_channel_texts(given)
    documents = [one for file in texts.files.values() for one in file.parsed.documents]
    documents += texts.cluster.documents
    definitions = [one for one in documents if one.ref.gvk.kind == _DEFINITION and defines_kind(one.obj)]
    key, policy = secrets.token_bytes(32), find_policy(documents, definitions)
    shown = {name: mask_text(file.text, file.parsed, key, policy) for name, file in texts.files.items()}
    is_kept = all(shown[name] == file.text for name, file in texts.files.items())
    return replace(
        given,
        channel=_mask_channel(given.channel, texts.document, key, policy),
        manifests=given.manifests if is_kept else join_files(shown.items()),
        cluster=mask_text(given.cluster, texts.cluster, key, policy),
    )


def _mask_channel(text: str, document: ManifestDocument, key: bytes, policy: MaskPolicy) -> str:
    """Return the text of a channel, rewritten with masked values if it contains credentials."""
    masked = mask(document.obj, gvk=_KIND, tag_key=key, scope=KIND, policy=policy)
    return render_yaml(None, masked) if masked != document.obj else text
