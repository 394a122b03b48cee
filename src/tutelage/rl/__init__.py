"""Reinforcement learning of one student: networks, distributions, advantages, PPO."""
