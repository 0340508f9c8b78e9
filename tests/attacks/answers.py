"""What people post who may not read a Secret, and what they are told: answers, emails and webhooks as lines of text."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from applyviz.records.models import Delivery, Notification, NotificationEvent, Plan
from applyviz.workflow.notifications import deliveries, mail
from tests.stories import config_map

Answers = dict[tuple[str, str], list[str]]
T = TypeVar("T")
# One crawl reads one address of ten in every run, another share in each crawl, and each one in the breadth.
STEPS = (10, pytest.param(1, marks=pytest.mark.long))


def unpack(body: bytes) -> str:
    """The names and texts of an archive."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return "\n".join(f"{name}\n{archive.read(name).decode()}" for name in archive.namelist())


RANDOM = re.compile(
    r"[0-9a-f]{12,64}|masked:[0-9a-f]+|[A-Za-z0-9_-]{40,}|uid[^\n]*|resourceVersion[^\n]*|avz_\w+"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)


def read_words(answer: Any) -> list[str]:
    """The lines of an answer without what is random."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    text = unpack(body) if body[:2] == b"PK" else body.decode()
    text = re.sub(r">\s*<", ">\n<", text[max(text.find("<main"), 0) :])
    lines = (RANDOM.sub("#", line).strip() for line in text.splitlines())
    return [f"status {answer.status_code}", *(line for line in lines if line)]


def choose(addresses: Iterable[str], number: int, step: int) -> list[str]:
    """Return one address of `step`, each once; which one comes first changes with the number."""
    found = list(dict.fromkeys(addresses))
    return found[number % max(1, min(step, len(found))) :: step]


def share(addresses: Iterable[T], part: int, step: int) -> list[T]:
    """Return every address whose number is a part of `step`: crawls with other parts read other addresses."""
    return list(dict.fromkeys(addresses))[part % step :: step]


def list_told() -> list[str]:
    """Return the facts of notifications, each rendered email, and the body that each webhook receives."""
    facts = [f"{one.event} {one.is_quiet} {one.facts}" for one in NotificationEvent.objects.order_by("pk")]
    told = list(Notification.objects.order_by("pk"))
    mails = [mail._write(one.person, [one]) for one in told]
    bodies = [deliveries.render_body(one).decode() for one in Delivery.objects.order_by("pk")]
    assert mails
    assert bodies
    lines = (
        *(f"{one.person} {one.notification_event.event}" for one in told),
        *(f"{one.to} {one.subject} {one.body}" for one in mails),
        *(body.replace(json.loads(body)["id"], "#") for body in bodies),
    )
    return [RANDOM.sub("#", line) for line in (*facts, *lines)]


FILE = config_map(b="2").encode()
# What is posted to each plan, and by whom it is read; a digest stands for the one of that plan.
POSTED: dict[str, dict[str, str]] = {
    "reviews:add-comment": {"text": "fine", "position": "0"},
    "reviews:mark-viewed": {"position": "0", "viewed": "on"},
    "reviews:compare-file": {},
    "reviews:verify-plan": {},
    "reviews:acknowledge": {"kind": "secret-content", "position": "0", "note": "seen"},
    "reviews:acknowledge-all": {"note": "seen"},
    "reviews:confirm-plan": {"digest": "", "then": "approve"},
    "reviews:apply-plan": {"digest": ""},
    "reviews:emergency-apply": {"digest": "", "reason": "now", "ticket": "OPS-1", "password": "x"},
    "reviews:revoke-approval": {"digest": ""},
}
POSTERS = ("viewer", "mapped-author", "mapped-approver")


def post_all(plans: Sequence[Plan], readers: Mapping[str, User], step: int) -> Answers:
    """Return the answers to what people who may not read the Secret post, and what the plans show then.

    - Each of them posts each form to every plan when the step is 1. Else one of them posts each, to one plan of `step`.
    """
    found = {}
    for part, reader in enumerate(POSTERS):
        client = Client()
        client.force_login(readers[reader])
        for number, (name, form) in list(enumerate(POSTED.items(), part))[part % step :: min(step, len(POSTERS))]:
            for plan in plans[number % min(step, len(plans)) :: step]:
                address = reverse(name, args=[plan.review.number, plan.number])
                given: dict[str, Any] = {**form, **({"digest": plan.digest} if "digest" in form else {})}
                if name == "reviews:compare-file":
                    given["file"] = SimpleUploadedFile("settings.yaml", FILE)
                answer = client.post(address, given)
                found[reader, f"POST {address}"] = [answer.headers.get("Location", ""), *read_words(answer)]
        for name, plan in product(("reviews:show-plan", "reviews:show-activity"), plans[part % step :: step]):
            address = reverse(name, args=[plan.review.number, plan.number])
            found[reader, f"then {address}"] = read_words(client.get(address))
    return found
