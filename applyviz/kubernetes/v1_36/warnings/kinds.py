"""The warnings of the server about an object that it accepts, by kind.

Rule: the warnings on create and update of the strategies in `pkg/registry` of k8s.io/kubernetes v1.36.3. Left
out: certificates of Secrets, sizes of Jobs with an index, topologies, addresses in a status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.quantities import canonical_quantity, parse_quantity
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.parity.name_formats import label_problems
from applyviz.kubernetes.v1_36.validation.claim_updates import CLASS_ANNOTATION
from applyviz.kubernetes.v1_36.warnings.common import (
    ALL_WARNINGS,
    CUT_WARNING,
    NODE_LABELS,
    warn_of_address,
    warn_of_network,
    warn_of_sources,
    warn_of_term,
)
from applyviz.kubernetes.v1_36.warnings.pods import warn_of_claim, warn_of_pod

DEPRECATED_RESOURCES: Mapping[tuple[str, str, str], str] = {
    ("", "v1", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ("", "v1", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
}
"""The warning about every request to a resource, by group, version and plural."""
_Warn = Callable[[JSONObject, JSONObject | None], Iterator[str]]
_SURPRISING = "which can result in surprising behavior; a DNS label is recommended"
_NAMES = f"this is used in Pod names and hostnames, {_SURPRISING}"
_HOSTNAME = f"this is used in the Pod's hostname, {_SURPRISING}"
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_HINTS = "service.kubernetes.io/topology-aware-hints"


def _generation(obj: JSONObject) -> int | None:
    found: int | None = obj["metadata"].get("generation")
    return found


def _warn_of_name(obj: JSONObject, sentence: str = _NAMES) -> Iterator[str]:
    problems = label_problems(obj["metadata"].get("name", ""))
    if problems:
        yield f"metadata.name: {sentence}: [{' '.join(problems)}]"


def _templated(*path: str, has_name: bool = True) -> _Warn:
    """Return the warnings of a kind with a template, which an update repeats if the generation changes."""

    def warn(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
        if live is None and has_name:
            yield from _warn_of_name(obj)
        if live is None or _generation(obj) != _generation(live):
            yield from warn_of_pod(get_at(obj, path) or {}, ".".join(path) + ".")

    return warn


def _daemon_set(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    template = get_at(obj, ("spec", "template"))
    if live is None or template != get_at(live, ("spec", "template")):
        yield from warn_of_pod(template or {}, "spec.template.")


def _stateful_set(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    yield from _templated("spec", "template", has_name=False)(obj, live)
    for position, claim in enumerate(get_at(obj, ("spec", "volumeClaimTemplates")) or ()):
        part = ".Spec" if live is not None else ""  # so the server names it in an update
        yield from warn_of_claim(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{position}]{part}")
    if (get_at(obj, ("spec", "revisionHistoryLimit")) or 0) < 0:
        yield (
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
        )


def _replication_controller(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    # Of an update the server warns about the template that was there before.
    if live is None:
        yield from _templated("spec", "template")(obj, None)
    elif _generation(obj) != _generation(live):
        yield from warn_of_pod(get_at(live, ("spec", "template")) or {}, "spec.template.")


def _pod(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    if live is None:
        yield from _warn_of_name(obj, _HOSTNAME)
        yield from warn_of_pod(obj)


def _is_headless(spec: JSONObject) -> bool:
    return spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"


def _service(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if _HINTS in (obj["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
    for position, address in enumerate(spec.get("clusterIPs") or () if spec.get("clusterIP") != "None" else ()):
        yield from warn_of_address(address, f"spec.clusterIPs[{position}]")
    if _is_headless(spec):
        yield from _warn_of_headless(spec)
    for position, address in enumerate(spec.get("externalIPs") or ()):
        yield from warn_of_address(address, f"spec.externalIPs[{position}]")
    yield from _warn_of_type(spec)
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _warn_of_type(spec: JSONObject) -> Iterator[str]:
    """Yield fields that are deprecated, or ignored because of the type of a Service."""
    name = "ExternalName"
    is_named, has_externals = spec.get("type") == name, bool(spec.get("externalIPs"))
    if has_externals and not _is_headless(spec) and not is_named:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from warn_of_address(spec.get("loadBalancerIP") or "", "spec.loadBalancerIP")
    for position, network in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from warn_of_network(network, f"spec.loadBalancerSourceRanges[{position}]")
    if has_externals and is_named:
        yield f'spec.externalIPs is ignored when spec.type is "{name}"'
    if spec.get("externalName") and not is_named:
        yield f'spec.externalName is ignored when spec.type is not "{name}"'


def _warn_of_headless(spec: JSONObject) -> Iterator[str]:
    if spec.get("loadBalancerIP"):
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.get("externalIPs"):
        yield "spec.externalIPs is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"


def _network_policy(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    for key, side in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(get_at(obj, ("spec", key)) or ()):
            for j, peer in enumerate(rule.get(side) or ()):
                block, at = peer.get("ipBlock") or {}, f"spec.{key}[{i}].{side}[{j}].ipBlock"
                yield from warn_of_network(block.get("cidr", ""), f"{at}.cidr")
                for k, network in enumerate(block.get("except") or ()):
                    yield from warn_of_network(network, f"{at}.except[{k}]")


def _ingress(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    key = "kubernetes.io/ingress.class"
    is_marked = key in (obj["metadata"].get("annotations") or {})
    if live is None and is_marked and get_at(obj, ("spec", "ingressClassName")) is None:
        yield f"annotation \"{key}\" is deprecated, please use 'spec.ingressClassName' instead"


def _endpoint_slice(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    if live is None and obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    for position, endpoint in enumerate(obj.get("endpoints") or ()):
        for index, address in enumerate(endpoint.get("addresses") or ()):
            yield from warn_of_address(address, f"endpoints[{position}].addresses[{index}]")


def _endpoints(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    for position, subset in enumerate(obj.get("subsets") or ()):
        for key in ("addresses", "notReadyAddresses"):
            for index, address in enumerate(subset.get(key) or ()):
                yield from warn_of_address(address.get("ip", ""), f"subsets[{position}].{key}[{index}].ip")


def _claim(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    if CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}):
        instead = 'deprecated since v1.8; use "storageClassName" attribute instead'
        yield f"metadata.annotations[{CLASS_ANNOTATION}]: {instead}"
    yield from warn_of_claim(obj.get("spec") or {}, "spec")


def _volume(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        instead = "Instead, the recommended approach is to use dynamic provisioning."
        yield f"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. {instead}"
    for position, term in enumerate(get_at(spec, ("nodeAffinity", "required", "nodeSelectorTerms")) or ()):
        yield from warn_of_term(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{position}]")
    yield from warn_of_sources(spec, "spec.")


def _driver(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    requests = spec.get("tokenRequests")
    is_changed = live is None or requests != get_at(live, ("spec", "tokenRequests"))
    if requests and is_changed and spec.get("serviceAccountTokenInSecrets") is None:
        yield (
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, "
            "set to true to prevent possible logging of tokens in volume attributes"
        )


def _runtime_class(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    for key in sorted(get_at(obj, ("scheduling", "nodeSelector")) or ()):
        if key in NODE_LABELS:
            yield f"scheduling.nodeSelector: {NODE_LABELS[key]}"


def _service_account(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    is_new = live is None or _MOUNTABLE not in (live["metadata"].get("annotations") or {})
    if is_new and _MOUNTABLE in (obj["metadata"].get("annotations") or {}):
        instead = "prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; {instead}"


def _node(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for position, network in enumerate(spec.get("podCIDRs") or ()):
        yield from warn_of_network(network, f"spec.podCIDRs[{position}]")


def _quota(obj: JSONObject, live: JSONObject | None) -> Iterator[str]:
    hard = get_at(obj, ("spec", "hard")) or {}
    for name in ("cpu", "memory", "ephemeral-storage") if live is None else ():
        requested = f"requests.{name}"
        if requested not in hard and name != "ephemeral-storage":
            requested = name
        limit, texts = f"limits.{name}", (str(hard.get(requested)), str(hard.get(f"limits.{name}")))
        request_value, limit_value = (parse_quantity(text) for text in texts)
        if request_value and limit_value and request_value[0] > limit_value[0]:
            low, high = (canonical_quantity(text) for text in texts)
            yield f"ResourceQuota {requested} ({low}) should be less than {limit} ({high})"


_KINDS: Mapping[tuple[str, str], _Warn] = {
    ("", "pods"): _pod,
    ("", "podtemplates"): _templated("template", has_name=False),
    ("", "replicationcontrollers"): _replication_controller,
    ("apps", "deployments"): _templated("spec", "template"),
    ("apps", "replicasets"): _templated("spec", "template"),
    ("apps", "statefulsets"): _stateful_set,
    ("apps", "daemonsets"): _daemon_set,
    ("batch", "jobs"): _templated("spec", "template"),
    ("batch", "cronjobs"): _templated("spec", "jobTemplate", "spec", "template"),
    ("", "services"): _service,
    ("", "endpoints"): _endpoints,
    ("discovery.k8s.io", "endpointslices"): _endpoint_slice,
    ("networking.k8s.io", "networkpolicies"): _network_policy,
    ("networking.k8s.io", "ingresses"): _ingress,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("storage.k8s.io", "csidrivers"): _driver,
    ("node.k8s.io", "runtimeclasses"): _runtime_class,
    ("", "serviceaccounts"): _service_account,
    ("", "nodes"): _node,
    ("", "resourcequotas"): _quota,
}


def list_warnings(group: str, plural: str, obj: JSONObject, live: JSONObject | None) -> tuple[str, ...]:
    """Return the warnings about a new object, or about one that replaces a live one; each once, as many as are sent."""
    warn = _KINDS.get((group, plural))
    found: dict[str, None] = {}
    size = 0
    for text in warn(obj, live) if warn is not None else ():
        size += 0 if text in found else min(len(text), CUT_WARNING)
        found[text] = None
        if size >= ALL_WARNINGS:
            break
    return tuple(found)
