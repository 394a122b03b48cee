"""Every method on the matrix games, beside the exact answers: `python benchmarks/games.py [ITERATIONS]`."""

import sys

import tutelage
from tutelage.evaluation.games import play_game

EXACT = [
    ("dr", "ice-cream", {}),
    ("minimax", "ice-cream", {}),
    ("robust-plr", "ice-cream", {}),
    ("repaired", "ice-cream", {}),
    ("dr", "corollary-1", {}),
    ("minimax", "corollary-1", {}),
    ("robust-plr", "corollary-1", {}),
    ("repaired", "corollary-1", {}),
    *[("plr", "corollary-1", {"env.p": p, "replay.rate": p}) for p in ("0.9", "0.7", "0.5", "0.3")],
]
ESTIMATORS = [
    (method, game, {setting: name})
    for game in ("ice-cream", "corollary-1")
    for method, setting, name in (
        ("robust-plr", "replay.score", "maxmc"),
        ("robust-plr", "replay.score", "pvl"),
        ("paired", "adversary.objective", "regret"),
        ("paired", "adversary.objective", "pvl"),
    )
]


def table(rows: list[tuple[str, str, dict[str, str]]], iterations: int) -> None:
    print("| game | method | policy | mean payoff (best) | worst payoff (best) | worst regret (best) |")
    print("|---|---|---|---|---|---|")
    for method, game, changes in rows:
        settings = tutelage.override(tutelage.preset("matrix", method), {"env.game": game} | changes)
        result = play_game(settings, iterations)
        named = " ".join([method, *(f"{name.split('.')[-1]}={value}" for name, value in changes.items())])
        policy = " ".join(f"{share:.2f}" for share in result.policy)
        figures = [
            f"{result.mean_payoff:.4g} ({result.best_mean_payoff:.4g})",
            f"{result.worst_payoff:.4g} ({result.best_worst_payoff:.4g})",
            f"{result.worst_regret:.4g} ({result.best_worst_regret:.4g})",
        ]
        print(f"| {game} | {named} | {policy} | {' | '.join(figures)} |", flush=True)


if __name__ == "__main__":
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    table(EXACT, steps)
    print()
    table(ESTIMATORS, steps)
