"""The smoke run for a model server of one's own, tried on two: the sample analyst, and one that says nonsense."""

import os
import subprocess
import sys

from stub import Session


def smoke(root, base, model):
    env = os.environ | {"ASK_SMOKE_BASE_URL": base, "ASK_SMOKE_MODEL": model}
    return subprocess.run([sys.executable, root / "scripts/smoke.py"], env=env, capture_output=True, text=True, timeout=200)


def test_the_sample_analyst_holds(root, stack):
    done = smoke(root, f"{stack.state['model']['base_url']}/v1", "demo-analyst")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fastest?: answer" in done.stdout and "satisfaction score for support?: abstention" in done.stdout
    assert "not there: error (model)" in done.stdout


def test_a_model_of_nonsense_ends_well_formed_too(root, stub_stack):
    session = Session(stub_stack, "smoke")
    session.script(*[{"text": "colourless green ideas"}, {"status": 500}, {"calls": [{"name": "no__tool", "args": {}}]}] * 40)
    done = smoke(root, f"{session.base}/v1", "m")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": answer" not in done.stdout


def test_it_says_what_it_needs(root):
    done = smoke(root, "", "")
    assert done.returncode == 1 and "ASK_SMOKE_BASE_URL" in done.stderr
