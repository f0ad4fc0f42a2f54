#!/usr/bin/env bash
# Installs the Z3 library with its headers where it is missing.
set -euo pipefail
for header in /usr/include/z3.h /usr/local/include/z3.h; do
  [ -e "$header" ] && exit 0
done
if ! command -v apt-get >/dev/null; then
  echo "Z3's development files are missing: install libz3-dev (or your system's package of Z3)" >&2
  exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q libz3-dev
