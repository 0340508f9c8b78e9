"""kOps channels: what a channel lists, and which of its addons a cluster needs."""
