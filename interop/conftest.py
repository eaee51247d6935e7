"""What every part shares: where the built programs are, the sample stack, free ports."""

import pathlib

import pytest

from rig.process import ROOT, programs
from rig.stack import Stack


@pytest.fixture(scope="session")
def root():
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def built():
    """The folder of the built programs."""
    return programs()


@pytest.fixture(scope="session")
def node_modules(request):
    """The folder `node_modules` of the part that is running."""
    part = pathlib.Path(request.config.invocation_params.dir)
    return part / "node_modules"


@pytest.fixture(scope="session")
def stack(tmp_path_factory):
    """The sample stack with the demo analyst, for the whole run of a part."""
    with Stack(tmp_path_factory.mktemp("stack") / "analyst") as running:
        yield running


@pytest.fixture(scope="session")
def stub_stack(tmp_path_factory):
    """The sample stack with the stub model, which says what a test tells it."""
    with Stack(tmp_path_factory.mktemp("stack") / "stub", stand_in="stub") as running:
        yield running
