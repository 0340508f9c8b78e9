"""The Kubernetes user of our requests: the cluster's own credential, or a user and groups that it impersonates.

Rule: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation. Headers are made only
from these values, never from anything that a client sent. Reserved names (`system:…`) are refused, except for service
accounts outside the cluster's own namespaces; so are empty names and names that do not fit one header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.values import JSONObject, JSONValue

OWN = "cluster credential"
"""How the digest and people name the cluster's own credential."""
MOST_GROUPS = 32
_NAME = re.compile(r"[!-~](?:[ -~]{0,251}[!-~])?")
_ACCOUNT = re.compile(r"system:serviceaccount:([a-z0-9](?:[-a-z0-9]*[a-z0-9])?):[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?")


class Identity(Struct, frozen=True):
    """The impersonated user of requests; without a user it is the cluster's own credential."""

    user: str = ""
    groups: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether the identity is the cluster's own credential, without impersonation."""
        return not self.user and not self.groups

    def __str__(self) -> str:
        if self.is_own:
            return OWN
        return f"{self.user} ({', '.join(self.groups)})" if self.groups else self.user

    def to_json(self) -> dict[str, JSONValue]:
        """Return the identity as a plan stores it; {} for the cluster's own credential."""
        return {} if self.is_own else {"user": self.user, "groups": list(self.groups)}

    @classmethod
    def from_json(cls, data: JSONObject) -> Identity:
        """Return the identity that a plan stores."""
        return cls(str(data.get("user", "")), tuple(str(group) for group in data.get("groups", ())))

    def list_headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers of every request; raises `ClusterError` for a forbidden identity."""
        if self.is_own:
            return ()
        found = tuple(find_identity_problems(self.user, self.groups))
        if found:
            raise ClusterError(f"this identity cannot be used: {'; '.join(found)}")
        return (("Impersonate-User", self.user), *(("Impersonate-Group", group) for group in self.groups))


def _find_user_problems(user: str) -> Iterator[str]:
    if not _NAME.fullmatch(user):
        yield "the user must be printable text without spaces around it, at most 253 characters"
    elif user.startswith("system:"):
        account = _ACCOUNT.fullmatch(user)
        if account is None or account[1].startswith("kube-"):
            yield f"{user} is reserved by the cluster"


def find_identity_problems(user: object, groups: object) -> Iterator[str]:
    """Yield every reason why a user and groups cannot be impersonated; nothing if they can."""
    if not isinstance(user, str):
        yield "the user must be text"
    else:
        yield from _find_user_problems(user)
    if not isinstance(groups, (list, tuple)):
        yield "the groups must be a list"
        return
    if len(groups) > MOST_GROUPS:
        yield f"there are more than {MOST_GROUPS} groups"
    for group in groups:
        if not isinstance(group, str) or not _NAME.fullmatch(group):
            yield "a group must be printable text without spaces around it, at most 253 characters"
        elif group.startswith("system:"):
            yield f"{group} is reserved by the cluster"
