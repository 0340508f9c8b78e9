"""The body of a write: bytes with their content type, read as the server reads them, at the same point.

Rule: content negotiation and serializers of k8s.io/apiserver and k8s.io/apimachinery. Requests of this process have
values and no bytes; a text is rendered for them when an error quotes it.
"""

from __future__ import annotations

import json
from typing import Any, Final

import yaml
from msgspec import Struct

from applyviz.engine.manifests.covers import read_tree
from applyviz.engine.manifests.limits import DEFAULT_LIMITS
from applyviz.engine.manifests.metadata import name_of_type
from applyviz.engine.objects.errors import ManifestError, SourcePosition
from applyviz.engine.objects.exchange import JSON
from applyviz.engine.objects.golang import quote
from applyviz.engine.objects.values import JSONValue
from applyviz.kubernetes.parity import protobuf
from applyviz.kubernetes.parity.json_text import JSONTextError, list_pairs, read_json
from applyviz.kubernetes.parity.status import unsupported_media_type

YAML: Final = "application/yaml"
_MEDIA_TYPES: Final = (JSON, YAML, protobuf.CONTENT_TYPE)
_SHOWN: Final = 30
_SYNTAX: Final = "YAML syntax: "
YAML_ERRORS: Final = "yaml: unmarshal errors:\n"
_FOLDED: Final = {"apiversion": "apiVersion", "kind": "kind"}
_FIND_KIND: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


class UnreadableError(Exception):
    """The body is malformed for its content type; the message is the server's."""


class Payload(Struct, frozen=True):
    """The body of a request: `text` as received, or, without one, the `value` itself."""

    content_type: str = ""
    text: bytes | None = None
    value: JSONValue = None

    @property
    def media_type(self) -> str:
        """The content type without its parameters."""
        return self.content_type.partition(";")[0].strip().lower()

    def quote(self) -> str:
        """Return the whole body as errors quote it."""
        return self._render().decode("utf-8", "replace")

    def summarize(self) -> str:
        """Return the beginning of the body, as errors show unrecognized content: bytes as hexadecimal digits."""
        data = self._render()
        if not data:
            return "<empty>"
        shown = data[:_SHOWN].decode("utf-8", "replace") if data[:1] == b"{" else data[:_SHOWN].hex()
        return f"{shown} ..." if len(data) > _SHOWN else shown

    def _render(self) -> bytes:
        if self.text is not None:
            return self.text
        return b"" if self.value is None else json.dumps(self.value).encode()

    def negotiate(self) -> str:
        """Return the media type of a whole object, JSON by default; refuse unsupported types (415)."""
        media_type = self.media_type if self.content_type else JSON
        if media_type not in _MEDIA_TYPES:
            raise unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: "
                + ", ".join(_MEDIA_TYPES)
            )
        return media_type

    def read(self) -> Any:
        """Return the value of the body, read by its media type.

        - Raises `UnreadableError`.
        """
        if self.text is None:
            return self.value
        media_type = self.negotiate()
        if media_type == YAML:
            return sort_keys(read_yaml(self.text))
        if media_type == protobuf.CONTENT_TYPE:
            try:
                return protobuf.read_protobuf(self.text)
            except (protobuf.ProtobufError, RecursionError) as error:
                raise UnreadableError(f"couldn't read the body as protobuf: {error}") from None
        return self.read_json("couldn't get version/kind; json parse error: ")

    def read_json(self, prefix: str) -> Any:
        """Return the value of a body that is JSON regardless of its content type."""
        if self.text is None:
            return self.value
        try:
            return read_json(self.text)
        except JSONTextError as error:
            raise UnreadableError(f"{prefix}{error}") from None

    def find_repeated(self) -> list[str]:
        """Return the messages of strict reading about repeated keys in YAML; the JSON reader reports its own."""
        is_yaml = self.text is not None and self.media_type == YAML
        return find_yaml_repeats(self.text or b"") if is_yaml else []


def sort_keys(value: JSONValue) -> Any:
    """Return the same value with the keys of its maps sorted, as Go writes what it read from YAML."""
    if isinstance(value, dict):
        return {name: sort_keys(value[name]) for name in sorted(value)}
    return [sort_keys(item) for item in value] if isinstance(value, list) else value


def read_yaml(text: bytes) -> Any:
    """Return the first document of a YAML text.

    - Raises `UnreadableError` with a message like `yaml: line 2: …`.
    """
    try:
        return read_tree(text, "", 1, DEFAULT_LIMITS, {}).value
    except ManifestError as error:
        # Go parses the whole text before it interprets it.
        fault = _find_syntax_error(text)
        key = _find_bad_key(yaml.compose(text, Loader=yaml.CSafeLoader)) if _is_bad_key(fault, error) else None
        if key is not None:
            raise UnreadableError(f"yaml: invalid map key: {_print_key(key)}") from None
        raise UnreadableError(_word_yaml(fault or error)) from None


def _is_bad_key(fault: ManifestError | None, error: ManifestError) -> bool:
    return fault is None and error.reason.startswith("invalid map key")


def _find_bad_key(node: yaml.Node | None) -> yaml.Node | None:
    """Return the first key of a map that is itself a map or a list, in the order of Go."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            found = key if not isinstance(key, yaml.ScalarNode) else _find_bad_key(value)
            if found is not None:
                return found
    elif isinstance(node, yaml.SequenceNode):
        return next((found for item in node.value if (found := _find_bad_key(item)) is not None), None)
    return None


def _print_key(node: yaml.Node) -> str:
    """Return a key as Go's `%#v` prints it."""
    if isinstance(node, yaml.SequenceNode):
        return "[]interface {}{" + ", ".join(map(_print_key, node.value)) + "}"
    if isinstance(node, yaml.MappingNode):
        pairs = sorted(f"{_print_key(key)}:{_print_key(value)}" for key, value in node.value)
        return "map[interface {}]interface {}{" + ", ".join(pairs) + "}"
    return quote(node.value) if node.tag.endswith(":str") else str(node.value)


def _find_syntax_error(text: bytes) -> ManifestError | None:
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.DocumentEndEvent):
                return None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = SourcePosition("", mark.line + 1, mark.column + 1) if mark is not None else SourcePosition()
        return ManifestError(f"{_SYNTAX}{error.problem or ''}", position)
    except yaml.YAMLError:
        return None
    return None


def _word_yaml(error: ManifestError) -> str:
    reason = error.reason.removeprefix(_SYNTAX)
    # Malformed text has no position, and the first line is not named.
    line = error.position.line if error.position.column else 0
    # Go's library omits the number of the first line, and counts from 0 unless the scanner stopped the reading.
    if reason == error.reason:
        return reason if reason.startswith("json: ") else f"yaml: {reason}"
    counted = line if _is_of_scanner(reason) else line - 1
    return f"yaml: line {counted}: {reason}" if line > 1 else f"yaml: {reason}"


_PARSER_WORDS: Final = ("did not find expected", "found undefined tag", "found duplicate", "found incompatible")


def _is_of_scanner(reason: str) -> bool:
    return not reason.startswith(_PARSER_WORDS) or reason.startswith(("did not find expected alphabetic",))


def find_yaml_repeats(text: bytes) -> list[str]:
    """Return one text that names every repeated key with the line of its value, or nothing."""
    tree = read_tree(text, "", 1, DEFAULT_LIMITS, {})
    lines = [f"  line {d.second.line}: key {quote(str(d.path[-1]))} already set in map" for d in tree.duplicates]
    return [YAML_ERRORS + "\n".join(lines)] if lines else []


def _wrong_kind(value: JSONValue, target: str) -> str:
    found = name_of_type(value)
    return f"couldn't get version/kind; json parse error: json: cannot unmarshal {found} into {target}"


def interpret(value: JSONValue) -> tuple[str, str]:
    """Return the apiVersion and kind that a body names, "" for absent ones.

    - Raises `UnreadableError` if they are not texts.
    """
    if value is None:
        return "", ""
    if not isinstance(value, dict):
        raise UnreadableError(_wrong_kind(value, f"Go value of type {_FIND_KIND}"))
    found = {"apiVersion": "", "kind": ""}
    problem = ""
    for name, item in list_pairs(value):
        field = _FOLDED.get(name.lower())
        if field is None or item is None:
            continue
        if isinstance(item, str):
            found[field] = item
        else:
            problem = problem or _wrong_kind(item, f"Go struct field .{field} of type string")
    if problem:
        raise UnreadableError(problem)
    if found["apiVersion"].count("/") > 1:
        raise UnreadableError(f"unexpected GroupVersion string: {found['apiVersion']}")
    return found["apiVersion"], found["kind"]
