"""Values of closed sets are slugs, because they are stored, compared and sent; words for people stand in catalogues."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from enum import Enum, StrEnum

from django.db.models import TextChoices

import applyviz
from applyviz.engine.readiness.status import State
from applyviz.engine.requests.options import Propagation, Validation
from applyviz.engine.requests.selectors import Operator
from applyviz.kubernetes.parity.status import FieldErrorType
from applyviz.queue import TaskName
from applyviz.records.enums import AuditAction, NotificationKind

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
EVENT = re.compile(r"[a-z]+\.[a-z]+(_[a-z]+)*")
# Kubernetes writes these so, in requests, selectors and answers.
OF_KUBERNETES = {State, Validation, Propagation, FieldErrorType, Operator}
# Labels of the graph, printed as they are: pages show them and nothing stores them.
LABELS = "applyviz.engine.references."
EVENTS = {AuditAction, NotificationKind, TaskName}


def list_sets() -> Iterator[type[Enum]]:
    for found in pkgutil.walk_packages(applyviz.__path__, "applyviz."):
        if ".migrations" in found.name or found.name == "applyviz.asgi":
            continue
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, StrEnum | TextChoices) and value.__module__ == found.name:
                yield value


def find_wrong(kind: type[Enum]) -> list[str]:
    rule = EVENT if kind in EVENTS else SLUG
    return [
        f"{kind.__name__}.{one.name} = {one.value!r}" for one in kind if one.value and not rule.fullmatch(one.value)
    ]


def test_values_are_slugs():
    found = list(list_sets())

    assert len(found) > 50
    ours = [kind for kind in found if kind not in OF_KUBERNETES and not kind.__module__.startswith(LABELS)]
    assert [wrong for kind in ours for wrong in find_wrong(kind)] == []


def test_sentences_are_no_slugs():
    planted = StrEnum("planted", {"A": "nothing to apply", "B": "nothing-to-apply", "C": "not_yet", "D": "Failed"})

    assert len(find_wrong(planted)) == 3
