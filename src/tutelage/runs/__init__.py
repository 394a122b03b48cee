"""Runs on disk: settings, records, checkpoints, and training that can be stopped at any moment."""
