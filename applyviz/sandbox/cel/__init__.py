"""The Common Expression Language as Kubernetes speaks it: read, and evaluated over JSON values.

Rule: https://github.com/google/cel-spec/blob/master/doc/langdef.md and
https://kubernetes.io/docs/reference/using-api/cel/. Types are looked at when an expression is evaluated, not before:
an expression that the server's type checker would refuse is refused here when it meets the wrong value. Left out:
protobuf messages, the authorizer, and time zones by name.
"""
