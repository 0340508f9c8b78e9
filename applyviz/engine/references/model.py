"""References as data: from a place of one object to another object, to one of its keys, or to pods by their labels.

Rule: a reference that is optional is satisfied by nothing; how a ConfigMap or Secret is read decides whether running
pods see a change (https://kubernetes.io/docs/concepts/configuration/configmap/#mounted-configmaps-are-updated-automatically).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from applyviz.engine.references.selectors import LabelSelector

Key: TypeAlias = tuple[str, str, str, str]
"""Group, kind, namespace and name, as `ObjectRef.key`."""
PlainPath: TypeAlias = tuple[str | int, ...]


class ReferenceKind(StrEnum):
    """The relation of one object to another."""

    BACKEND = "backend"
    PARENT = "parent"
    CLASS = "class"
    CERTIFICATE = "certificate"
    CONFIGURATION = "configuration"
    PULL_SECRET = "pull secret"
    ACCOUNT = "account"
    CLAIM = "claim"
    CLAIM_TEMPLATE = "claim template"
    STORAGE = "storage"
    ROLE = "role"
    SUBJECT = "subject"
    POLICY = "policy"
    SCALE_TARGET = "scale target"
    OWNER = "owner"
    WEBHOOK = "webhook"
    API_SERVICE = "API service"
    GOVERNING_SERVICE = "governing service"
    INSTANCE = "instance"
    SERVICE_SELECTOR = "service selector"
    DISRUPTION_BUDGET = "disruption budget"
    NETWORK_POLICY = "network policy"


class ReadMode(StrEnum):
    """How pods read a ConfigMap or a Secret: only `MOUNTED` is refreshed after a container has started."""

    NONE = ""
    ENV = "env"
    ENV_FROM = "envFrom"
    MOUNTED = "mounted"
    SUB_PATH = "subPath"

    @property
    def is_read_once(self) -> bool:
        """Return whether running containers keep what they read."""
        return self in (ReadMode.ENV, ReadMode.ENV_FROM, ReadMode.SUB_PATH)


class Reference(Struct, frozen=True):
    """A reference of one object to another.

    - `key`: the entry of a ConfigMap or Secret, or the port of a Service (name or number); "": all, or none in
      particular. `is_key_optional`: the target may lack it.
    - `is_optional`: the object works without the target.
    """

    kind: ReferenceKind
    path: PlainPath
    target: Key
    key: str = ""
    mode: ReadMode = ReadMode.NONE
    is_optional: bool = False
    is_key_optional: bool = False


class NamedPort(Struct, frozen=True):
    """A port of a Service that leads to a port of its pods by name."""

    path: PlainPath
    name: str


class Selection(Struct, frozen=True):
    """A selection of pods of a namespace by their labels; `ports` are the ports that they should have."""

    kind: ReferenceKind
    path: PlainPath
    namespace: str
    selector: LabelSelector
    ports: tuple[NamedPort, ...] = ()
