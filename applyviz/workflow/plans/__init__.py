"""Reviews and their plans: intake, calculation, stored changes, resolutions, conflict rules, comparison."""
