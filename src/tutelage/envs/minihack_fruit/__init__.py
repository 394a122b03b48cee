"""Stochastic Fruit Choice in MiniHack itself (thesis, section 6.5.1)."""
