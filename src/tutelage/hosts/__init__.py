"""Environments that are not written in JAX: played in processes of their own, through shared memory."""
