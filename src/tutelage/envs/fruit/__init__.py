"""Stochastic Fruit Choice of chapter 6. Imports nothing: ``settings`` is read by the help page."""
