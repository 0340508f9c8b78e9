"""The end of objects: finalizers, grace periods, garbage collection, deletion of namespaces."""
