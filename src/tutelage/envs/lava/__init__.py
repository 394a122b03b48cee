"""LavaGrid of chapter 5. Imports nothing: ``settings`` is read by the help page."""
