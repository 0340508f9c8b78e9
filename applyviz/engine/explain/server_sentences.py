"""Explain the most common errors of the API server, admission, kubectl, kustomize and the network.

Each sentence says what happened and what to do next; pages show the original text behind it.
"""

from __future__ import annotations

SENTENCES = {
    "webhook-timeout": "An admission webhook did not answer in time. Check the pods behind it, then re-plan.",
    "webhook-certificate": (
        "The API server does not trust the certificate of an admission webhook. Renew the certificate or the "
        "caBundle of the webhook configuration, then re-plan."
    ),
    "webhook-unreachable": (
        "The API server cannot reach an admission webhook. Check its Service and pods, then re-plan."
    ),
    "webhook-denied": (
        "An admission webhook rejected this object. Change the manifest as the message asks, or ask who runs "
        "the webhook."
    ),
    "policy-denied": "A validating admission policy rejected this object. Change the manifest as its message asks.",
    "pod-security": (
        "The pod security level of the namespace does not allow this pod. Set the security context as the "
        "message lists, or ask an administrator for another level."
    ),
    "quota-exceeded": (
        "The resource quota of the namespace is used up. Request less, delete what is not needed, or ask for "
        "more quota."
    ),
    "quota-unspecified": (
        "The resource quota of the namespace requires resource requests or limits. Set them for every container."
    ),
    "limit-range": (
        "A limit range of the namespace does not allow these resource requests or limits. Change them to fit its range."
    ),
    "namespace-terminating": (
        "The namespace is being deleted, so nothing can be created in it. Wait until it is gone, create it "
        "again, then re-plan."
    ),
    "namespace-not-found": "The namespace does not exist. Create it first, or add it to the manifests.",
    "impersonation": (
        "The account of this cluster is not allowed to impersonate this user or group. Grant it the verb impersonate, "
        "then re-plan."
    ),
    "escalation": (
        "Kubernetes lets an account grant only permissions that it has. Apply this role as an account that "
        "holds them, or grant the verb escalate."
    ),
    "forbidden": "The account is not allowed to do this. Grant the permission that the message names, then re-plan.",
    "apply-conflict": ("Other field managers own fields that this manifest sets. Resolve each conflict, then re-plan."),
    "changed-meanwhile": "The object changed between reading and writing. Re-plan to see its current state.",
    "port-allocated": (
        "Another Service already uses this port or IP address. Choose another one, or leave the field out."
    ),
    "already-exists": "An object of this name already exists. Re-plan: it was probably created after this plan.",
    "unknown-kind": (
        "The cluster does not serve this kind in this version. Install its CRD, or correct apiVersion and kind."
    ),
    "too-large": (
        "The object is larger than the API server stores. Split it; for a large last-applied annotation, use "
        "server-side apply."
    ),
    "unknown-field": "The manifest sets a field that the schema does not have. Correct its name or its indentation.",
    "duplicate-field": "The manifest sets the same field twice. Remove one of them.",
    "wrong-type": (
        "A value has the wrong type. Quote numbers and booleans where text is expected, and check lists and maps."
    ),
    "duplicate-key": "A list holds two entries with the same key. Merge them or rename one.",
    "immutable": (
        "Kubernetes does not let this field change after creation. Keep its value, or delete and create the "
        "object again."
    ),
    "selector-mismatch": (
        "The labels of the pod template do not match the selector. Give the template every label of the selector."
    ),
    "required": "A required field is missing. Add it to the manifest.",
    "invalid-label": (
        "A label is not valid: use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends."
    ),
    "invalid-name": (
        "A name is not valid: use lowercase letters, digits and '-', with a letter or digit at both ends."
    ),
    "unsupported-value": (
        "A field has a value that Kubernetes does not know. Use one of the supported values in the message."
    ),
    "quantity": "A quantity is not valid. Write it like 500m, 128Mi or 2.",
    "managed-fields": "Server-side apply accepts no managedFields in a manifest. Remove metadata.managedFields.",
    "invalid-value": "A field has a value that its validation rejects. Correct it as the message says.",
    "certificate": (
        "The certificate of the server is not trusted or has expired. Renew it, or correct the certificate authority."
    ),
    "connection-refused": (
        "Nothing listens at this address. Check that the server is running and that its address and port are correct."
    ),
    "unknown-host": "The name of the server cannot be resolved. Correct the name, or the DNS of this machine.",
    "overloaded-storage": "The storage of the cluster (etcd) failed. Check its health and free space, then try again.",
    "timeout": "The server did not answer in time. Check its load and the network, then try again.",
    "unauthorized": "The cluster does not accept the credential. Replace the credential of the cluster.",
    "too-many-requests": "The API server is limiting requests. Wait a moment, then try again.",
    "unavailable": "The API server, or an aggregated API behind it, is unavailable. Check its pods, then try again.",
    "kustomize-file": (
        "Kustomize cannot read a resource of the kustomization. Add the file to the upload, or correct its path."
    ),
    "kustomize-duplicate": (
        "Two resources of the kustomization have the same kind, namespace and name. Remove or rename one."
    ),
    "kustomize-patch": (
        "A patch of the kustomization matches no resource. Correct its target: kind, name and namespace."
    ),
    "not-found": "The object no longer exists. Re-plan to create it, or remove it from the manifests.",
}
