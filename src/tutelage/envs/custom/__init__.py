"""Environments that users bring: any Gymnasium environment that takes its level when it is reset."""
