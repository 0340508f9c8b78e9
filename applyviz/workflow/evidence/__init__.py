"""The audit trail as people read it: history, exports, and evidence for a period."""
