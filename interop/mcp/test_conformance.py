"""The client and the executor under the protocol's official conformance suite, each verdict as it is written down."""

import json
import pathlib
import sys

import pytest

import conformance
from conftest import HERE, VERSIONS


def written(side):
    """What is written down of a side: the scenarios that pass, those that pass but for some checks, the rest by reason."""
    said = json.loads((HERE / f"{side}_scenarios.json").read_text())
    rest = {name for names in said["does not concern"].values() for name in names}
    return set(said["passes"]), said.get("passes but for", {}), rest


def known(side):
    passes, partly, rest = written(side)
    return passes | set(partly) | {name.split("@")[0] for name in rest}


def compare(side, results, revision=None):
    """Every verdict must be the one written down, in both directions."""
    passes, partly, rest = written(side)
    wrong = {}
    for name, result in results.items():
        passed = bool(result["passed"]) and not result["failed"]
        unconcerned = name in rest or f"{name}@{revision}" in rest
        if name in partly and not unconcerned:
            right = result["passed"] and result["failed"] == sorted(partly[name])
        else:
            right = passed != unconcerned
        if not right:
            wrong[name] = {"passed": result["passed"], "failed": result["failed"], "log": str(result["log"])}
    assert not wrong, json.dumps(wrong, indent=1)


@pytest.mark.parametrize("side", ["client", "server"])
def test_the_list_names_each_scenario_of_the_suite(node, side):
    passes, partly, rest = written(side)
    listed = conformance.listed(node, side.capitalize())
    assert known(side) == set(listed)
    names = [*passes, *partly, *(name for name in rest if "@" not in name)]
    assert len(names) == len(set(names)), "a scenario is listed twice"


def client_command(program):
    return f"{sys.executable} {HERE / 'conformance_driver.py'} {program}"


@pytest.mark.timeout(400)
def test_the_client_passes_what_concerns_a_tool_client_and_nothing_else(node, program, tmp_path):
    listed = conformance.listed(node, "Client")
    results = conformance.run_each(node, "client", tmp_path, listed, "--command", client_command(program))
    assert set(results) == set(listed)
    compare("client", results)


@pytest.mark.parametrize("revision", VERSIONS[1:])
def test_the_client_passes_in_each_revision(node, program, tmp_path, revision):
    passes, _, _ = written("client")
    listed = conformance.listed(node, "Client")
    chosen = sorted(name for name in passes if revision in listed[name])
    assert chosen
    options = ["--command", client_command(program), "--spec-version", revision]
    compare("client", conformance.run_each(node, "client", tmp_path, chosen, *options))


@pytest.mark.parametrize("path", ["warehouse/mcp", "om/mcp"])
@pytest.mark.parametrize("revision", VERSIONS)
def test_the_executor_passes_what_concerns_it_and_nothing_else(node, stack, start, tmp_path, revision, path):
    host, port = stack.executor.split(":")
    proxy = start("bearer-proxy", [node, HERE / "bearer_proxy.mjs", "PORT", host, port], {"BEARER": stack.token("carol")})
    options = ["--url", f"{proxy.base}/{path}", "--suite", "all", "--spec-version", revision]
    results = conformance.run(node, "server", pathlib.Path(tmp_path), *options)
    listed = conformance.listed(node, "Server")
    assert set(results) == {name for name, revisions in listed.items() if revision in revisions}
    compare("server", results, revision)
    proxy.stop()
