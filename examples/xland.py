"""XLand-MiniGrid: a grid world with other rules in every level.

A level is one of XLand's rule sets. Here it is a recipe of three rules: a next to b makes c, c next to d makes e, e
next to f makes g. The things a, b, d and f lie about. The goal is to stand next to a, c, e or g; the later, the harder.

    pip install xminigrid
    tutelage train xland.py accel
"""

import jax
import jax.numpy as jnp
import xminigrid
from xminigrid.core.constants import NUM_COLORS, NUM_TILES, PICKABLE, TILES_REGISTRY
from xminigrid.types import RuleSet

import tutelage

RULES = 3
NEAR_GOAL, NEAR_RULE = 3, 3  # XLand's numbers for AgentNearGoal and TileNearRule
THINGS = TILES_REGISTRY[PICKABLE, 1:].reshape(-1, 2)  # all that can be carried: six kinds in eleven colours
world, params = xminigrid.make("XLand-MiniGrid-R1-9x9")  # one room; R4 would be four rooms with doors


def recipe(key, depth):  # a rule set whose goal needs the first `depth` rules
    things = jax.random.choice(key, THINGS, (2 * RULES + 1,), replace=False)
    chain, partners = things[: RULES + 1], things[RULES + 1 :]  # a, c, e, g and b, d, f
    rules = jnp.concatenate([jnp.full((RULES, 1), NEAR_RULE, jnp.uint8), chain[:-1], partners, chain[1:]], 1)
    goal = jnp.array([NEAR_GOAL, *chain[depth], 0, 0], jnp.uint8)
    return RuleSet(goal=goal, rules=rules, init_tiles=jnp.concatenate([chain[:1], partners]))


def sample(key):
    things, depth = jax.random.split(key)
    return recipe(things, jax.random.randint(depth, (), 0, RULES + 1))


def goals(level):  # what the goal could be (a, c, e, g), and which of these it is
    chain = jnp.concatenate([level.init_tiles[:1], level.rules[:, 5:]])
    return chain, (chain == level.goal[1:3]).all(1).argmax()


def edit(key, level):  # the goal one rule earlier or later, and b, d and f in another order
    way, order = jax.random.split(key)
    chain, depth = goals(level)
    goal = chain[(depth + jax.random.choice(way, jnp.array([-1, 1]))).clip(0, RULES)]
    partners = jax.random.permutation(order, level.rules[:, 3:5])
    return level.replace(goal=level.goal.at[1:3].set(goal), rules=level.rules.at[:, 3:5].set(partners))


def observe(timestep):  # the 5x5 cells ahead and, as two more rows, goal and rules: a one-hot picture of 7x5
    state = timestep.state
    view = timestep.observation.at[-1, 2].set(state.agent.pocket)  # in its own cell the agent sees what it carries
    task = jnp.concatenate([state.goal_encoding[1:3], state.rule_encoding[:, 1:].ravel()]).reshape(2, 5, 2)
    kinds, colours = jnp.moveaxis(jnp.concatenate([view, task]), -1, 0)
    return jnp.concatenate([jax.nn.one_hot(kinds, NUM_TILES), jax.nn.one_hot(colours, NUM_COLORS)], -1)


def reset(key, level):  # the level says what there is and what it does, the key where it lies
    timestep = world.reset(params.replace(ruleset=level), key)
    return timestep, observe(timestep)


def step(key, timestep, action):  # XLand's own step does not restart; only its wrappers do
    timestep = world.step(params, timestep, action)
    terminated = timestep.discount == 0
    return timestep, observe(timestep), timestep.reward, terminated, timestep.last() & ~terminated


environment = tutelage.Jax(
    reset=reset,
    step=step,
    actions=world.num_actions(params),
    sample=sample,
    edit=edit,
    easy=lambda key: recipe(key, 0),
    metrics=lambda level: {"rules": goals(level)[1]},
    tests={f"{depth}-rules": recipe(jax.random.key(depth), depth) for depth in range(RULES + 1)},
    max_steps=params.max_steps,
    settings={"train.steps": "20M", "train.rollout": "256"},
)
