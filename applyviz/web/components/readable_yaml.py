"""A value as YAML in its order, as people write it: multi-line texts are literal blocks.

PyYAML builds a node for each value and resolves it twice before it writes. A JSON value needs neither, so that it is
given to the writer of PyYAML event by event: the text is the same, in a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import yaml
from yaml.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from applyviz.engine.objects.values import JSONValue

_TEXT = "tag:yaml.org,2002:str"
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the C one where it is built
_resolve: Callable[[type[yaml.Node], str, tuple[bool, bool]], str] = yaml.resolver.Resolver().resolve
_representer = yaml.representer.SafeRepresenter()
_BEFORE = (StreamStartEvent(), DocumentStartEvent(explicit=False))
_AFTER = (DocumentEndEvent(explicit=False), StreamEndEvent())


def render_yaml(value: JSONValue) -> str:
    """Return a value as readable YAML, in its order."""
    events = (*_BEFORE, *_list_events(value), *_AFTER)
    text = str(yaml.emit(events, Dumper=_Dumper, allow_unicode=True, width=120))
    return text.removesuffix("...\n").rstrip("\n")


def _list_events(value: JSONValue) -> Iterator[Event]:
    if isinstance(value, str):
        is_plain = _resolve(yaml.ScalarNode, value, (True, False)) == _TEXT
        yield ScalarEvent(None, _TEXT, (is_plain, True), value, style="|" if "\n" in value else None)
    elif isinstance(value, Mapping):
        yield MappingStartEvent(None, None, True, flow_style=False)
        for name, item in value.items():
            yield from _list_events(name)
            yield from _list_events(item)
        yield MappingEndEvent()
    elif isinstance(value, list):
        yield SequenceStartEvent(None, None, True, flow_style=False)
        for item in value:
            yield from _list_events(item)
        yield SequenceEndEvent()
    else:
        node = _representer.represent_data(value)
        is_plain = _resolve(yaml.ScalarNode, node.value, (True, False)) == node.tag
        yield ScalarEvent(None, node.tag, (is_plain, False), node.value)
