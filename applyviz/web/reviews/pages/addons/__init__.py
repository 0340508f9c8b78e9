"""The addons of a kOps channel: their tab, and the table of choices."""
