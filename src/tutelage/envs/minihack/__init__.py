"""MiniHack on NetHack, the real simulators: Stochastic Fruit Choice and lava grids, in worker processes."""
