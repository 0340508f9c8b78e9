"""Apply runs: the page of a run, and the approvals behind it."""
