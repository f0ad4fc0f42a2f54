"""Runs what the manual, the action and the image tell machines to run.

    python scripts/release/try_ci.py [WHEEL]

The shell lines of `docs/ci.md` and of `action.yml` run in a checkout with 200 models, where `sizewise` is installed from WHEEL; without one,
lines that install are left out, and the `sizewise` of the PATH is used. Of the `Dockerfile`, the command and the check of health run here,
outside of a container.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def runs(text: str) -> list[str]:
    """The values of `run` of a workflow, in order: on the line, or the block after it."""
    found = []
    lines = text.splitlines()
    for at, line in enumerate(lines):
        said = re.match(r"( *(?:- )?)run: (.*)", line)
        if said and said[2] not in ("|", ">"):
            found.append(said[2])
        elif said:
            block = []
            for after in lines[at + 1 :]:
                if after.strip() and len(after) - len(after.lstrip()) <= len(said[1]):
                    break
                block.append(after)
            width = min(len(after) - len(after.lstrip()) for after in block if after.strip())
            found.append("\n".join(after[width:] for after in block).strip())
    return found


def models(folder: pathlib.Path, broken: bool) -> None:
    """200 models that serve their specs; with one that does not, if wanted."""
    folder.mkdir(parents=True)
    for at in range(200):
        shutil.copy(ROOT / "examples/area.pt2", folder / f"m{at:03}.pt2")
    if broken:
        shutil.copy(ROOT / "examples/area.json", folder / "m007.spec.json")


def shell(line: str, cwd: pathlib.Path, env: dict[str, str]) -> subprocess.CompletedProcess:
    """As a step of a workflow runs: bash that ends at the first failure."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
    )


def try_manual(work: pathlib.Path, env: dict[str, str], wheel: str | None) -> None:
    """Every line of the manual's block passes where models are good, and `check` fails and says where, where one is not."""
    block = (ROOT / "docs/ci.md").read_text().split("## GitHub\n")[1].split("\n## ")[0]
    lines = [line for line in runs(block) if wheel or not line.startswith("pip install")]
    assert len([line for line in lines if line.startswith("sizewise check")]) == 2, lines
    for broken in (False, True):
        checkout = work / f"manual-{broken}"
        models(checkout / "models", broken)
        for line in lines:
            done = shell(line, checkout, env)
            fails = broken and line.startswith("sizewise check")
            assert done.returncode == int(fails), (line, done.stdout, done.stderr)
            assert ("::error" in done.stdout) == (fails and "github" in line), (line, done.stdout)
        sarif = json.loads((checkout / "sizewise.sarif").read_text())
        assert bool(sarif["runs"][0]["results"]) == broken


def try_action(work: pathlib.Path, env: dict[str, str], wheel: str | None) -> None:
    """The action installs, annotates or writes SARIF, and fails where a model does."""
    install, check = runs((ROOT / "action.yml").read_text())
    temp = work / "runner"
    temp.mkdir()
    env = {**env, "RUNNER_TEMP": str(temp), "PYTHON": sys.executable, "VERSION": ""}
    if wheel:
        done = shell(install, work, env)
        assert done.returncode == 0, done.stderr
    else:
        (temp / "sizewise/bin").mkdir(parents=True)
        (temp / "sizewise/bin/sizewise").symlink_to(shutil.which("sizewise", path=env["PATH"]))
    for broken in (False, True):
        checkout = work / f"action-{broken}"
        models(checkout / "some models", broken)
        models(checkout / "more", False)
        for sarif in ("", "out.sarif"):
            asked = {**env, "PATHS": "some*/m00?.pt2\nmore", "ARGS": "--jobs 2", "SARIF": sarif}
            done = shell(check, checkout, asked)
            # Programs that are named have the spec beside them, too.
            assert done.returncode == int(broken), (done.stdout, done.stderr)
            assert "210 programs" in done.stderr, done.stderr
            assert ("::error" in done.stdout) == (broken and not sarif), (sarif, done.stdout)
            if sarif:
                assert bool(json.loads((checkout / sarif).read_text())["runs"][0]["results"]) == broken


def try_image(work: pathlib.Path, env: dict[str, str]) -> None:
    """What the image runs serves, and its check of health tells a service that lives from none."""
    text = (ROOT / "Dockerfile").read_text()
    said = {
        name: json.loads(words)
        for name, words in re.findall(r"^(ENTRYPOINT|CMD|HEALTHCHECK [^\[\n]*CMD) (\[.*\])$", text, re.M)
    }
    health = next(words for name, words in said.items() if name.startswith("HEALTHCHECK"))
    assert re.search(r"^USER [1-9][0-9]*$", text, re.M), "the image runs as root"
    tokens = work / "tokens.txt"
    tokens.write_text("0" * 64 + "\n")
    command = [str(tokens) if word.startswith("/etc/") else word for word in [*said["ENTRYPOINT"], *said["CMD"]]]
    assert subprocess.run(health, capture_output=True).returncode, "port 8077 is in use"
    service = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if subprocess.run(health, capture_output=True, timeout=3).returncode == 0:
                break
            time.sleep(0.1)
        else:
            raise AssertionError("the service is not healthy")
    finally:
        service.terminate()
        assert service.wait(30) == 0
    assert subprocess.run(health, capture_output=True).returncode


def main(wheel: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        env = dict(os.environ)
        if wheel:
            subprocess.run([sys.executable, "-m", "venv", work / "env"], check=True)
            env |= {
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": str(pathlib.Path(wheel).resolve().parent),
                "PATH": f"{work}/env/bin:{env['PATH']}",
            }
        try_manual(work, env, wheel)
        try_action(work, env, wheel)
        # The package has the command, and not the service.
        if not wheel:
            try_image(work, env)
    print("what the manual, the action and the image run works")


if __name__ == "__main__":
    main(*sys.argv[1:])
