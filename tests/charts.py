"""Charts that the tests write: templates, a hook, a definition, a sub-chart and release notes."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping

SHOP: Mapping[str, str] = {
    "Chart.yaml": (
        "apiVersion: v2\nname: shop\nversion: 1.2.3\nappVersion: '7'\ndependencies: [{name: db, version: 0.1.0}]\n"
    ),
    "values.yaml": "color: blue\nreplicas: 2\nadminPassword: hunter-two\n",
    "templates/_helpers.tpl": '{{- define "shop.name" -}}{{ .Release.Name }}-shop{{- end -}}\n',
    "templates/settings.yaml": (
        'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include "shop.name" . }}\ndata:\n'
        "  color: {{ .Values.color | quote }}\n  replicas: {{ .Values.replicas | quote }}\n"
        "  namespace: {{ .Release.Namespace }}\n  kubernetes: {{ .Capabilities.KubeVersion.Version }}\n"
        '  things: {{ .Capabilities.APIVersions.Has "example.org/v1/Thing" | quote }}\n'
        '  live: {{ len (lookup "v1" "Namespace" "" "") | quote }}\n'
    ),
    "templates/two.yaml": (
        '{{ range tuple "a" "b" }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ . }}\n{{ end }}\n'
    ),
    "templates/migrate.yaml": (
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n"
        '  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: hook-succeeded}\n'
        "spec:\n  template:\n    spec:\n      restartPolicy: Never\n"
        "      containers: [{name: a, image: registry/a:1}]\n"
    ),
    "templates/tests/connect.yaml": (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: connect\n  annotations: {helm.sh/hook: test}\n"
        "spec:\n  containers: [{name: a, image: registry/a:1}]\n"
    ),
    "templates/secret.yaml": (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: admin\nstringData:\n"
        '  key: {{ printf "%s-key" .Release.Name }}\n'
    ),
    "templates/NOTES.txt": (
        "Thank you for {{ .Chart.Name }}.\n"
        "The password is {{ .Values.adminPassword }}, the key {{ .Release.Name }}-key.\n"
    ),
    "crds/things.yaml": (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"
        "  name: things.example.org\nspec:\n"
        "  group: example.org\n  scope: Namespaced\n  names: {kind: Thing, plural: things, singular: thing}\n"
        "  versions:\n"
        "    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n"
    ),
    "charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 0.1.0\n",
    "charts/db/values.yaml": "size: small\n",
    "charts/db/templates/db.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-db\ndata:\n"
        "  size: {{ .Values.size }}\n"
    ),
}


def folder(chart: Mapping[str, str] = SHOP, name: str = "shop", **more: str) -> dict[str, bytes]:
    """The files of a chart as an upload of its folder; `more` are files of it by path, with `__` for `/`."""
    files = {**chart, **{path.replace("__", "/"): text for path, text in more.items()}}
    return {f"{name}/{path}" if name else path: text.encode() for path, text in files.items()}


def archive(chart: Mapping[str, str] = SHOP, name: str = "shop") -> bytes:
    """A chart as `helm package` packs it; the same files give the same bytes."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for path, data in folder(chart, name).items():
            member = tarfile.TarInfo(path)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(target.getvalue(), mtime=0)
