#!/bin/bash
# Ten seconds of fuzzing of every reader: that the targets build and survive their corpora.
exec "$(dirname "$0")/../fuzz/run.sh" "${1:-10}"
