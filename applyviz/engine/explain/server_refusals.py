"""Recognize the most common errors of the API server, admission, kubectl, kustomize and the network by their text.

Rule: the messages of `k8s.io/apimachinery` (`field.Error`, `errors.StatusError`), of admission plugins and kustomize,
matched by the words that stay the same between versions. The first pattern that fits wins: precise ones come first.
"""

from __future__ import annotations

from msgspec import Struct

from applyviz.engine.explain.server_sentences import SENTENCES
from applyviz.engine.objects.late_patterns import LatePattern

_LONGEST = 16_384
_WEBHOOK = "failed calling webhook"
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("webhook-timeout", rf"{_WEBHOOK}.*(?:deadline exceeded|Client\.Timeout|i/o timeout)"),
    ("webhook-certificate", rf"{_WEBHOOK}.*x509"),
    ("webhook-unreachable", _WEBHOOK),
    ("webhook-denied", r"admission webhook .* denied the request"),
    ("policy-denied", r"ValidatingAdmissionPolicy .* denied request"),
    ("pod-security", r"violates PodSecurity"),
    ("quota-exceeded", r"exceeded quota"),
    ("quota-unspecified", r"failed quota:.*must specify"),
    ("limit-range", r"(?:maximum|minimum) \S+ usage per|limit to request ratio"),
    ("namespace-terminating", r"because it is being terminated"),
    ("namespace-not-found", r'namespaces "[^"]*" not found'),
    ("impersonation", r"cannot impersonate"),
    ("escalation", r"attempting to grant RBAC permissions not currently held"),
    ("forbidden", r"is forbidden: User|cannot \w+ resource \""),
    ("apply-conflict", r"Apply failed with [0-9]+ conflict"),
    ("changed-meanwhile", r"the object has been modified|Precondition failed|StorageError: invalid object"),
    ("port-allocated", r"provided (?:port|IP) is already allocated"),
    ("already-exists", r"already exists"),
    ("unknown-kind", r"no matches for kind|could not find the requested resource|no kind \"[^\"]*\" is registered"),
    ("too-large", r"request is too large|Request entity too large|Too long: (?:may|must) not be more than [0-9]{5,}"),
    ("unknown-field", r"unknown field \""),
    ("duplicate-field", r"duplicate field \"|mapping key \"[^\"]*\" already defined"),
    (
        "wrong-type",
        r"cannot unmarshal|expected (?:string|numeric|boolean|map|list|number|bool)\S*, got|must be of type \w+:",
    ),
    ("duplicate-key", r"duplicate entries for key|Duplicate value|may not have duplicate"),
    (
        "immutable",
        r"field is immutable|is immutable|may not change once set|updates to \S+ spec for fields other than|"
        r"cannot change roleRef|pod updates may not change fields|updates to parameters are forbidden",
    ),
    ("selector-mismatch", r"`selector` does not match template `labels`"),
    ("required", r"Required value"),
    ("invalid-label", r"a valid label must be|valid label|label key and value"),
    ("invalid-name", r"RFC 1123|DNS-1035|DNS-1123|RFC-1123"),
    ("unsupported-value", r"Unsupported value"),
    ("quantity", r"quantities must match|unable to parse quantity"),
    ("managed-fields", r"managedFields must be nil"),
    ("invalid-value", r"Invalid value|Forbidden: |Too many: |Too long: |is invalid: "),
    ("certificate", r"x509:|certificate has expired|certificate signed by unknown authority"),
    ("connection-refused", r"connection refused"),
    ("unknown-host", r"no such host|Name or service not known|server misbehaving"),
    ("overloaded-storage", r"etcdserver: "),
    (
        "timeout",
        r"i/o timeout|deadline exceeded|Client\.Timeout|TLS handshake timeout|did not complete|request timed out",
    ),
    ("unauthorized", r"\bUnauthorized\b|must be logged in"),
    ("too-many-requests", r"[Tt]oo many requests"),
    ("unavailable", r"currently unable to handle the request|ServiceUnavailable"),
    ("kustomize-duplicate", r"may not add resource with an already registered id"),
    (
        "kustomize-file",
        r"accumulating resources|must build at directory|evalsymlink failure|new root .* cannot be absolute",
    ),
    ("kustomize-patch", r"no matches for Id|unable to find target|no resource matches strategic merge patch"),
    ("not-found", r"\" not found"),
)


class KnownError(Struct, frozen=True):
    """One kind of error: a slug, and the sentence for people."""

    kind: str
    sentence: str


_KNOWN = tuple((KnownError(kind, SENTENCES[kind]), LatePattern(pattern)) for kind, pattern in _PATTERNS)


def find_refusal(text: str) -> KnownError | None:
    """Return what the text of a server, of kubectl or of kustomize means; None for a text that no pattern knows."""
    text = text[:_LONGEST].replace("\n", " ")
    return next((refusal for refusal, pattern in _KNOWN if pattern.search(text)), None)
