"""One-step games whose answers are known: a level is a column of a payoff matrix, an action is a row."""
