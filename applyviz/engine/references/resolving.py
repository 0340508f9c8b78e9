"""Resolve references to edges: find the target of each one among the objects after the plan.

Rule: a target is missing only if that is certain: no object of the set is it, and the cluster said so or the set
creates the namespace. Every other target that is not found is *not checked*. Every namespace has the ServiceAccount
`default` and the ConfigMap `kube-root-ca.crt`. Cost is linear in references and selected pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.references.listing import list_references, list_selections
from applyviz.engine.references.model import Key, PlainPath, ReadMode, Reference, ReferenceKind, Selection
from applyviz.engine.references.pods import find_pod_template, list_port_names
from applyviz.engine.references.reading import list_entries, map_at, text_at
from applyviz.engine.references.selectors import LabelSelector

_GIVEN = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})
ENTRIES = {"ConfigMap": ("data", "binaryData"), "Secret": ("data", "stringData")}
"""The maps in which a kind has entries that pods read."""


class EdgeState(StrEnum):
    """The result of resolving a reference."""

    EXISTS = "exists"
    MISSING = "missing"
    KEY_MISSING = "key missing"
    PORT_MISSING = "port missing"
    NO_MATCH = "no match"
    OPTIONAL = "optional"
    UNKNOWN = "not checked"

    @property
    def is_dangling(self) -> bool:
        """Return whether the target is known to be missing."""
        return self in (EdgeState.MISSING, EdgeState.KEY_MISSING, EdgeState.PORT_MISSING, EdgeState.NO_MATCH)


class Edge(Struct, frozen=True):
    """One reference with its target; `detail` is the selector, or the answer that prevented the check."""

    source: Key
    target: Key
    kind: ReferenceKind
    path: PlainPath
    key: str = ""
    mode: ReadMode = ReadMode.NONE
    state: EdgeState = EdgeState.EXISTS
    detail: str = ""
    is_optional: bool = False


class Knowledge(Struct, frozen=True):
    """The knowledge about a cluster besides its objects.

    - `absent`: objects that it does not have; `refused`: the status of the refusal to read an object.
    - `unmatched`: namespaces and selectors that match no live pod.
    - `namespaces_created`: by the set, so that they contain only objects of the set.
    - `listed`: kinds and namespaces of which every object is known; the namespace is "" for all of them.
    """

    absent: frozenset[Key] = frozenset()
    refused: Mapping[Key, int] = field(default_factory=dict)
    unmatched: frozenset[tuple[str, str]] = frozenset()
    namespaces_created: frozenset[str] = frozenset()
    listed: frozenset[tuple[str, str]] = frozenset()

    def is_absent(self, key: Key) -> bool:
        """Return whether an object that is not among the known ones is certain to be absent."""
        return key in self.absent or key[2] in self.namespaces_created

    def knows_all(self, kinds: Iterable[str], namespace: str) -> bool:
        """Return whether every object of these kinds in a namespace is known."""
        if namespace in self.namespaces_created:
            return True
        return all((kind, namespace) in self.listed or (kind, "") in self.listed for kind in kinds)


class _Pods(Struct, frozen=True):
    """The pods of one object."""

    key: Key
    labels: JSONObject
    ports: frozenset[str]


class ReferenceIndex:
    """Objects by their keys, pods by their labels, definitions by the kind that they define."""

    def __init__(self, objects: Mapping[Key, JSONObject]) -> None:
        self.objects = objects
        self._pods: dict[str, list[_Pods]] = {}
        self._by_label: dict[tuple[str, str, str], list[_Pods]] = {}
        self._definitions: dict[tuple[str, str], Key] = {}
        for key, obj in objects.items():
            if key[1] == "CustomResourceDefinition":
                spec = map_at(obj, "spec")
                self._definitions[text_at(spec, "group"), text_at(spec, "names", "kind")] = key
            else:
                self._add_pods(key, obj)

    def _add_pods(self, key: Key, obj: JSONObject) -> None:
        template = find_pod_template(obj)
        # A custom resource with containers is not a pod, and its labels differ from those of its pods.
        if template is None or (template.path == ("spec",) and key[:2] != ("", "Pod")):
            return
        pods = _Pods(key, template.labels, list_port_names(template.spec))
        self._pods.setdefault(key[2], []).append(pods)
        for label, value in template.labels.items():
            self._by_label.setdefault((key[2], label, str(value)), []).append(pods)

    def find_definition(self, key: Key) -> Key | None:
        """Return the definition of an object's kind."""
        return self._definitions.get(key[:2])

    def select(self, selection: Selection) -> Iterator[tuple[Key, frozenset[str]]]:
        """Yield the objects whose pods are selected, with the names of their ports."""
        namespace, selector = selection.namespace, selection.selector
        among = [self._by_label.get((namespace, *equal), []) for equal in selector.equals]
        for pods in min(among, key=len) if among else self._pods.get(namespace, ()):
            if selector.matches(pods.labels):
                yield pods.key, pods.ports


def list_keys(obj: JSONObject) -> frozenset[str]:
    """Return the names of the entries of a ConfigMap or a Secret."""
    parts = ENTRIES.get(text_at(obj, "kind"), ())
    return frozenset(name for part in parts for name in map_at(obj, part))


def _list_ports(service: JSONObject) -> frozenset[str]:
    """Return the ports of a Service by name and by number."""
    found: set[str] = set()
    for _, port in list_entries(get_at(service, ("spec", "ports"))):
        found |= {text_at(port, "name"), str(port.get("port"))}
    return frozenset(found - {""})


def may_be_made_by(selector: LabelSelector, resource: JSONObject) -> bool:
    """Return whether a custom resource may create the selected pods: by its name, or by a shared label.

    - Operators label pods with the name or with labels of their resource.
    """
    name, labels = text_at(resource, "metadata", "name"), map_at(resource, "metadata", "labels")
    return any(value == name or labels.get(label) == value for label, value in selector.equals)


def _is_custom(key: Key) -> bool:
    group = key[0]
    return "." in group and not group.endswith(".k8s.io")


class Resolver:
    """Finds the targets of references."""

    def __init__(self, index: ReferenceIndex, knowledge: Knowledge) -> None:
        self._index, self._knowledge = index, knowledge
        self._custom: dict[str, list[JSONObject]] = {}
        for key, obj in index.objects.items():
            if _is_custom(key):
                self._custom.setdefault(key[2], []).append(obj)

    def resolve(self, ref: ObjectRef, obj: JSONObject) -> Iterator[Edge]:
        """Yield the edges of one object."""
        for reference in list_references(ref, obj):
            yield self._resolve_reference(ref.key, reference)
        for selection in list_selections(ref, obj):
            yield from self._resolve_selection(ref.key, selection)
        definition = self._index.find_definition(ref.key)
        if definition is not None:
            yield Edge(ref.key, definition, ReferenceKind.INSTANCE, ("kind",))

    def _find_target(self, reference: Reference) -> Key:
        """Return the key of the target; owners and backends of cluster-scoped kinds have no namespace."""
        group, kind, _, name = reference.target
        anywhere = (group, kind, "", name)
        is_there = reference.target not in self._index.objects and anywhere in self._index.objects
        return anywhere if is_there else reference.target

    def _resolve_reference(self, source: Key, reference: Reference) -> Edge:
        target = self._find_target(reference)
        state, detail = self._judge(target, reference)
        return Edge(
            source,
            target,
            reference.kind,
            reference.path,
            reference.key,
            reference.mode,
            state,
            detail,
            reference.is_optional,
        )

    def _judge(self, target: Key, reference: Reference) -> tuple[EdgeState, str]:
        obj = self._index.objects.get(target)
        if obj is None:
            return self._judge_unseen(target, reference)
        if not reference.key:
            return EdgeState.EXISTS, ""
        if target[:2] == ("", "Service"):
            is_there = reference.key in _list_ports(obj) or text_at(obj, "spec", "type") == "ExternalName"
            return (EdgeState.EXISTS if is_there else EdgeState.PORT_MISSING), ""
        if target[1] in ENTRIES and reference.key not in list_keys(obj):
            return (EdgeState.OPTIONAL if reference.is_key_optional else EdgeState.KEY_MISSING), ""
        return EdgeState.EXISTS, ""

    def _judge_unseen(self, target: Key, reference: Reference) -> tuple[EdgeState, str]:
        if not target[0] and (target[1], target[3]) in _GIVEN:
            return EdgeState.EXISTS, ""
        if not self._knowledge.is_absent(target):
            status = self._knowledge.refused.get(target, 0)
            return EdgeState.UNKNOWN, str(status) if status else ""
        return (EdgeState.OPTIONAL if reference.is_optional else EdgeState.MISSING), ""

    def _resolve_selection(self, source: Key, selection: Selection) -> Iterator[Edge]:
        if selection.kind is ReferenceKind.NETWORK_POLICY and selection.selector.selects_all:
            return  # the policy applies to a namespace; edges to each of its pods add no information
        found = dict(self._index.select(selection))
        for target in found:
            yield Edge(source, target, selection.kind, selection.path)
        if not found:
            nobody = ("", "Pod", selection.namespace, "")
            state = self._judge_nothing(selection)
            yield Edge(source, nobody, selection.kind, selection.path, state=state, detail=str(selection.selector))
            return
        named = frozenset().union(*found.values())
        for port in selection.ports:
            if port.name not in named:
                target = next(iter(found))
                yield Edge(source, target, selection.kind, port.path, port.name, state=EdgeState.PORT_MISSING)

    def _judge_nothing(self, selection: Selection) -> EdgeState:
        """Return whether a selector without a known pod is certain to match none."""
        namespace, selector = selection.namespace, selection.selector
        asked = (namespace, str(selector)) in self._knowledge.unmatched
        is_empty = asked or namespace in self._knowledge.namespaces_created
        if not is_empty or selector.selects_all:
            return EdgeState.UNKNOWN
        made = any(may_be_made_by(selector, resource) for resource in self._custom.get(namespace, ()))
        return EdgeState.UNKNOWN if made else EdgeState.NO_MATCH
