"""The rules of apply as pages whose worked examples the engine computes when they are rendered."""
