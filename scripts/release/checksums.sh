#!/usr/bin/env bash
# Writes SHA256SUMS of all files of a release, and NOTES.md, its part of the changelog:
#
#     scripts/release/checksums.sh FOLDER VERSION
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
version="$2"
cd "$1"
for file in *.whl *.tar.gz; do
  case "$file" in
    *"$version"*) ;;
    *) echo "$file is not of version $version" >&2; exit 1 ;;
  esac
done
sha256sum -- *.whl *.tar.gz >SHA256SUMS
awk -v head="## $version" 'index($0, "## ") == 1 { on = index($0 " ", head " ") == 1; next } on' "$root/CHANGELOG.md" >NOTES.md
if ! [ -s NOTES.md ]; then
  echo "CHANGELOG.md has nothing of version $version" >&2
  exit 1
fi
if grep -q "^## $version (unreleased)" "$root/CHANGELOG.md"; then
  echo "CHANGELOG.md says that version $version is unreleased" >&2
  exit 1
fi
{
  printf '\nVerify a file with `sha256sum --check --ignore-missing SHA256SUMS`, and where it was built with\n'
  printf '`gh attestation verify FILE --repo sizewise/sizewise`.\n'
} >>NOTES.md
