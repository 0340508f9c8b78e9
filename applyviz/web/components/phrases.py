"""Sentences of the engine in the language of the page: the engine gives templates and facts, translated here."""

from __future__ import annotations

from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.explain.sentences import find_sentence
from applyviz.engine.risks import sentences
from applyviz.engine.risks.model import Risk, RiskKind
from applyviz.engine.schema.builtin import RELEASE
from applyviz.engine.schema.model import SchemaOrigin
from applyviz.workflow.foundation.grant_scopes import Scope


def describe_reason(reason: FieldReason) -> str:
    """Return why a field has its value after apply."""
    sentence = find_sentence(reason)
    return gettext(sentence.template).format(**sentence.facts)


def describe_scope(scope: Scope) -> str:
    """Return the scope of a grant or a policy: clusters and namespaces by their patterns."""
    if scope == Scope():
        return gettext("everywhere")
    clusters = gettext("every cluster") if scope.cluster_pattern == "*" else scope.cluster_pattern
    spaces = gettext("every namespace") if scope.namespace_pattern == "*" else scope.namespace_pattern
    facts = {"clusters": clusters, "namespaces": spaces}
    if scope.is_cluster_scoped:
        return gettext("%(clusters)s: %(namespaces)s and cluster-scoped objects") % facts
    return gettext("%(clusters)s: %(namespaces)s") % facts


def describe_risk(risk: Risk) -> str:
    """Return the sentence of a risk, with its field in front."""
    return sentences.render_risk(risk, gettext)


METHODS = {
    "create": gettext_lazy("create"),
    "delete": gettext_lazy("delete"),
    "JSON merge patch": gettext_lazy("JSON merge patch"),
    "JSON patch": gettext_lazy("JSON patch"),
    "replace": gettext_lazy("replace"),
    "server-side apply": gettext_lazy("server-side apply"),
    "strategic merge patch": gettext_lazy("strategic merge patch"),
}
ORIGINS = {
    SchemaOrigin.SOURCE_CRD: gettext_lazy("CRD in the same manifests"),
    SchemaOrigin.CLUSTER_OPENAPI: gettext_lazy("OpenAPI v3 of the cluster"),
    SchemaOrigin.CLUSTER_CRD: gettext_lazy("CRD of the cluster"),
    SchemaOrigin.BUNDLED: format_lazy(gettext_lazy("bundled {release}"), release=RELEASE),
    SchemaOrigin.NONE: gettext_lazy("unknown kind"),
}


def name_method(method: str) -> str:
    """Return the method by which an object is written."""
    return str(METHODS.get(method, method))


def describe_certainty(reason: str) -> str:
    """Return why a change is confirmed or estimated."""
    return gettext(reason) if reason else ""


def title_risk(risk: Risk) -> str:
    """Return a short title of one risk."""
    return gettext(sentences.title_of(risk))


def title_kind(kind: RiskKind) -> str:
    """Return a short title of a kind of risks."""
    return gettext(sentences.title(kind))
