#!/usr/bin/env bash
# Build the sdist and, from it, the wheel; install the wheel into an empty environment outside of this repository; use it
# there as somebody would who has nothing else. `make wheel-check`; WORK=DIR keeps what it made.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
python="${PYTHON:-python3}"
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
if [[ -n "${WORK:-}" ]]; then
    mkdir -p "$WORK" && work="$(cd "$WORK" && pwd)"
else
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT
fi
say() { printf '\n== %s\n' "$*"; }
cd "$work"

say "sdist, and the wheel from it"
"$python" -m venv build
build/bin/pip install --quiet --disable-pip-version-check build==1.6.1 setuptools==84.2.1 twine==7.0.0
rm -rf dist && build/bin/python -m build --no-isolation --outdir dist "$root" >build.log 2>&1 || { tail -20 build.log; exit 1; }
build/bin/twine check --strict dist/*
build/bin/python - <<'PY'
import glob, tarfile, zipfile

wheel = set(zipfile.ZipFile(glob.glob("dist/*.whl")[0]).namelist())
for name in ("docs/studies.md", "docs/methods/accel.md", "examples/sb3.py", "studies/maze-small.toml", "py.typed", "player.py",
             "reproduce/catalogue.toml"):
    assert f"tutelage/{name}" in wheel, f"the wheel lacks {name}"
sdist = {name.split("/", 1)[-1] for name in tarfile.open(glob.glob("dist/*.tar.gz")[0]).getnames()}
for name in ("README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "docs/studies.md", "examples/demo.py", "studies/maze-small.toml",
             "tests/conftest.py", "requirements.lock", "tools/wheel_check.sh"):
    assert name in sdist, f"the sdist lacks {name}"
print(len(wheel), "files in the wheel,", len(sdist), "in the sdist")
PY

say "an empty environment"
"$python" -m venv empty
empty/bin/pip install --quiet --disable-pip-version-check -c "$root/requirements-run.lock" -c "$root/requirements.lock" \
    "$(echo dist/*.whl)[plot]"
empty/bin/pip check
rm -rf there && mkdir there && cd there
export PATH="$work/empty/bin:$PATH"
tutelage --version
tutelage --help | tail -1

say "the demo, which comes with the wheel"
demo="$(python -c 'import pathlib, tutelage; print(pathlib.Path(tutelage.__file__).parent / "examples/demo.py")')"
python "$demo" --steps "${DEMO_STEPS:-4M}"
run=runs/demo

say "a study of two methods with three seeds, shorter"
cat >mine.toml <<'TOML'
environment = "maze"
preset = "small"
methods = ["dr", "accel"]
seeds = [0, 1, 2]
steps = "8k"

[settings]
env.size = 5
env.blocks = 6
network.core = "none"
network.width = 16
train.levels = 16
train.rollout = 32
train.suite = "fresh"
TOML
tutelage study mine.toml --jobs 1

say "a level of one's own"
printf '#######\n#>....#\n#.###.#\n#.#.#.#\n#.###.#\n#....G#\n#######\n' >my.txt
tutelage play $run --level my.txt --gif my.gif --png my.png
tutelage eval $run --suite my.txt --episodes 5

say "export, and a player with numpy alone"
tutelage export $run --out exported/student.safetensors
"$python" -m venv ../bare
../bare/bin/pip install --quiet --disable-pip-version-check -c "$root/requirements-run.lock" numpy
cat >seen.py <<'PY'
"""What is seen on a random walk, and the student's policy at each step, by tutelage itself."""
import jax
import numpy as np
import tutelage

run = tutelage.load("runs/demo")
domain, agent = run.domain, run.agent
level = domain.levels.sample(jax.random.key(0))
prepared = domain.env.prepare(level)
state, obs = domain.env.reset(jax.random.key(1), prepared)
memory, seen, policies = agent.initial_carry(1), [], []
for t in range(40):
    one = jax.tree.map(lambda x: x[None], obs)
    memory, decision = agent.act(run.student(), agent.noise(jax.random.key(t), 1), memory, one, np.array([t == 0]))
    seen.append(jax.tree.leaves(obs))
    policies.append(np.asarray(decision.policy[0]))
    action = jax.random.randint(jax.random.fold_in(jax.random.key(2), t), (), 0, domain.env.action_space.n)
    state, step = domain.env.step(jax.random.key(t), state, action, prepared)
    obs = step.obs
parts = {f"part{i}": np.stack([np.asarray(leaves[i]) for leaves in seen]) for i in range(len(seen[0]))}
np.savez("exported/walk.npz", policies=np.array(policies), **parts)
PY
python seen.py
cat >exported/again.py <<'PY'
"""The same by the exported player, where there is neither tutelage nor jax."""
import importlib.util

import numpy as np
from player import Player

for name in ("jax", "flax", "tutelage"):
    assert importlib.util.find_spec(name) is None, f"{name} is installed here"
walk = np.load("walk.npz")
player = Player("student.safetensors")
parts = [walk[f"part{i}"] for i in range(len(walk.files) - 1)]
policies = np.array([player.policy(seen if len(seen) > 1 else seen[0]) for seen in zip(*parts)])
np.testing.assert_allclose(policies, walk["policies"], rtol=1e-3, atol=1e-4)
assert np.array_equal(policies.argmax(axis=1), walk["policies"].argmax(axis=1)), "not action for action"
assert policies.std(axis=0).min() > 0.01, "a policy that is always the same shows nothing"
print("numpy alone: 40 policies and actions equal,", policies.argmax(axis=1).tolist())
PY
(cd exported && ../../bare/bin/python again.py)

say "a report of the study's directory, and figures"
tutelage compare runs/mine
tutelage report runs/mine --no-pictures --out report.html
tutelage plot runs/mine --pdf --out plots
for file in plots/*.pdf; do [[ "$(head -c 5 "$file")" == "%PDF-" ]]; done
if command -v pdftoppm >/dev/null; then for file in plots/*.pdf; do pdftoppm -r 150 -png "$file" "${file%.pdf}"; done; fi
ls -l plots report.html report.md my.gif my.png

say "studies that come with it"
python - <<'PY'
from tutelage.runs import grid

print(len(grid.read("studies/maze-small.toml").plans), "runs in studies/maze-small.toml")
PY
say "All of it works from the wheel."
