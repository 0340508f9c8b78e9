"""The playground's input for a set: manifests, the objects of a cluster, and what is done with both."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import StrEnum

from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.argv import parse_apply
from applyviz.engine.requests.flags import UsageError
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Propagation, Prune, PruneMode, SetAction
from applyviz.guide.given import Query

FILE = "manifests.yaml"
_CASCADE = "--cascade="
_ENVIRONMENT = "KUBECTL_APPLYSET=true"


class SetTask(StrEnum):
    """What happens to the objects: an apply without prune, an apply with one of its two kinds, or a deletion."""

    KEEP = PruneMode.NONE.value
    ALLOWLIST = PruneMode.ALLOWLIST.value
    APPLYSET = PruneMode.APPLYSET.value
    DELETE = SetAction.DELETE.value


class SetQuery(Query, frozen=True):
    """One question about a set.

    - `before`: the manifests of the last apply, with the same options; `cluster`: the other objects of the cluster.
    - Only the fields of the chosen task count; an empty `selector` means `--all`.
    """

    manifest: str
    before: str = ""
    cluster: str = ""
    task: SetTask = SetTask.ALLOWLIST
    namespace: str = "default"
    selector: str = ""
    allowlist: tuple[str, ...] = ()
    applyset: str = ""
    propagation: Propagation = Propagation.BACKGROUND

    @property
    def is_deletion(self) -> bool:
        """Whether the objects that the manifests name are deleted."""
        return self.task is SetTask.DELETE

    @property
    def names_namespace(self) -> bool:
        """Whether the command names the namespace: an ApplySet needs it, and others than `default` have to be named."""
        return self.task is SetTask.APPLYSET or self.namespace != "default"

    @property
    def options(self) -> ApplyOptions:
        """Return the options of the plan."""
        if self.is_deletion:
            return ApplyOptions(action=SetAction.DELETE, namespace=self.namespace, propagation=self.propagation)
        return self.apply_options

    @property
    def apply_options(self) -> ApplyOptions:
        """Return the options of the apply: that of the manifests, and the earlier one that made the cluster."""
        is_listed = self.task is SetTask.ALLOWLIST
        prune = Prune()
        if is_listed:
            prune = Prune(PruneMode.ALLOWLIST, self.allowlist, is_all=not self.selector)
        elif self.task is SetTask.APPLYSET:
            prune = Prune(PruneMode.APPLYSET, applyset=self.applyset)
        return ApplyOptions(
            mode=ApplyMode.CLIENT,
            field_manager=CLIENT_SIDE_MANAGER,
            namespace=self.namespace,
            is_namespace_enforced=self.names_namespace,
            selector=self.selector if is_listed else "",
            prune=prune,
        )

    @property
    def command(self) -> str:
        """Return the command of kubectl that does the same with the manifests in one file."""
        verb = "delete" if self.is_deletion else "apply"
        return " ".join((*_list_environment(self), "kubectl", verb, "-f", FILE, *map(shlex.quote, _list_flags(self))))


def _list_environment(given: SetQuery) -> tuple[str, ...]:
    return (_ENVIRONMENT,) if given.task is SetTask.APPLYSET else ()


def _list_flags(given: SetQuery) -> tuple[str, ...]:
    named = ("-n", given.namespace) if given.names_namespace else ()
    match given.task:
        case SetTask.ALLOWLIST:
            chosen = ("-l", given.selector) if given.selector else ("--all",)
            return ("--prune", *chosen, *(f"--prune-allowlist={kind}" for kind in given.allowlist), *named)
        case SetTask.APPLYSET:
            return ("--prune", f"--applyset={given.applyset}", *named)
        case SetTask.DELETE:
            return ("--ignore-not-found", f"{_CASCADE}{given.propagation.value.lower()}", *named)
        case SetTask.KEEP:
            return named


def read_cascade(words: Sequence[str]) -> Propagation:
    """Return what the words of a `kubectl delete` say about dependents."""
    named = next((word.removeprefix(_CASCADE) for word in words if word.startswith(_CASCADE)), "background")
    return Propagation(named.capitalize())


def read_command(command: str, manifest: str, cluster: str, *, namespace: str) -> SetQuery:
    """Return the question that a command of kubectl asks; `namespace` is that of its context.

    - Raises `ManifestError` for a command that kubectl refuses before it reads anything.
    """
    words = shlex.split(command)
    start = words.index("kubectl")
    given = SetQuery(manifest, cluster=cluster, namespace=namespace)
    if words[start + 1] == "delete":
        return replace(given, task=SetTask.DELETE, propagation=read_cascade(words))
    environment = dict(word.partition("=")[::2] for word in words[:start])
    try:
        options = parse_apply(words[start + 1 :], environment, namespace=namespace).options
    except UsageError as error:
        raise ManifestError(str(error)) from None
    prune = options.prune
    if prune.mode is PruneMode.APPLYSET and not options.is_namespace_enforced:
        raise ManifestError("namespace is required to use namespace-scoped ApplySet")
    return replace(
        given,
        task=SetTask(prune.mode.value),
        namespace=options.namespace,
        selector=options.selector,
        allowlist=prune.allowlist,
        applyset=prune.applyset,
    )
