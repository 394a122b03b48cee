"""Procgen: sixteen games whose levels are seeds (Cobbe et al., 2020; thesis, chapter 3)."""
