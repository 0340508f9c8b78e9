"""Three releases of an ingress controller with everything that makes its upgrade hard.

Admission Jobs whose template is immutable and names the release, a webhook configuration that a Job completes, an
IngressClass, a Service with addresses of the server, empty `data`, labels with the version on every object, and in the
last release an object that is gone and one that is new.
"""

from __future__ import annotations

from dataclasses import dataclass

JOBS = ("admission-create", "admission-patch")


@dataclass(frozen=True)
class Release:
    """One release: its version, that of the image of its Jobs, and what its controller may read."""

    version: str
    hook: str
    reads: str = "[configmaps, endpoints, nodes, pods, secrets]"
    arguments: str = ""
    leader: str = "configmaps"
    annotations: str = ""
    more: str = ""


RELEASES = (
    Release("1.8.0", "v20230407"),
    Release(
        "1.9.0",
        "v20231011",
        reads="[configmaps, endpoints, nodes, pods, secrets, namespaces]",
        arguments="\n        - --enable-metrics=false",
    ),
    Release(
        "1.10.0",
        "v20231226",
        reads="[configmaps, endpoints, nodes, pods, secrets, namespaces]",
        arguments="\n        - --enable-metrics=false\n        - --enable-annotation-validation",
        leader="leases",
        annotations="\n  annotations: {reviewed-as: bundle}",
        more="""
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: PREFIX-admission, namespace: PREFIX, labels: LABELS}
spec:
  podSelector: {matchLabels: {app.kubernetes.io/name: PREFIX, app.kubernetes.io/component: admission-webhook}}
  policyTypes: [Ingress, Egress]
  egress: [{}]
""",
    ),
)
_JOB = """
---
apiVersion: batch/v1
kind: Job
metadata: {name: PREFIX-JOB, namespace: PREFIX, labels: LABELS}
spec:
  template:
    metadata: {name: PREFIX-JOB, labels: LABELS}
    spec:
      restartPolicy: OnFailure
      serviceAccountName: PREFIX-admission
      nodeSelector: {kubernetes.io/os: linux}
      securityContext: {runAsNonRoot: true, runAsUser: 2000, fsGroup: 2000}
      containers:
      - name: JOB
        image: "registry.example.com/certificates:HOOK"
        args: [JOB, --namespace=$(POD_NAMESPACE), --secret-name=PREFIX-admission]
        env:
        - name: POD_NAMESPACE
          valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
        securityContext: {allowPrivilegeEscalation: false}
"""
_TEXT = """apiVersion: v1
kind: Namespace
metadata: {name: PREFIX, labels: {app.kubernetes.io/name: PREFIX, app.kubernetes.io/instance: PREFIX}}
---
apiVersion: v1
kind: ServiceAccount
automountServiceAccountToken: true
metadata: {name: PREFIX, namespace: PREFIX, labels: LABELS}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: PREFIX-admission, namespace: PREFIX, labels: LABELS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: PREFIX, namespace: PREFIX, labels: LABELS}
rules:
- {apiGroups: [""], resources: READS, verbs: [get, list, watch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [PREFIX-LEADER], verbs: [get, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: PREFIX-admission, namespace: PREFIX, labels: LABELS}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: PREFIX, labels: LABELS}
rules:
- {apiGroups: [""], resources: READS, verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: PREFIX-admission, labels: LABELS}
rules:
- apiGroups: [admissionregistration.k8s.io]
  resources: [validatingwebhookconfigurations]
  verbs: [get, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: PREFIX, namespace: PREFIX, labels: LABELS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: PREFIX}
subjects: [{kind: ServiceAccount, name: PREFIX, namespace: PREFIX}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: PREFIX-admission, namespace: PREFIX, labels: LABELS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: PREFIX-admission}
subjects: [{kind: ServiceAccount, name: PREFIX-admission, namespace: PREFIX}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: PREFIX, labels: LABELS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: PREFIX}
subjects: [{kind: ServiceAccount, name: PREFIX, namespace: PREFIX}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: PREFIX-admission, labels: LABELS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: PREFIX-admission}
subjects: [{kind: ServiceAccount, name: PREFIX-admission, namespace: PREFIX}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: PREFIX, namespace: PREFIX, labels: LABELS}
data:
---
apiVersion: v1
kind: Service
metadata: {name: PREFIX, namespace: PREFIX, labels: LABELS}
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  ports:
  - {name: http, port: 80, protocol: TCP, targetPort: http, appProtocol: http}
  - {name: https, port: 443, protocol: TCP, targetPort: https, appProtocol: https}
  selector: {app.kubernetes.io/name: PREFIX, app.kubernetes.io/component: controller}
---
apiVersion: v1
kind: Service
metadata: {name: PREFIX-admission, namespace: PREFIX, labels: LABELS}
spec:
  type: ClusterIP
  ports: [{name: https-webhook, port: 443, targetPort: webhook, appProtocol: https}]
  selector: {app.kubernetes.io/name: PREFIX, app.kubernetes.io/component: controller}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: PREFIX, namespace: PREFIX, labels: LABELS}
spec:
  minReadySeconds: 0
  revisionHistoryLimit: 10
  selector: {matchLabels: {app.kubernetes.io/name: PREFIX, app.kubernetes.io/component: controller}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: PREFIX, app.kubernetes.io/component: controller, VERSION_LABEL}
    spec:
      dnsPolicy: ClusterFirst
      serviceAccountName: PREFIX
      terminationGracePeriodSeconds: 300
      nodeSelector: {kubernetes.io/os: linux}
      containers:
      - name: controller
        image: "registry.example.com/controller:VERSION"
        args:
        - --election-id=PREFIX-LEADER
        - --ingress-class=PREFIX
        - --validating-webhook-key=/certificates/key
        - --publish-service=$(POD_NAMESPACE)/PREFIXARGUMENTS
        env:
        - name: POD_NAMESPACE
          valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
        ports:
        - {name: http, containerPort: 80, protocol: TCP}
        - {name: https, containerPort: 443, protocol: TCP}
        - {name: webhook, containerPort: 8443, protocol: TCP}
        lifecycle: {preStop: {exec: {command: [/wait-shutdown]}}}
        livenessProbe: {httpGet: {path: /healthz, port: 10254, scheme: HTTP}, failureThreshold: 5}
        resources: {requests: {cpu: 100m, memory: 90Mi}}
        volumeMounts: [{name: certificates, mountPath: /certificates/, readOnly: true}]
      volumes:
      - name: certificates
        secret: {secretName: PREFIX-admission}
"""
_LAST = """
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: PREFIX, labels: LABELS}
spec: {controller: example.com/PREFIX}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: PREFIX-admission
  labels: LABELSANNOTATIONS
webhooks:
- name: validate.PREFIX.example.com
  admissionReviewVersions: [v1]
  failurePolicy: Fail
  matchPolicy: Equivalent
  sideEffects: None
  clientConfig: {service: {name: PREFIX-admission, namespace: PREFIX, path: /networking/v1/ingresses}}
  rules:
  - {apiGroups: [networking.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [ingresses]}
"""


def write_release(release: Release, prefix: str) -> str:
    """All objects of a release in one file; `prefix` is its namespace and begins each name."""
    version = f'app.kubernetes.io/version: "{release.version}"'
    labels = f"{{app.kubernetes.io/name: {prefix}, app.kubernetes.io/instance: {prefix}, {version}}}"
    jobs = "".join(_JOB.replace("JOB", job) for job in JOBS)
    text = _TEXT + jobs + _LAST + release.more
    for name, value in (
        ("VERSION_LABEL", version),
        ("LABELS", labels),
        ("READS", release.reads),
        ("LEADER", release.leader),
        ("ARGUMENTS", release.arguments),
        ("ANNOTATIONS", release.annotations),
        ("VERSION", release.version),
        ("HOOK", release.hook),
        ("PREFIX", prefix),
    ):
        text = text.replace(name, value)
    return text
