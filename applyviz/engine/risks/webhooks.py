"""A webhook does not support dry runs, so its changes and refusals are known only when it is too late.

Rule: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#side-effects: a dry run
fails if it would call a webhook whose `sideEffects` are neither `None` nor `NoneOnDryRun`. Reported are the webhook
that the server's answer names, those of the set that apply to the object, and those that the object itself configures.
Selectors of webhooks are not evaluated: such a webhook may be called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.risks.model import Risk, RiskKind, RiskSubject
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import field_path, position_of

_GROUP = "admissionregistration.k8s.io"
_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_HARMLESS = ("None", "NoneOnDryRun")
_NAMED = re.compile(r'admission webhook "([^"]+)" does not support dry run')


WEBHOOK_WITHOUT_DRY_RUN = RiskKind(
    "webhook-without-dry-run",
    "Webhook does not support dry run",
    "Webhook {name} does not support dry run, so its changes are unknown.",
)


def _list_unfit(configuration: JSONObject) -> Iterator[tuple[int, JSONObject]]:
    """Yield the webhooks of a configuration that a dry run cannot call, with their positions."""
    webhooks = configuration.get("webhooks")
    for position, webhook in enumerate(webhooks if isinstance(webhooks, list) else ()):
        if isinstance(webhook, Mapping) and webhook.get("sideEffects") not in _HARMLESS:
            yield position, webhook


def _has(rule: JSONObject, name: str, *wanted: str) -> bool:
    return any(each in rule.get(name, ()) for each in ("*", *wanted))


def _is_asked(webhook: JSONObject, subject: RiskSubject) -> bool:
    gvk = subject.ref.gvk
    operation = "CREATE" if subject.live is None else "UPDATE"
    return any(
        _has(rule, "apiGroups", gvk.group)
        and _has(rule, "apiVersions", gvk.version)
        and _has(rule, "operations", operation)
        and _has(rule, "resources", "*/*", subject.plural)
        for rule in webhook.get("rules") or ()
    )


def _build_risk(name: JSONValue, *where: str | int, subject: RiskSubject) -> Risk:
    return WEBHOOK_WITHOUT_DRY_RUN.at(field_path(where), {"name": str(name)}, position_of(subject, where))


@rule(310)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the webhooks that keep a dry run from predicting the result."""
    named = dict.fromkeys(_NAMED.findall(subject.dry_run_answer))
    for kind in _KINDS if subject.ref.gvk.group != _GROUP else ():
        for configuration in subject.related.of_kind(kind):
            asked = (webhook for _, webhook in _list_unfit(configuration) if _is_asked(webhook, subject))
            named |= {str(webhook.get("name")): None for webhook in asked}
    yield from (_build_risk(name, subject=subject) for name in named)
    if subject.manifest is not None and subject.ref.gvk.kind in _KINDS:
        for position, webhook in _list_unfit(subject.manifest):
            yield _build_risk(webhook.get("name"), "webhooks", position, "sideEffects", subject=subject)
