"""How objects end: finalizers, grace periods, garbage collection, the end of a namespace."""
