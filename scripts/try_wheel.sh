#!/usr/bin/env bash
# Installs a wheel of the Python package into an empty environment, and tries it there.
set -euo pipefail
wheel="$(realpath "$1")"
examples="$(cd "$(dirname "$0")/.." && pwd)/examples"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
bin="$folder/env/bin"
[ -d "$bin" ] || bin="$folder/env/Scripts"
"$bin/pip" install --quiet --no-index "$wheel"
cd "$folder"
"$bin/sizewise" check "$examples/thirds.pt2" >/dev/null
"$bin/python" - "$examples" <<'PYTHON'
import sys

import sizewise

examples = sys.argv[1]
assert sizewise.check(f"{examples}/area.pt2").ok
assert sizewise.check(f"{examples}/area.pt2", f"{examples}/area.json").verdict == "violated"
env = sizewise.Env()
env.symbol("s0", min=2)
assert env.implies("s0**2 >= 4").verdict == "implied"
print("the wheel works:", sizewise.__version__)
PYTHON
for terms in LICENSE-MIT LICENSE-APACHE LICENSE-THIRD-PARTY; do
  "$bin/python" -c "import sys, importlib.metadata as m; sys.exit(not any(f.name == '$terms' for f in m.files('sizewise')))" ||
    { echo "the wheel has no $terms" >&2; exit 1; }
done
"$bin/python" "$examples/../scripts/release/try_ci.py" "$wheel"
