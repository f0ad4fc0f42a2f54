#!/bin/bash
# Runs each fuzz target for SECONDS, or those that are named: fuzz/run.sh SECONDS [TARGET…]
# Needs cargo-fuzz (`cargo install cargo-fuzz`); a stable compiler will do.
set -u
cd "$(dirname "$0")"
seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
export RUSTC_BOOTSTRAP=1
# Programs nest; the program itself works on a thread with a stack of this size.
ulimit -s 262144 2>/dev/null || true
[ -d corpus ] || python3 seeds.py
targets=${*:-$(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' Cargo.toml)}
logs=${TMPDIR:-/tmp}
failed=0
for target in $targets; do
    mkdir -p "corpus/$target"
    started=$(date +%s)
    cargo fuzz run --fuzz-dir . --debug-assertions "$target" -- \
        -max_total_time="$seconds" -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=25 -max_len=65536 \
        -print_final_stats=1 >"$logs/fuzz-$target.log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/fuzz-$target.log")
    echo "$target: ${runs:-0} inputs in $(($(date +%s) - started)) s, $([ $status = 0 ] && echo 'nothing found' || echo "FAILED, see $logs/fuzz-$target.log")"
    [ $status = 0 ] || failed=1
done
exit $failed
