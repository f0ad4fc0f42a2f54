#!/bin/bash
# Mutation testing of src/{expr,range,egraph,decide}: scripts/mutants.sh MODULE [SHARD]
# SHARD is a part of the mutants such as 0/100. The modules need nothing of the rest of the crate, so they are tested as a crate of their
# own, without Z3, with their unit tests and the laws of `proptests/`. Needs cargo-mutants (`cargo install cargo-mutants`).
set -eu
module=${1:?usage: scripts/mutants.sh MODULE [SHARD]}
shard=${2:-0/1}
root=$(cd "$(dirname "$0")/.." && pwd)
work=${MUTANTS_DIR:-$root/target/mutants}
mkdir -p "$work/src" "$work/proptests"
cp -r "$root"/src/{expr,range,egraph,decide} "$work/src/"
cp -r "$root/rules" "$root/Cargo.lock" "$work/"
cp -r "$root"/proptests/{campaign,expressions,range_laws.rs,egraph_laws.rs,decide_laws.rs,queries.rs} "$work/proptests/"
mkdir -p "$work/tests"
cp -r "$root"/tests/{canonical_forms.rs,egraph_proves.rs,rules.rs,rules} "$work/tests/"
printf 'pub mod decide;\npub mod egraph;\npub mod expr;\npub mod range;\n' >"$work/src/lib.rs"
python3 - "$root/Cargo.toml" "$work/Cargo.toml" <<'PYTHON'
import sys
import tomllib

whole = tomllib.load(open(sys.argv[1], "rb"))
used = "egg num-bigint num-integer num-rational num-traits indexmap rustc-hash smallvec serde serde_json thiserror".split()


def entry(name, table):
    spec = table[name]
    if isinstance(spec, str):
        return f'{name} = "{spec}"\n'
    features = ", ".join(f'"{f}"' for f in spec.get("features", []))
    return f'{name} = {{ version = "{spec["version"]}", features = [{features}] }}\n'


out = '[package]\nname = "sizewise"\nversion = "0.0.0"\nedition = "2024"\n\n[features]\nsmt = []\n\n[workspace]\n\n[dependencies]\n'
out += "".join(entry(name, whole["dependencies"]) for name in used)
out += "\n[dev-dependencies]\n" + entry("proptest", whole["dev-dependencies"])
for name in ("expr_laws", "range_laws", "egraph_laws", "decide_laws"):
    out += f'\n[[test]]\nname = "{name}"\npath = "proptests/{name}.rs"\n'
out += '\n[[test]]\nname = "query_laws"\npath = "proptests/queries.rs"\n'
out += '\n[profile.dev]\nopt-level = 1\ndebug = false\n'
open(sys.argv[2], "w").write(out)
PYTHON
cd "$work"
exec cargo mutants --in-place --timeout 90 --sharding round-robin -f "src/$module/**" -e '**/*tests.rs' -e 'src/decide/smt/**' --shard "$shard" -o "$work/$module-${shard/\//-of-}"
