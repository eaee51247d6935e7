"""What tests need of others: packages from PyPI, npm and Debian, installed by name under the build folder."""

import hashlib
import shutil
import subprocess
import sys

from .process import ROOT


def _changed(stamp, *inputs):
    """The digest of these inputs if `stamp` stands for others, else None."""
    digest = hashlib.sha256(repr(inputs).encode()).hexdigest()
    return None if stamp.exists() and stamp.read_text() == digest else digest


def lines_of(file):
    """What a list names, without comments; an absent list names nothing."""
    text = file.read_text() if file.exists() else ""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def python(home, wanted):
    """A virtual environment with exactly these packages; its interpreter."""
    home.mkdir(parents=True, exist_ok=True)
    venv, stamp = home / "venv", home / "venv.stamp"
    if digest := _changed(stamp, wanted, sys.version):
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        subprocess.run(pip, check=True)
        stamp.write_text(digest)
    return venv / "bin/python"


def node(home, folder):
    """`node_modules` in a folder that has a lock file."""
    lock, stamp = folder / "package-lock.json", home / "node.stamp"
    if not lock.exists():
        return
    home.mkdir(parents=True, exist_ok=True)
    if not shutil.which("npm"):
        debian_packages(["nodejs", "npm"])
    digest = _changed(stamp, lock.read_text())
    if digest or not (folder / "node_modules").exists():
        npm = ["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(npm, cwd=folder, check=True)
        if digest:
            stamp.write_text(digest)


def debian(rows):
    """Each row is `command package`: the package is installed where the command is not there."""
    pairs = [row.split() for row in rows]
    debian_packages([package for command, package in pairs if not shutil.which(command)])


def debian_packages(names):
    if names:
        subprocess.run([ROOT / "scripts/install-packages.sh", *names], check=True)
