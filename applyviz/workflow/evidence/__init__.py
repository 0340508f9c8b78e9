"""The audit trail for people: history, exports, and evidence for a period."""
