"""The Common Expression Language in the dialect of Kubernetes: parsed, and evaluated over JSON values.

Rule: https://github.com/google/cel-spec/blob/master/doc/langdef.md and
https://kubernetes.io/docs/reference/using-api/cel/. Types are checked when an expression is written, as far as they are
known, and again when it is evaluated. Left out: protobuf messages, the authorizer, and named time zones.
"""
