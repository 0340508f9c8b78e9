"""HTTP to a use case and back; one file per area. A view authorises, reads a form, calls once, answers."""
