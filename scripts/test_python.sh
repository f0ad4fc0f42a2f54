#!/usr/bin/env bash
# Builds the Python package into a virtual environment outside the repository, and runs its tests. Those that need torch
# are skipped where it is missing; SIZEWISE_WITH_TORCH=1 (or a version, 2.14.1) installs it there first (5 GB), and says so if it cannot.
set -euo pipefail
cd "$(dirname "$0")/../python"
folder="${SIZEWISE_PYTHON_ENV:-${XDG_CACHE_HOME:-$HOME/.cache}/sizewise/python}"
torch="${SIZEWISE_WITH_TORCH:-1}"
[ "$torch" != 1 ] || torch=2.15.0
if ! command -v python3 >/dev/null; then
  echo "no python3: the tests of the Python package are skipped" >&2
  exit 0
fi
[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
export VIRTUAL_ENV="$folder" PATH="$folder/bin:$PATH"
if ! pip install --quiet "maturin>=1.9,<2" pytest hypothesis mypy; then
  echo "the package index cannot be reached: the tests of the Python package are skipped" >&2
  exit 0
fi
has_torch() { python -c "import torch; assert torch.__version__.startswith('$torch')" 2>/dev/null; }
if [ -n "${SIZEWISE_WITH_TORCH:-}" ] && ! has_torch; then
  timeout 1800 pip install --quiet "torch==$torch" numpy sympy onnx onnxruntime onnxscript || true
  has_torch || echo "torch $torch cannot be installed: the tests of the Python package that need it are skipped" >&2
fi
cargo fmt --check
maturin develop --quiet
mypy
pytest -q
