"""LavaGrid in MiniHack itself: what the rules of ``lava`` are held against."""
