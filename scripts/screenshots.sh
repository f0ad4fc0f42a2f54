#!/usr/bin/env bash
# Takes the pictures of the manual anew, in headless Chromium: scripts/screenshots.sh [SIZEWISE]
set -euo pipefail
cd "$(dirname "$0")/.."
sizewise=${1:-target/release/sizewise}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# check ends with 1, as the spec is violated.
"$sizewise" check examples/pooled.pt2 --spec examples/pooled.py --format html --output "$folder/report.html" || [ $? = 1 ]
"$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,760 \
    --screenshot="$PWD/docs/pictures/report.png" "file://$folder/report.html"
