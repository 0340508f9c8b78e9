"""Answer `kubectl create token`: a token of a ServiceAccount, in the form of the server.

Rule: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/. No sandbox signs
or accepts such a token: its algorithm is `none`, so that no reader takes it for one that opens something.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import datetime

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.golang import quote
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.kubernetes.parity.name_formats import path_segment_problems
from applyviz.kubernetes.parity.payloads import Payload
from applyviz.kubernetes.parity.status import FieldError, bad_request, conflict, invalid, invalid_object, not_found
from applyviz.sandbox.api.write_options import read_options
from applyviz.sandbox.lifecycle.grace_periods import shift
from applyviz.sandbox.storage.bodies import check_identity, read_body
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.store import ObjectKey

_ISSUER = "https://kubernetes.default.svc"
_USUAL, _LEAST, _MOST = 3600, 600, 1 << 32
_GROUP, _KIND = "authentication.k8s.io", "TokenRequest"
_REQUEST = GroupVersionKind(_GROUP, "v1", _KIND)
_BOUND = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
"""The kinds of the core group whose objects a token may be bound to."""


def issue_token(
    cluster: SandboxCluster, request: Request, route: Route, target: ResourceTarget, user: str, payload: Payload
) -> Answer:
    """POST of a TokenRequest to a ServiceAccount.

    - Raises `StatusError`: 400 for another kind or namespace and for a wrong type, 404 without the account or the
      object that the token is bound to, 409 for another uid of one of them, 422 for another name, and for a duration
      that is too short or too long.
    """
    body = read_body(target.with_kind(_REQUEST), payload, read_options(request, user).validation)
    sent = body.obj
    check_identity(route, target, sent, is_create=True)
    if (name := sent["metadata"].get("name")) and name != route.name:
        error = invalid("metadata.name", name, "must match the service account name if specified")
        raise invalid_object(_GROUP, _KIND, route.name, [error])
    account = cluster.get(target, route.namespace, route.name)
    uid, given = account["metadata"]["uid"], get_at(sent, ("metadata", "uid"))
    if given and given != uid:
        detail = f"the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        raise conflict(_GROUP, _KIND, route.name, detail)
    seconds = get_at(sent, ("spec", "expirationSeconds"))
    seconds = _USUAL if seconds is None else seconds
    if errors := list(_list_problems(seconds)):
        raise invalid_object(_GROUP, _KIND, "", errors)
    bound = get_at(sent, ("spec", "boundObjectRef"))
    if bound is not None:
        _check_bound(cluster, bound, route)
    audiences = get_at(sent, ("spec", "audiences")) or [_ISSUER]
    now = cluster.now()
    expires = shift(now, seconds)
    metadata = {**sent["metadata"], "name": route.name, "uid": uid, "creationTimestamp": now}
    spec = {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound}
    status = {"token": _write_token(account, audiences, now, expires), "expirationTimestamp": expires}
    made = {"kind": _KIND, "apiVersion": f"{_GROUP}/v1", "metadata": metadata, "spec": spec, "status": status}
    return Answer(201, made, body.warnings)


def _check_bound(cluster: SandboxCluster, bound: JSONObject, route: Route) -> None:
    """Raise `StatusError` unless a token of the account can be bound to an object."""
    (group, version, kind), name = GroupVersionKind.from_object(bound), bound.get("name", "")
    if group or kind not in _BOUND:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    if not name:
        raise bad_request("Name parameter required.")
    if problems := path_segment_problems(name):
        raise bad_request(f"Name parameter invalid: {quote(name)}: {';'.join(problems)}")
    namespace = "" if kind == "Node" else route.namespace
    found = cluster.store.get(ObjectKey("", _BOUND[kind], namespace, name))
    if found is None:
        raise not_found("", _BOUND[kind], name)
    if kind == "Pod" and get_at(found, ("spec", "serviceAccountName")) != route.name:
        account = f'serviceaccount "{route.name}"'
        raise bad_request(f"cannot bind token for {account} to pod running with different serviceaccount name.")
    if bound.get("uid") and bound["uid"] != found["metadata"]["uid"]:
        detail = f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record. "
        raise conflict("", kind, name, f"{detail}The object might have been deleted and then recreated")


def _list_problems(seconds: JSONValue) -> Iterator[FieldError]:
    path = "spec.expirationSeconds"
    if not isinstance(seconds, int) or seconds < _LEAST:
        yield invalid(path, seconds, "may not specify a duration less than 10 minutes")
    elif seconds > _MOST:
        yield invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")


def _write_token(account: JSONObject, audiences: JSONValue, issued: str, expires: str) -> str:
    meta = account["metadata"]
    claims = {
        "aud": audiences,
        "exp": _count_seconds(expires),
        "iat": _count_seconds(issued),
        "iss": _ISSUER,
        "sub": f"system:serviceaccount:{meta['namespace']}:{meta['name']}",
    }
    parts = ({"alg": "none"}, claims)
    return ".".join([*(_encode(json.dumps(part, separators=(",", ":"))) for part in parts), ""])


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _count_seconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp())
