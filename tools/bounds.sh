#!/usr/bin/env bash
# Do the bounds of pyproject.toml hold? An environment with the lowest version of every dependency and one with the newest
# that can be installed, each with a few tests and a short run that is resumed. `make bounds`; ENDS="newest" runs one of
# them, PYTHON=python3.13 takes another Python, WORK=DIR keeps the environments.
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
tests=(tests/rl/test_ppo.py tests/rl/test_distributions.py tests/curricula/test_curator.py tests/evaluation/test_evaluate.py)

for end in ${ENDS:-lowest newest}; do
    here="$work/$end-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    printf '\n== %s\n' "$here"
    "$python" -m venv "$here"
    "$python" - "$root/pyproject.toml" "$end" >"$here/constraints.txt" <<'PY'
import re, sys, tomllib

project = tomllib.load(open(sys.argv[1], "rb"))["project"]
for requirement in project["dependencies"]:
    name, lowest = re.match(r"([\w-]+)>=([\w.]+)", requirement).groups()
    print(f"{name}=={lowest}" if sys.argv[2] == "lowest" else requirement)
PY
    "$here/bin/pip" install --quiet --disable-pip-version-check -c "$here/constraints.txt" \
        "$root" pytest==9.2.0 hypothesis==6.170.15
    "$here/bin/pip" check
    "$here/bin/pip" list 2>/dev/null | grep -iE '^(jax|jaxlib|flax|optax|numpy|scipy|jaxtyping|rich|pillow) '
    # Warnings of other versions than ours are theirs: here they are no errors.
    (cd "$root" && "$here/bin/python" -m pytest -q -p no:cacheprovider -W ignore "${tests[@]}")
    cd "$here" && rm -rf run
    small=(--train.levels 8 --train.rollout 16 --env.size 5 --env.blocks 6 --network.width 8 --train.suite fresh)
    bin/tutelage train maze accel --preset small "${small[@]}" --steps 1k --run run --quiet
    bin/tutelage resume run --steps 2k --quiet
    bin/tutelage eval run --suite fresh --episodes 4
done
printf '\nHolds: %s.\n' "${ENDS:-lowest newest}"
