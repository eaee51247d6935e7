"""The web console: its modules by themselves, its vendored files, and every state of it in a browser against the real stack."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import urllib.request

import pytest

from console_gateway import ConsoleGateway
from rig.process import TARGET

HERE = pathlib.Path(__file__).parent
STATIC = HERE.parents[1] / "crates/console/static"

# Where each vendored file comes from: the folder names package and version.
VENDORED = {
    "uplot-1.6.32": ("uplot", {"uPlot.esm.js": "dist/uPlot.esm.js", "uPlot.min.css": "dist/uPlot.min.css", "LICENSE": "LICENSE"}),
    "inter-5.3.0": (
        "@fontsource-variable/inter",
        {"inter-latin-wght-normal.woff2": "files/inter-latin-wght-normal.woff2", "LICENSE": "LICENSE"},
    ),
    "source-serif-4-5.3.1": (
        "@fontsource-variable/source-serif-4",
        {"source-serif-4-latin-wght-normal.woff2": "files/source-serif-4-latin-wght-normal.woff2", "LICENSE": "LICENSE"},
    ),
}


def node_tests(path, env=None):
    """Runs a file or folder of Node tests, and says what failed."""
    command = ["node", "--test", "--test-reporter=tap", str(path)]
    run = subprocess.run(command, cwd=HERE, env=os.environ | (env or {}), capture_output=True, text=True, timeout=280)
    passed = re.search(r"^# pass (\d+)$", run.stdout, re.M)
    assert run.returncode == 0 and passed and int(passed[1]) > 0, run.stdout[-6000:] + run.stderr[-2000:]


def browser(stack, url=None):
    chromium = shutil.which("chromium")
    assert chromium, "chromium is not installed"
    return {
        "CHROMIUM": chromium,
        "CONSOLE_URL": url or stack.state["console_url"],
        "CONSOLE_SCREENS": str(TARGET / "console-screens"),
        "MODEL_CONTROL": stack.model_control,
    }


def test_the_modules_do_what_they_say():
    node_tests(HERE / "unit")


@pytest.mark.parametrize("folder", sorted(path.name for path in (STATIC / "vendor").iterdir()))
def test_a_vendored_file_is_the_packages_own(folder, node_modules):
    package, files = VENDORED[folder]
    version = json.loads((node_modules / package / "package.json").read_text())["version"]
    assert folder.endswith(f"-{version}")
    assert sorted(files) == sorted(path.name for path in (STATIC / "vendor" / folder).iterdir())
    for ours, theirs in files.items():
        digests = [
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (STATIC / "vendor" / folder / ours, node_modules / package / theirs)
        ]
        assert digests[0] == digests[1], ours


@pytest.mark.parametrize("name", ["sign-in", "answers", "looks"])
def test_with_the_demo_analyst(name, stack):
    node_tests(HERE / f"browser/{name}.test.js", browser(stack))


def test_while_a_question_is_worked_on(stub_stack):
    node_tests(HERE / "browser/running.test.js", browser(stub_stack))


def headers(url):
    """The headers of a file that say what a browser may do with it."""
    with urllib.request.urlopen(url, timeout=10) as reply:
        found = {name.lower(): " ".join(value.split()) for name, value in reply.headers.items()}
    mine = ("content-type", "cache-control", "x-content-type-options", "x-frame-options", "referrer-policy", "permissions-policy")
    told = {name: value for name, value in found.items() if name in mine or name.startswith(("content-security", "cross-origin"))}
    told["content-type"] = told["content-type"].replace('"', "").lower()
    return told


@pytest.mark.parametrize("gateway", ["nginx", "caddy"])
def test_behind_a_gateway_that_serves_the_files_itself(gateway, stack, tmp_path):
    with ConsoleGateway(gateway, stack, tmp_path) as door:
        for path in ["", "js/main.js", "css/base.css", "icon.svg", "config.json", "vendor/uplot-1.6.32/uPlot.esm.js"]:
            assert headers(f"{door.root}/console/{path}") == headers(stack.state["console_url"] + path), path
        node_tests(HERE / "browser/gateway.test.js", browser(stack, f"{door.root}/console/"))
