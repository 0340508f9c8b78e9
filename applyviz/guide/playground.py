"""Calculate the plan of one object that was given as text.

Untrusted input is handled only in a disposable child process (`limited`). The given live object, completed by the
defaults of its kind, answers the reads, its namespace exists, and there is no dry run: nothing is sent anywhere, and
the result is *estimated* by the server model that reviews have. A kind that neither the bundled documents nor a given
CustomResourceDefinition define is treated as kubectl treats a custom resource.
"""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct

from applyviz.engine.channels.reading import take_channel_apart
from applyviz.engine.diff.masking import MaskPolicy, is_masked, mask
from applyviz.engine.diff.passwords import KindPasswords, Passwords
from applyviz.engine.diff.patch_masking import mask_patch
from applyviz.engine.diff.yaml_text import render_yaml
from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.patching import OF_PATCHES
from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.manifests.documents import DocumentProblem, ManifestDocument, ObjectPatch, ParsedFile
from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.patch_documents import KIND, take_patches_apart
from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import ApplyVizError, SchemaError, SourcePosition
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.planning.objects.planner import plan_object
from applyviz.engine.planning.sets.patched import plan_patch
from applyviz.engine.planning.simulation.estimated_answers import status_answer
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, SetAction
from applyviz.engine.requests.patching import CONTENT_TYPES
from applyviz.engine.schema.autoscalers import convert_autoscaler
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import Resource, SchemaOrigin
from applyviz.engine.schema.password_fields import list_passwords
from applyviz.engine.schema.sources import SourceChain
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError, PlaygroundQueryProblem
from applyviz.guide.owned import own_fields
from applyviz.sandbox.api.estimates import EstimatingServer, with_estimates
from applyviz.sources.nuls import refuse_nuls

LIMITS = ReadLimits(values=50_000, document_bytes=256_000, file_bytes=256_000, documents=20)
_SINGLE = ("manifest", "live", "last_applied")
_PARTS = (*_SINGLE, "crds")
NOT_ASKED = "the playground asks no cluster"
_NAMESPACE = Answer(200, {})
_WRITTEN = CHANGING | {FieldOperation.ALLOCATED}
_TAKING_APART: dict[str, Callable[[ParsedFile], ParsedFile]] = {
    "manifest": take_patches_apart,
    "channel": take_channel_apart,
}
"""The parts of a question that may contain something else than objects: patches, or a channel."""
NOT_COMPUTED = PlaygroundQueryProblem("manifest", "this cannot be computed")


class _UnknownKinds:
    """Resources for unknown kinds, guessed from the naming conventions of custom resources."""

    def __init__(self, *, is_namespaced: bool) -> None:
        self._is_namespaced = is_namespaced

    def find_resource(self, gvk: GroupVersionKind) -> Resource | None:
        """Return a plural with an s; only for kinds of a group, because the core group has no custom resources."""
        return Resource(gvk, f"{gvk.kind.lower()}s", self._is_namespaced) if gvk.group and gvk.kind else None

    def find_preferred(self, group: str, kind: str) -> Resource | None:
        """Return None: other versions are unknown."""
        return None

    def list_resources(self) -> tuple[Resource, ...]:
        """Return no resources: unknown kinds cannot be listed."""
        return ()


class Read(Struct, frozen=True):
    """The texts, parsed to objects."""

    document: ManifestDocument
    catalog: SourceChain
    live: JSONObject | None


def explain_problems(file: ParsedFile) -> Iterator[PlaygroundQueryProblem]:
    """Yield the problems of one text, each with its line and field."""
    for found in file.problems:
        where = f"line {found.position.line}" if found.position.line else ""
        where += f", column {found.position.column}" if where and found.position.column else ""
        field = f" {render_path(found.path)}" if found.path else ""
        yield PlaygroundQueryProblem(file.file, f"{where}{field}: {found.reason}" if where or field else found.reason)


def _check_same(manifest: ObjectRef, part: str, other: ManifestDocument) -> Iterator[PlaygroundQueryProblem]:
    named = other.ref
    is_same = (named.gvk.group, named.gvk.kind, named.name) == (manifest.gvk.group, manifest.gvk.kind, manifest.name)
    if not is_same or ("" not in (named.namespace, manifest.namespace) and named.namespace != manifest.namespace):
        yield PlaygroundQueryProblem(part, f"this is {named}, but the manifest is {manifest}", document=0)


def name_lines(problems: Iterable[PlaygroundQueryProblem], texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each problem as its field and its message, which names the line in the text that the person wrote."""
    read: dict[str, tuple[ManifestDocument, ...]] = {}
    for problem in problems:
        if problem.document is None:
            yield problem.part, problem.reason
            continue
        if problem.part not in read:
            read[problem.part] = read_text(problem.part, texts[problem.part]).documents
        yield problem.part, f"line {read[problem.part][problem.document].position.line}: {problem.reason}"


def read_text(part: str, text: str, *, file: str = "") -> ParsedFile:
    """Return one text, parsed in this process: it is disposable, or the text is an example of the guide.

    - `file`: the name of a file inside the text of the part.
    """
    data, name = text.encode(), file or part
    position = SourcePosition(name)
    if len(data) > LIMITS.file_bytes:
        return ParsedFile(
            name, (), (DocumentProblem(f"the text is larger than {LIMITS.file_bytes:,} bytes", position),), 0
        )
    take_apart = _TAKING_APART.get(part)
    try:
        parsed = parse_manifests(data, name, limits=LIMITS)
        return refuse_nuls(parsed if take_apart is None else take_apart(parsed))
    except RecursionError:
        return ParsedFile(name, (), (DocumentProblem("it is nested too deeply", position),), 0)


def _parse(given: PlaygroundQuery) -> tuple[dict[str, tuple[ManifestDocument, ...]], list[PlaygroundQueryProblem]]:
    texts = {part: getattr(given, part) for part in _PARTS}
    if given.mode is ApplyMode.SERVER:
        texts["last_applied"] = ""
    parsed = [read_text(part, text) for part, text in texts.items() if text.strip()]
    problems = [problem for file in parsed for problem in explain_problems(file)]
    documents = {file.file: file.documents for file in parsed}
    broken = {problem.part for problem in problems}
    for part in _SINGLE:
        count = len(documents.get(part, ()))
        if part not in broken and (count > 1 or (count == 0 and (part == "manifest" or texts[part].strip()))):
            problems.append(PlaygroundQueryProblem(part, f"expected one object, got {count}"))
    return documents, problems


def _read_kinds(documents: Iterable[ManifestDocument], *, is_namespaced: bool) -> SourceChain:
    defined = CRDSource((d.obj for d in documents), origin=SchemaOrigin.SOURCE_CRD)
    return SourceChain(defined, bundled(), _UnknownKinds(is_namespaced=is_namespaced))


def read(given: PlaygroundQuery) -> Read:
    """Parse all texts.

    - Raises `PlaygroundQueryError` with every problem of every text.
    """
    documents, problems = _parse(given)
    if problems:
        raise PlaygroundQueryError(tuple(problems))
    document = documents["manifest"][0]
    for part in ("live", "last_applied"):
        problems += [p for d in documents.get(part, ()) for p in _check_same(document.ref, part, d)]
    live = next((d.obj for d in documents.get("live", ())), None)
    namespaces = [d.ref.namespace for part in _SINGLE for d in documents.get(part, ()) if d.ref.namespace]
    try:
        catalog = _read_kinds(documents.get("crds", ()), is_namespaced=bool(namespaces))
        kind = catalog.find_kind(document.ref.gvk)
    except SchemaError as error:
        raise PlaygroundQueryError((*problems, PlaygroundQueryProblem("crds", str(error)))) from None
    remembered = next((d.obj for d in documents.get("last_applied", ())), None)
    if live is None:
        gone = (("last_applied", remembered), ("owners", given.owners.strip()))
        problems += [PlaygroundQueryProblem(part, "this needs a live object") for part, value in gone if value]
    elif given.owners.strip():
        live, found = own_fields(live, given.owners, kind=kind)
        problems += found
    if problems:
        raise PlaygroundQueryError(tuple(problems))
    live = _place(live, catalog.find_resource(document.ref.gvk), next(iter(namespaces), "default"))
    return Read(document, catalog, _remember(live, remembered))


def _place(live: JSONObject | None, resource: Resource | None, namespace: str) -> JSONObject | None:
    """Return live as a server would return it: always with its namespace."""
    if live is None or resource is None or not resource.is_namespaced:
        return live
    return {**live, "metadata": {"namespace": namespace, **(live.get("metadata") or {})}}


def _remember(live: JSONObject | None, applied: JSONObject | None) -> JSONObject | None:
    if live is None or applied is None:
        return live
    metadata = live.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), LAST_APPLIED: last_applied.render(applied)}
    return {**live, "metadata": {**metadata, "annotations": annotations}}


def options_of(given: PlaygroundQuery, *, namespace: str = "default") -> ApplyOptions:
    """Return the apply options of a question."""
    return ApplyOptions(
        mode=given.mode,
        field_manager=given.field_manager,
        takes_over=given.is_forced,
        takes_client_side=given.takes_client_side and given.mode is ApplyMode.SERVER,  # client-side: as kubectl
        namespace=namespace,
    )


def options_for(change: PlannedObject, given: PlaygroundQuery) -> ApplyOptions:
    """Return the options of an answer: those of the question, and that a patch document is a patch."""
    is_patch = any(reason.reason in OF_PATCHES for reason in change.fields)
    return replace(options_of(given), action=SetAction.PATCH) if is_patch else options_of(given)


def estimate(given: PlaygroundQuery, *, now: str) -> PlannedObject:
    """Return the change of the one object, with its secret values, as a server without further rules would answer.

    - `now` is RFC 3339 in UTC.
    - Raises `PlaygroundQueryError`.
    """
    found = _encode_masks(read(given))
    metadata = (found.live or {}).get("metadata") or {}
    options = options_of(given, namespace=metadata.get("namespace") or "default")
    context = with_estimates(PlanningContext(found.catalog, now, can_dry_run=False, dry_run_reason=NOT_ASKED))
    if found.document.patch is not None:
        flow = plan_patch(found.document, options=replace(options, action=SetAction.PATCH), context=context)
    else:
        flow = plan_object(found.document, options=options, context=context)
    live = show_live(found)
    answer = Answer(200, live) if live is not None else status_answer(404, "NotFound", "not found")
    try:
        request = next(flow)
        while True:
            request = flow.send(answer if request.ref is not None else _NAMESPACE)
    except StopIteration as stop:
        change: PlannedObject = stop.value
        return _without_result(change) if change.operation is Operation.BLOCKED else change
    except ApplyVizError as error:
        raise PlaygroundQueryError((PlaygroundQueryProblem("manifest", str(error)),)) from None


def _without_result(change: PlannedObject) -> PlannedObject:
    """Return a blocked change with nothing but its conflicts: one conflict stops everything.

    - A review shows what else would change, because there the conflicts are resolved one by one.
    """
    kept = tuple(reason for reason in change.fields if reason.operation not in _WRITTEN)
    return replace(change, fields=kept, versions=replace(change.versions, after=change.versions.live))


def show_live(found: Read) -> JSONObject | None:
    """Return the live object as a server shows it; people often leave out what the server filled in.

    - Its version is that of the manifest, at which kubectl reads it.
    """
    if found.live is None:
        return None
    wanted = found.document.ref.gvk
    live = _name_version(found.live, wanted)
    gvk = GroupVersionKind.from_object(live)
    kind, resource = found.catalog.find_kind(gvk), found.catalog.find_resource(gvk)
    if kind is None or resource is None:
        return live
    return _convert(EstimatingServer().show(live, kind=kind, resource=resource), wanted)


def _name_version(live: JSONObject, gvk: GroupVersionKind) -> JSONObject:
    """Return a custom resource at another version: only its name changes, and fields that the schema lacks go."""
    is_custom = bundled().find_resource(gvk) is None
    return {**live, "apiVersion": gvk.api_version} if is_custom else live


def _convert(live: JSONObject, gvk: GroupVersionKind) -> JSONObject:
    """Return an autoscaler at another version, unchanged if it does not fit its kind."""
    is_autoscaler = (gvk.group, gvk.kind) == ("autoscaling", "HorizontalPodAutoscaler")
    if not is_autoscaler or live.get("apiVersion") == gvk.api_version:
        return live
    try:
        return convert_autoscaler(live, gvk.version)
    except (LookupError, TypeError, AttributeError, ValueError):
        return live


def _encode_masks(found: Read) -> Read:
    """Return the objects with masks as a Secret may hold them: `data` is base64, and a server refuses anything else."""
    document = replace(found.document, obj=encode_data(found.document.obj))
    return replace(found, document=document, live=None if found.live is None else encode_data(found.live))


def encode_data(obj: JSONObject) -> JSONObject:
    """Return an object with its masks as a Secret may hold them, any other object unchanged."""
    data = obj.get("data")
    if obj.get("kind") != "Secret" or not isinstance(data, Mapping) or not is_masked(data):
        return obj
    kept = {k: b64encode(v.encode()).decode() if is_masked(v) and isinstance(v, str) else v for k, v in data.items()}
    return {**obj, "data": kept}


def explain(given: PlaygroundQuery, *, now: str) -> PlannedObject:
    """Return the change of the one object, masked.

    - `now` is RFC 3339 in UTC.
    - Raises `PlaygroundQueryError`.
    """
    change = estimate(given, now=now)
    documents, _ = _parse(given)
    return mask_change(change, tag_key=secrets.token_bytes(32), policy=_find_policy(documents))


def find_policy(objects: Iterable[ManifestDocument], definitions: Iterable[ManifestDocument]) -> MaskPolicy:
    """Return what is masked of objects besides Secrets: also what the given definitions call passwords.

    - Raises `PlaygroundQueryError` for a definition that cannot be read.
    """
    try:
        kinds = _read_kinds(definitions, is_namespaced=False)
        found = ((gvk, list_passwords(kinds.find_kind(gvk))) for gvk in sorted({one.ref.gvk for one in objects}))
        passwords = [KindPasswords(gvk.group, gvk.kind, paths) for gvk, paths in found if paths]
    except SchemaError as error:
        raise PlaygroundQueryError((PlaygroundQueryProblem("crds", str(error)),)) from None
    return MaskPolicy(passwords=Passwords(tuple(passwords)))


def _find_policy(documents: Mapping[str, tuple[ManifestDocument, ...]]) -> MaskPolicy:
    objects = [document for part in _SINGLE for document in documents.get(part, ())]
    return find_policy(objects, documents.get("crds", ()))


def _mask_document(document: ManifestDocument, patch: ObjectPatch, key: bytes, policy: MaskPolicy) -> JSONObject:
    """Return a patch document whose values are masked like those of its object."""
    ref = document.ref
    target = {"apiVersion": ref.gvk.api_version, "kind": ref.gvk.kind, "name": ref.name}
    target |= {"namespace": ref.namespace} if ref.namespace else {}
    content_type, scope = CONTENT_TYPES[patch.type], "/".join(ref.key)
    body = mask_patch(patch.body, content_type, gvk=ref.gvk, tag_key=key, scope=scope, policy=policy)
    shown = {"kind": KIND, "target": target, "type": patch.type.value, "patch": body}
    return {**shown, "subresource": patch.subresource} if patch.subresource else shown


def without_secrets(given: PlaygroundQuery) -> PlaygroundQuery:
    """Return the question without secrets: texts that contain secrets are rewritten with masked values.

    - Raises `PlaygroundQueryError`; an unreadable text cannot be masked.
    """
    documents, problems = _parse(given)
    if problems:
        raise PlaygroundQueryError(tuple(problems))
    key, policy = secrets.token_bytes(32), _find_policy(documents)
    texts = {part: getattr(given, part) if part in documents else "" for part in _SINGLE}
    for part in _SINGLE:
        for document in documents.get(part, ()):
            gvk, scope = document.ref.gvk, "/".join(document.ref.key)
            if document.patch is not None:
                texts[part] = render_yaml(None, _mask_document(document, document.patch, key, policy))
                continue
            masked = mask(document.obj, gvk=gvk, tag_key=key, scope=scope, policy=policy)
            if masked != document.obj or gvk.kind == "Secret":
                texts[part] = render_yaml(None, masked)
    return replace(given, **texts)  # type: ignore[arg-type]  # the names are those of texts
