"""The types that an expression has before it is evaluated, and the functions that accept them.

Rule: https://github.com/google/cel-spec/blob/master/doc/langdef.md#gradual-type-checking, the declarations of cel-go
v0.26.0 (`common/stdlib`, `ext`), and those of Kubernetes (`pkg/cel/library` of k8s.io/apiserver v0.36.3). A function
without a declaration here accepts anything and has a result of any type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class StaticType:
    """A type by its name; parameters of lists, maps and optional values; fields of objects.

    - `most`: how many letters or entries a value has at most; None where no schema says it.
    - `size`: the number of parts of the type, without those of its fields.
    """

    name: str
    parameters: tuple[StaticType, ...] = ()
    fields: Mapping[str, StaticType] | None = field(default=None, hash=False)
    most: int | None = field(default=None, compare=False)
    size: int = field(default=1, init=False, compare=False)

    def __post_init__(self) -> None:
        """Count the parts of the type."""
        object.__setattr__(self, "size", 1 + sum(one.size for one in self.parameters))

    def __str__(self) -> str:
        """Return the type as a server prints it."""
        inside = ", ".join(map(str, self.parameters))
        return f"{self.name}({inside})" if inside else self.name


DYN, ERROR, BOOL, STRING = (StaticType(name) for name in ("dyn", "!error!", "bool", "string"))
INT, DOUBLE, NULL = (StaticType(name) for name in ("int", "double", "null"))
_ANYTHING = ("dyn", "!error!")
_TAKES_NULL = ("timestamp", "duration")
_MOST_PARTS = 250


def _compose(name: str, *parameters: StaticType) -> StaticType:
    """Return a type with parameters; `DYN` beyond `_MOST_PARTS`, because each `map` of a chain can double the parts."""
    found = StaticType(name, parameters)
    return found if found.size <= _MOST_PARTS else DYN


def list_of(item: StaticType) -> StaticType:
    """Return the type of a list."""
    return _compose("list", item)


def map_of(key: StaticType, value: StaticType) -> StaticType:
    """Return the type of a map."""
    return _compose("map", key, value)


def optional_of(value: StaticType) -> StaticType:
    """Return the type of an optional value."""
    return _compose("optional_type", value)


def is_any(found: StaticType) -> bool:
    """Return whether a value may have any type, or its type is an error that was reported."""
    return found.name in _ANYTHING


class Signature(Struct, frozen=True):
    """The types of a function: its target first, its arguments, its result; one capital letter is a type parameter."""

    is_member: bool
    arguments: tuple[StaticType, ...]
    result: StaticType


_COMPARED: Final = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_NUMBERS: Final = ("int", "uint", "double")
_SUMMED: Final = (*_NUMBERS, "duration")
_DECLARED: Final = """
!_: (bool) bool
-_: (int) int, (double) double
==: (A, A) bool
!=: (A, A) bool
in: (A, list(A)) bool, (A, map(A, B)) bool
[]: (list(A), int) A, (map(A, B), A) B, (optional_type(list(A)), int) optional_type(A),
  (optional_type(map(A, B)), A) optional_type(B)
?:: (bool, A, A) A
+: (int, int) int, (uint, uint) uint, (double, double) double, (string, string) string, (bytes, bytes) bytes,
  (list(A), list(A)) list(A), (duration, duration) duration, (duration, timestamp) timestamp,
  (timestamp, duration) timestamp
-: (int, int) int, (uint, uint) uint, (double, double) double, (duration, duration) duration,
  (timestamp, timestamp) duration, (timestamp, duration) timestamp
*: (int, int) int, (uint, uint) uint, (double, double) double
/: (int, int) int, (uint, uint) uint, (double, double) double
%: (int, int) int, (uint, uint) uint
size: (string) int, (bytes) int, (list(A)) int, (map(A, B)) int,
  string.() int, bytes.() int, list(A).() int, map(A, B).() int
contains: string.(string) bool
startsWith: string.(string) bool
endsWith: string.(string) bool
matches: string.(string) bool, (string, string) bool
bool: (bool) bool, (string) bool
bytes: (bytes) bytes, (string) bytes
double: (double) double, (int) double, (string) double, (uint) double
duration: (duration) duration, (int) duration, (string) duration
dyn: (A) dyn
type: (A) type(A)
int: (int) int, (double) int, (duration) int, (string) int, (timestamp) int, (uint) int
uint: (uint) uint, (double) uint, (int) uint, (string) uint
string: (string) string, (bool) string, (bytes) string, (double) string, (duration) string, (int) string,
  (timestamp) string, (uint) string, (net.IP) string, (net.CIDR) string
timestamp: (timestamp) timestamp, (int) timestamp, (string) timestamp
getFullYear: timestamp.() int, timestamp.(string) int
getMonth: timestamp.() int, timestamp.(string) int
getDate: timestamp.() int, timestamp.(string) int
getDayOfMonth: timestamp.() int, timestamp.(string) int
getDayOfWeek: timestamp.() int, timestamp.(string) int
getDayOfYear: timestamp.() int, timestamp.(string) int
getHours: timestamp.() int, timestamp.(string) int, duration.() int
getMinutes: timestamp.() int, timestamp.(string) int, duration.() int
getSeconds: timestamp.() int, timestamp.(string) int, duration.() int
getMilliseconds: timestamp.() int, timestamp.(string) int, duration.() int
charAt: string.(int) string
indexOf: string.(string) int, string.(string, int) int, list(A).(A) int
lastIndexOf: string.(string) int, string.(string, int) int, list(A).(A) int
lowerAscii: string.() string
upperAscii: string.() string
trim: string.() string
replace: string.(string, string) string, string.(string, string, int) string
split: string.(string) list(string), string.(string, int) list(string)
substring: string.(int) string, string.(int, int) string
join: list(string).() string, list(string).(string) string
find: string.(string) string
findAll: string.(string) list(string), string.(string, int) list(string)
reverse: list(A).() list(A)
quantity: (string) kubernetes.Quantity
isQuantity: (string) bool
isGreaterThan: kubernetes.Quantity.(kubernetes.Quantity) bool, kubernetes.Semver.(kubernetes.Semver) bool
isLessThan: kubernetes.Quantity.(kubernetes.Quantity) bool, kubernetes.Semver.(kubernetes.Semver) bool
compareTo: kubernetes.Quantity.(kubernetes.Quantity) int, kubernetes.Semver.(kubernetes.Semver) int
asApproximateFloat: kubernetes.Quantity.() double
asInteger: kubernetes.Quantity.() int
isInteger: kubernetes.Quantity.() bool
add: kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity, kubernetes.Quantity.(int) kubernetes.Quantity
sub: kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity, kubernetes.Quantity.(int) kubernetes.Quantity
url: (string) kubernetes.URL
isURL: (string) bool
getScheme: kubernetes.URL.() string
getHost: kubernetes.URL.() string
getHostname: kubernetes.URL.() string
getPort: kubernetes.URL.() string
getEscapedPath: kubernetes.URL.() string
getQuery: kubernetes.URL.() map(string, list(string))
isIP: (string) bool
isCIDR: (string) bool
ip: (string) net.IP, net.CIDR.() net.IP
ip.isCanonical: (string) bool
family: net.IP.() int
isUnspecified: net.IP.() bool
isLoopback: net.IP.() bool
isLinkLocalMulticast: net.IP.() bool
isLinkLocalUnicast: net.IP.() bool
isGlobalUnicast: net.IP.() bool
cidr: (string) net.CIDR
containsIP: net.CIDR.(string) bool, net.CIDR.(net.IP) bool
containsCIDR: net.CIDR.(string) bool, net.CIDR.(net.CIDR) bool
prefixLength: net.CIDR.() int
masked: net.CIDR.() net.CIDR
sign: (kubernetes.Quantity) int
semver: (string) kubernetes.Semver, (string, bool) kubernetes.Semver
isSemver: (string) bool, (string, bool) bool
major: kubernetes.Semver.() int
minor: kubernetes.Semver.() int
patch: kubernetes.Semver.() int
path: kubernetes.authorization.Authorizer.(string) kubernetes.authorization.PathCheck
group: kubernetes.authorization.Authorizer.(string) kubernetes.authorization.GroupCheck
serviceAccount: kubernetes.authorization.Authorizer.(string, string) kubernetes.authorization.Authorizer
resource: kubernetes.authorization.GroupCheck.(string) kubernetes.authorization.ResourceCheck
subresource: kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
namespace: kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
name: kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
fieldSelector: kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
labelSelector: kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
check: kubernetes.authorization.PathCheck.(string) kubernetes.authorization.Decision,
  kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.Decision
errored: kubernetes.authorization.Decision.() bool
error: kubernetes.authorization.Decision.() string
allowed: kubernetes.authorization.Decision.() bool
reason: kubernetes.authorization.Decision.() string
sets.contains: (list(A), list(A)) bool
sets.equivalent: (list(A), list(A)) bool
sets.intersects: (list(A), list(A)) bool
optional.of: (A) optional_type(A)
optional.ofNonZeroValue: (A) optional_type(A)
hasValue: optional_type(A).() bool
value: optional_type(A).() A
or: optional_type(A).(optional_type(A)) optional_type(A)
orValue: optional_type(A).(A) A
"""
_TOKEN: Final = re.compile(r"[A-Za-z_][A-Za-z_.]*[A-Za-z_]|[A-Z]|[(),]")


def read_type(text: str) -> StaticType:
    """Return the type that is written as a server prints it."""
    tokens = _TOKEN.findall(text)
    return _read(tokens)


def _read(tokens: list[str]) -> StaticType:
    name = tokens.pop(0)
    if not tokens or tokens[0] != "(":
        return StaticType(name)
    parameters = []
    while tokens.pop(0) != ")":
        parameters.append(_read(tokens))
    return StaticType(name, tuple(parameters))


def _split_outside(text: str) -> Iterator[str]:
    """Yield the parts of a text between its commas that are in no parentheses."""
    depth, start = 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text[start:].strip():
        yield text[start:]


def _read_overload(text: str) -> Signature:
    target, _, rest = text.strip().rpartition(".(") if ".(" in text else ("", "", text.strip()[1:])
    depth, end = 1, 0
    while depth:
        depth += (rest[end] == "(") - (rest[end] == ")")
        end += 1
    arguments = [read_type(one) for one in _split_outside(rest[: end - 1])]
    before = (read_type(target),) if target else ()
    return Signature(bool(target), (*before, *arguments), read_type(rest[end:]))


@cache
def signatures() -> Mapping[str, tuple[Signature, ...]]:
    """Return the functions and operators with what they accept."""
    found: dict[str, tuple[Signature, ...]] = {}
    for line in re.sub(r",\n\s+", ", ", _DECLARED).strip().splitlines():
        name, _, overloads = line.partition(": ")
        found[name] = tuple(_read_overload(one) for one in _split_outside(overloads))
    same = [(StaticType(one), StaticType(one)) for one in _COMPARED]
    mixed = [(StaticType(one), StaticType(other)) for one in _NUMBERS for other in _NUMBERS if one != other]
    compared = tuple(Signature(False, pair, BOOL) for pair in (*same, *mixed))
    found |= dict.fromkeys(("<", "<=", ">", ">="), compared)
    lists = {name: (list_of(StaticType(name)),) for name in _COMPARED}
    greatest = tuple(Signature(True, lists[name], StaticType(name)) for name in _COMPARED)
    found |= {"isSorted": tuple(Signature(True, one, BOOL) for one in lists.values())}
    found |= {"min": greatest, "max": greatest}
    return found | {"sum": tuple(Signature(True, lists[name], StaticType(name)) for name in _SUMMED)}


def is_assignable(wanted: StaticType, found: StaticType, bound: dict[str, StaticType]) -> bool:
    """Return whether a value of a type is accepted; `bound` gets the types of the parameters."""
    if len(wanted.name) == 1 and wanted.name.isupper():
        known = bound.get(wanted.name)
        if known is None or (is_any(known) and not is_any(found)):
            bound[wanted.name] = found
            return True
        return is_assignable(known, found, bound)
    if is_any(wanted) or is_any(found):
        return True
    if "null" in (wanted.name, found.name) and wanted.name != found.name:
        other = found if wanted.name == "null" else wanted
        return other.fields is not None or other.name in _TAKES_NULL or "." in other.name
    if wanted.name != found.name or len(wanted.parameters) != len(found.parameters):
        return wanted.name == found.name
    return all(is_assignable(w, f, bound) for w, f in zip(wanted.parameters, found.parameters, strict=True))


def substitute(found: StaticType, bound: Mapping[str, StaticType]) -> StaticType:
    """Return a type with its parameters filled in; those that are not bound are of any type."""
    if len(found.name) == 1 and found.name.isupper():
        return bound.get(found.name, DYN)
    if not found.parameters:
        return found
    return _compose(found.name, *(substitute(one, bound) for one in found.parameters))
