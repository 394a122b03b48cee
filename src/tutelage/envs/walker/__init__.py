"""A two-legged walker on terrain with obstacles, after Gymnasium's BipedalWalker. Imports nothing."""
