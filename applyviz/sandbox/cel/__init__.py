"""The Common Expression Language in the dialect of Kubernetes: parsed, and evaluated over JSON values.

Rule: https://github.com/google/cel-spec/blob/master/doc/langdef.md and
https://kubernetes.io/docs/reference/using-api/cel/. Types are checked when an expression is evaluated, not before: an
expression that the server's type checker would refuse is refused here at the first wrong value. Left out: protobuf
messages, the authorizer, and named time zones.
"""
