"""Workloads with a life: what controllers, scheduler and kubelet of a real cluster write, without any container."""
