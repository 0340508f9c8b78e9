"""ApplySets: the parent object that records the members of a set, and pruning by the members' label.

Rule: KEP-3659 (https://github.com/kubernetes/enhancements/tree/master/keps/sig-cli/3659-kubectl-apply-prune). The
parent is written before the apply (old and new kinds and namespaces) and after it (only what remains); a failed apply
or prune keeps the larger set.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterable

from msgspec import Struct, field

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.objects.known_names import PART_OF
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.request_paths import find_segment_problem
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.requests.calls import list_objects
from applyviz.engine.requests.flow import Catalog, Flow, is_conflict, is_not_found, refusal, send
from applyviz.engine.requests.options import ApplyOptions, DryRun
from applyviz.engine.requests.prune import Prunable, read_items
from applyviz.engine.schema.builtin import RELEASE
from applyviz.engine.schema.model import Resource

ID = "applyset.kubernetes.io/id"
TOOLING = "applyset.kubernetes.io/tooling"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
RESOURCES = "applyset.kubernetes.io/contains-group-resources"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
PARENT_TYPE = "applyset.kubernetes.io/is-parent-type"
KUBECTL_TOOLING = f"kubectl/{RELEASE}"
# The field manager that writes parents is the name of the tool with this suffix.
MANAGER_SUFFIX = "-applyset"
_CRDS = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


class ApplySetError(ApplyVizError):
    """An ApplySet parent that cannot be used."""


class Parent(Struct, frozen=True):
    """The object that records a set; `tooling` is `name/version` of its writer."""

    resource: Resource
    namespace: str
    name: str
    tooling: str = KUBECTL_TOOLING

    @property
    def id(self) -> str:
        """The value of the id label, and of the part-of label of each member."""
        gvk = self.resource.gvk
        text = ".".join((self.name, self.namespace, gvk.kind, gvk.group))
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        return f"applyset-{digest}-v1"

    @property
    def ref(self) -> ObjectRef:
        """The reference of the parent."""
        return ObjectRef(self.resource.gvk, self.namespace, self.name)

    @property
    def tool(self) -> str:
        """The name of the tool without its version."""
        return _tool_name(self.tooling)

    @property
    def manager(self) -> str:
        """The field manager that writes the parent."""
        return f"{self.tool}{MANAGER_SUFFIX}"

    @property
    def is_built_in(self) -> bool:
        """Whether kubectl creates a parent of this kind itself."""
        return self.resource.gvk.group == "" and self.resource.plural in ("secrets", "configmaps")

    def __str__(self) -> str:
        return f"{self.resource.plural}.{self.resource.gvk.group}/{self.name}"


class Content(Struct, frozen=True):
    """The kinds (with their addresses) and namespaces of a set."""

    kinds: dict[tuple[str, str], Resource] = field(default_factory=dict)
    namespaces: frozenset[str] = frozenset()

    def __or__(self, other: Content) -> Content:
        return Content({**self.kinds, **other.kinds}, self.namespaces | other.namespaces)


def _tool_name(tooling: str) -> str:
    name, slash, _ = tooling.rpartition("/")
    return name if slash else tooling


def _kind_text(kind: tuple[str, str]) -> str:
    return f"{kind[1]}.{kind[0]}" if kind[0] else kind[1]


def find_parent(text: str, *, namespace: str, catalog: Catalog) -> Parent:
    """Parse `[RESOURCE[.GROUP]/]NAME`; a parent without a resource is a Secret.

    - Raises `ApplySetError` for an unknown resource, a blank name, or a missing namespace.
    """
    kind, slash, name = text.partition("/")
    plural, _, group = kind.partition(".") if slash else ("secrets", "", "")
    name = name if slash else text
    if not name:
        raise ApplySetError(f'invalid parent reference "{text}": name cannot be blank')
    problem = find_segment_problem(name)
    if problem:
        raise ApplySetError(f'invalid parent reference "{text}": name {problem}')
    resource = _find_plural(catalog, plural, group)
    if resource is None:
        raise ApplySetError(f'invalid parent reference "{text}": no matches for {kind}')
    if resource.is_namespaced and not namespace:
        raise ApplySetError("namespace is required to use namespace-scoped ApplySet")
    return Parent(resource, namespace if resource.is_namespaced else "", name)


def _find_plural(catalog: Catalog, name: str, group: str) -> Resource | None:
    """Return a resource by its plural, its singular, or else a short name."""
    found = [r for r in catalog.list_resources() if _is_group(r.gvk.group, group)]
    plural = name.lower()
    named = [r for r in found if plural in (r.plural, r.singular or r.gvk.kind.lower())]
    for resource in named or [r for r in found if name in r.short_names]:
        return catalog.find_preferred(resource.gvk.group, resource.gvk.kind) or resource
    return None


def _is_group(actual: str, wanted: str) -> bool:
    """Return whether a resource belongs to a group; no group matches any, a prefix matches as in kubectl's mapper."""
    return actual == wanted or actual.startswith(wanted)


def add_label(obj: JSONObject, parent: Parent) -> JSONObject:
    """Return the object as a member of the set.

    - Raises `ApplySetError` if the manifest already names a set.
    """
    metadata = obj.get("metadata") or {}
    labels = metadata.get("labels") or {}
    if PART_OF in labels:
        raise ApplySetError(f'ApplySet label "{PART_OF}" already set in input data')
    return {**obj, "metadata": {**metadata, "labels": {**labels, PART_OF: parent.id}}}


def collect_content(members: Iterable[tuple[Resource, str]]) -> Content:
    """Return the kinds and namespaces of the members, given as resource and namespace."""
    kinds: dict[tuple[str, str], Resource] = {}
    namespaces = set()
    for resource, namespace in members:
        kinds.setdefault((resource.gvk.group, resource.gvk.kind), resource)
        if resource.is_namespaced and namespace:
            namespaces.add(namespace)
    return Content(kinds, frozenset(namespaces))


def _read_kinds(annotations: JSONObject, catalog: Catalog, parent: Parent) -> dict[tuple[str, str], Resource]:
    listed, is_legacy = annotations.get(KINDS), False
    if listed is None:
        listed, is_legacy = annotations.get(RESOURCES), True
        if not listed:
            raise ApplySetError(f'kubectl requires the "{KINDS}" annotation to be set on all ApplySet parent objects')
    kinds = {}
    for entry in listed.split(",") if listed else ():
        name, _, group = entry.partition(".")
        found = _find_plural(catalog, name, group) if is_legacy else catalog.find_preferred(group, name)
        if found is None:
            raise ApplySetError(f'parsing ApplySet annotation on "{parent}": could not find mapping for {entry}')
        kinds[(found.gvk.group, found.gvk.kind)] = found
    return kinds


def read_content(live: JSONObject, parent: Parent, catalog: Catalog) -> Content:
    """Return the kinds and namespaces that the live parent records for the set.

    - Raises `ApplySetError` when the parent belongs to another tool or another set.
    """
    annotations = get_at(live, ("metadata", "annotations")) or {}
    labels = get_at(live, ("metadata", "labels")) or {}
    if TOOLING not in annotations:
        raise ApplySetError(f'ApplySet parent object "{parent}" exists and is missing annotation "{TOOLING}"')
    if _tool_name(annotations[TOOLING]) != parent.tool:
        other = _tool_name(annotations[TOOLING])
        raise ApplySetError(f'ApplySet parent object "{parent}" is managed by tooling "{other}"')
    if labels.get(ID) != parent.id:
        raise ApplySetError(f'ApplySet parent object "{parent}" has no label {ID} with the value {parent.id}')
    namespaces = {n for n in (annotations.get(NAMESPACES) or "").split(",") if n}
    if parent.namespace:
        namespaces.add(parent.namespace)
    return Content(_read_kinds(annotations, catalog, parent), frozenset(namespaces))


def render_parent(parent: Parent, content: Content) -> JSONObject:
    """Return the configuration to apply to the parent."""
    gvk = parent.resource.gvk
    metadata: dict[str, object] = {
        "name": parent.name,
        "annotations": {
            TOOLING: parent.tooling,
            KINDS: ",".join(sorted(_kind_text(k) for k in content.kinds)),
            NAMESPACES: ",".join(sorted(content.namespaces - {parent.namespace})),
        },
        "labels": {ID: parent.id},
    }
    if parent.namespace:
        metadata["namespace"] = parent.namespace
    return {"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": metadata}


def fetch_content(parent: Parent, catalog: Catalog) -> Flow[Content]:
    """Read the live parent; an absent parent of a kind that is created on demand is an empty set."""
    request = Request("GET", parent.resource.path(parent.namespace, parent.name), purpose="read")
    answer = yield request
    if is_not_found(answer):
        if parent.is_built_in:
            return Content()
        raise ApplySetError("custom resource ApplySet parents cannot be created automatically")
    if not answer.is_ok:
        raise refusal(request, answer)
    return read_content(answer.body, parent, catalog)


def check_parent_kind(parent: Parent) -> Flow[None]:
    """Check that the CRD of a custom parent allows it to be one.

    - Raises `ApplySetError`.
    """
    if parent.is_built_in:
        return
    crds = Resource(_CRDS, "customresourcedefinitions", is_namespaced=False)
    answer = yield from send(list_objects(crds, "", PARENT_TYPE))
    name = f"{parent.resource.plural}.{parent.resource.gvk.group}"
    if name not in {get_at(item, ("metadata", "name")) for item in answer.body.get("items") or ()}:
        raise ApplySetError(f'resource "{name}" is not permitted as an ApplySet parent')


def write_parent(parent: Parent, content: Content, options: ApplyOptions) -> Flow[None]:
    """Write the parent server-side; conflicts are forced, because these fields belong to the tool."""
    if options.dry_run is DryRun.CLIENT:
        return
    query = {"dryRun": "All"} if options.dry_run is DryRun.SERVER else {}
    query |= {"fieldManager": parent.manager, "fieldValidation": options.validation.value, "force": "false"}
    path = parent.resource.path(parent.namespace, parent.name)
    request = Request("PATCH", path, query, APPLY_PATCH, render_parent(parent, content), parent.ref, "apply")
    answer = yield request
    if is_conflict(answer):
        request = Request("PATCH", path, {**query, "force": "true"}, APPLY_PATCH, request.body, parent.ref, "apply")
        answer = yield request
    if not answer.is_ok:
        raise refusal(request, answer)


def find_members(parent: Parent, content: Content, visited: Collection[str]) -> Flow[list[Prunable]]:
    """Return the live members of the set (in its kinds and namespaces) that were not visited this time (by uid)."""
    found = []
    for resource in content.kinds.values():
        for namespace in sorted(content.namespaces) if resource.is_namespaced else ("",):
            answer = yield from send(list_objects(resource, namespace, f"{PART_OF}={parent.id}"))
            found += [
                Prunable(resource, namespace, obj)
                for obj in read_items(answer.body, resource)
                if get_at(obj, ("metadata", "uid"), "") not in visited
            ]
    return found
