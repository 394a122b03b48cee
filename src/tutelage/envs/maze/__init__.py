"""Partially observable mazes after MiniGrid. Imports nothing: ``settings`` is read by the help page."""
