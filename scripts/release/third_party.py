"""Writes the licences of all that is in the wheel: the crates that it is built of, and Z3.

python scripts/release/third_party.py ROOT > LICENSE-THIRD-PARTY
"""

import json
import pathlib
import re
import subprocess
import sys

#: Files of a crate with terms: LICENSE-MIT, LICENCE.txt, COPYING, NOTICE, UNLICENSE.
TERMS = re.compile(r"(un)?licen[cs]e.*|copying.*|notice.*|copyright.*", re.IGNORECASE)


def linked(root: str) -> list[dict]:
    """The crates of others that the Python package links, in order."""
    host = re.search(
        r"^host: (.*)$", subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout, re.M
    )[1]
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host]
    data = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=f"{root}/python").stdout)
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    waiting = [package["id"] for package in packages.values() if package["name"] == "sizewise-python"]
    seen = set(waiting)
    while waiting:
        for dep in nodes[waiting.pop()]["deps"]:
            if dep["pkg"] not in seen and any(kind["kind"] is None for kind in dep["dep_kinds"]):
                seen.add(dep["pkg"])
                waiting.append(dep["pkg"])
    return sorted(
        (packages[one] for one in seen if packages[one]["source"]),
        key=lambda package: (package["name"], package["version"]),
    )


def main(root: str) -> None:
    texts: dict[str, list[str]] = {}
    bare = []
    for package in linked(root):
        folder = pathlib.Path(package["manifest_path"]).parent
        files = sorted(path for path in folder.iterdir() if path.is_file() and TERMS.fullmatch(path.name))
        name = f"{package['name']} {package['version']} ({package['license'] or 'see its file'})"
        if not files:
            bare.append(f"{name}: {', '.join(package['authors']) or 'its authors'}, {package['repository']}")
        for path in files:
            texts.setdefault(path.read_text(encoding="utf-8", errors="replace").strip(), []).append(
                f"{name}, {path.name}"
            )
    z3 = (pathlib.Path(__file__).parent / "z3_license.txt").read_text().strip()
    texts.setdefault(z3, []).append("Z3, the library beside the extension (MIT)")
    print("What this wheel has of others, and under which terms.\n")
    if bare:
        print("Crates without a file of terms; the terms are those that are named:\n")
        print("\n".join(f"- {line}" for line in bare) + "\n")
    for text, names in texts.items():
        print("=" * 80)
        print("\n".join(f"- {name}" for name in names))
        print(f"{'-' * 80}\n{text}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
