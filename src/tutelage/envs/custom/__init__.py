"""Environments that users bring: written in JAX, or any Gymnasium environment that takes its level when it is reset."""
