"""The audit trail: append-only hash chains, signed checkpoints, verification and retention."""
