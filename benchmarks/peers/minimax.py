"""Time minimax-lib on its own published maze settings, a turn whenever it is told to; see `turns.py`.

Runs in an environment of its own (`minimax-requirements.txt`), which `benchmarks/run.py` creates.
usage: python minimax.py {robust_plr,accel}
"""

import sys
from pathlib import Path

# This file shares its name with the package it times: keep its own folder out of the search path.
HERE = Path(__file__).resolve().parent
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE] + [str(HERE.parent)]

import jax  # noqa: E402
from minimax.arguments import parser  # noqa: E402
from minimax.runners import ExperimentRunner  # noqa: E402
from turns import train_in_turns  # noqa: E402

WARM_UPDATES = 2

# The library's own maze settings (its config files maze/plr.json and maze/accel.json), but for three differences. No
# level metrics and no test suite: that can only make it faster. Replay starts when the buffer is full, not half full,
# so that every timed batch has the same kinds of work in it. ACCEL generates from 60 walls as PLR does, not from none.
COMMON = {
    "train_runner": "plr",
    "env_name": "Maze",
    "n_parallel": 32,
    "n_rollout_steps": 256,
    "lr": 3e-4,
    "discount": 0.999,
    "track_env_metrics": False,
    "n_unroll_rollout": 10,
    "ued_score": "max_mc",
    "plr_buffer_size": 4000,
    "plr_temp": 0.3,
    "plr_min_fill_ratio": 1.0,
    "plr_use_robust_plr": True,
    "plr_force_unique": True,
    "student_gae_lambda": 0.98,
    "student_n_unroll_update": 5,
    "student_ppo_n_epochs": 5,
    "student_ppo_n_minibatches": 1,
    "student_recurrent_arch": "lstm",
    "student_recurrent_hidden_dim": 256,
    "maze_replace_wall_pos": True,
    "maze_see_agent": False,
}
METHODS = {
    "robust_plr": {"plr_replay_prob": 0.5, "plr_staleness_coef": 0.3, "maze_n_walls": 60},
    "accel": {
        "plr_replay_prob": 0.8,
        "plr_staleness_coef": 0.5,
        "maze_n_walls": 60,
        "plr_mutation_fn": "default",
        "plr_n_mutations": 20,
        "plr_mutation_criterion": "batch",
        "plr_mutation_subsample_size": 4,
    },
}


def make_runner(method: str) -> ExperimentRunner:
    """Build the library's own runner through its own argument parser."""
    settings = COMMON | METHODS[method]
    sys.argv = [sys.argv[0], *(f"--{name}={value}" for name, value in settings.items())]
    args = parser.parse_args(preview=False)
    return ExperimentRunner(
        train_runner=args.train_runner,
        env_name=args.env_name,
        agent_rl_algo=args.agent_rl_algo,
        student_model_name=args.student_model_name,
        train_runner_kwargs=args.train_runner_args,
        env_kwargs=args.env_args,
        student_rl_kwargs=args.student_rl_args,
        student_model_kwargs=args.student_model_args,
        eval_kwargs=args.eval_args,
    )


def main() -> None:
    method = sys.argv[1]
    xp = make_runner(method)
    rollout = xp.runner.step_batch_size * xp.runner.n_rollout_steps
    state = xp.runner.reset(jax.random.PRNGKey(1))
    updates = 0

    def step() -> tuple[int, int]:
        """Run one iteration to its end; return (environment steps, PPO updates)."""
        nonlocal state, updates
        _, _, *state = jax.block_until_ready(xp.step(state, False))
        learned = int(state[1].n_updates[0]) - updates
        updates += learned
        # An ACCEL iteration that replays also plays the edited levels; its own step counter leaves those out.
        return rollout * (1 + (learned if method == "accel" else 0)), learned

    while updates < WARM_UPDATES:
        step()
    train_in_turns(step)


if __name__ == "__main__":
    main()
