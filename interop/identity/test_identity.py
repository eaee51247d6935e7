"""Identity against software of others: a provider from npm as issuer of the service, and the command line signed in at it."""

import base64
import json
import re
import stat
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from parties import Deployment, Person, Provider, fetch
from rig.process import programs, wait_for

QUESTION = "How many support tickets are there?"
SCOPE = "openid offline_access access_as_user finance"


@pytest.fixture(scope="session")
def provider(tmp_path_factory):
    with Provider(tmp_path_factory.mktemp("provider")) as running:
        yield running


@pytest.fixture(scope="session")
def deployment(tmp_path_factory, stack, provider):
    """A service for a plain OpenID provider: tokens with `scope` and `sub` alone, the roles among the scopes."""
    running = Deployment(tmp_path_factory.mktemp("plain"), stack, {
        "DAS_ENTRA_ISSUER": provider.issuer, "DAS_ENTRA_JWKS_URL": provider.document["jwks_uri"],
        "DAS_SCOPE_CLAIMS": "scope", "DAS_ROLE_CLAIMS": "scope",
    })
    yield running
    running.stop()


@pytest.fixture
def person(tmp_path, deployment, provider):
    return Person(tmp_path / "home", deployment.base, ASK_ISSUER=provider.issuer, ASK_SCOPE=SCOPE)


def part(token, index):
    return json.loads(base64.urlsafe_b64decode(token.split(".")[index] + "=="))


def answered(run):
    assert run.returncode == 0 and "3,600 tickets" in run.stdout, (run.returncode, run.stdout, run.stderr)


def test_a_person_signs_in_asks_and_signs_out(person, provider):
    before = person.run("whoami")
    assert before.returncode == 7 and "ask login" in before.stderr
    told = person.login()
    kept = person.kept()
    token = kept["access_token"]
    claims = part(token, 1)
    assert claims["iss"] == provider.issuer and claims["sub"] == "carol" and claims["aud"] == "api://data-agent-service"
    assert set(claims["scope"].split()) == {"access_as_user", "finance"} and not claims.keys() & {"scp", "roles", "oid", "tid"}

    who = person.run("whoami")
    assert re.match(r"carol, until \d{4}-\d\d-\d\d \d\d:\d\d UTC, in (9|10) min; renews itself; issuer http", who.stdout), who
    doctor = person.run("doctor")
    assert doctor.returncode == 0 and "missing" not in doctor.stdout, doctor.stdout
    answered(person.run(QUESTION))

    secrets = [token, token.split(".")[2], kept["refresh_token"]]
    said = [told, *(run.stdout + run.stderr for run in (who, doctor, person.run("whoami", "--json"), person.run("--trace", QUESTION)))]
    assert not any(secret in text for secret in secrets for text in said)
    assert stat.S_IMODE(person.kept_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(person.kept_file.parent.stat().st_mode) == 0o700

    out = person.run("logout")
    assert out.returncode == 0 and "taken the refresh token back" in out.stderr, out
    assert not list((person.home / ".local/state/ask").glob("*.json"))
    assert person.run(QUESTION).returncode == 7
    with pytest.raises(urllib.error.HTTPError) as refused:
        form = {"grant_type": "refresh_token", "refresh_token": kept["refresh_token"], "client_id": "ask-cli"}
        fetch(provider.document["token_endpoint"], form)
    assert json.load(refused.value)["error"] == "invalid_grant"


def test_a_token_is_renewed_before_it_ends_and_each_refresh_token_is_used_once(person):
    person.login()
    first = person.kept()
    person.change_kept(expires_at=int(time.time()) + 20)
    # Two at a time: the one that comes second must find what the first has got.
    both = [
        subprocess.Popen([programs() / "ask", QUESTION], env=person.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for child in both:
        out, err = child.communicate(timeout=60)
        assert child.returncode == 0 and "3,600 tickets" in out, err
    second = person.kept()
    assert second["access_token"] != first["access_token"] and second["refresh_token"] != first["refresh_token"]
    assert second["expires_at"] > time.time() + 500
    # The provider would have ended everything if a refresh token had come twice.
    person.change_kept(expires_at=int(time.time()) - 5)
    answered(person.run(QUESTION))
    assert person.kept()["access_token"] != second["access_token"]


def test_a_token_that_is_refused_is_renewed_once(person):
    person.login()
    good = person.kept()["access_token"]
    person.change_kept(access_token=good[:-8] + "AAAAAAAA")
    answered(person.run(QUESTION))
    assert person.kept()["access_token"] not in (good, good[:-8] + "AAAAAAAA")


def test_keys_are_rotated_in_mid_run_and_asking_goes_on(person, provider, stack):
    person.login()
    old = part(person.kept()["access_token"], 0)["kid"]
    answered(person.run(QUESTION))
    running = subprocess.Popen(
        [programs() / "ask", "--json", QUESTION], env=person.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert '"accepted"' in running.stdout.readline()
    new = provider.rotate()
    assert provider.published() == [new, old]
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0 and '"answer"' in out, err
    # The old key still counts, the new one is found when the first token comes that it signed.
    answered(person.run(QUESTION))
    person.change_kept(expires_at=int(time.time()) - 5)
    wait_for("the service takes tokens of the new key", lambda: person.run(QUESTION).returncode == 0, 60)
    assert part(person.kept()["access_token"], 0)["kid"] == new

    # A key that is withdrawn at once: whoever holds its token gets a new one without noticing.
    newest = provider.rotate(withdraw=True)
    assert provider.published() == [newest]
    person.change_kept(expires_at=int(time.time()) - 5)
    wait_for("the service takes tokens of the newest key", lambda: person.run(QUESTION).returncode == 0, 60)
    assert part(person.kept()["access_token"], 0)["kid"] == newest


def test_an_ended_sign_in_says_so(person, provider):
    person.login()
    form = {"token": person.kept()["refresh_token"], "client_id": "ask-cli"}
    fetch(provider.document["revocation_endpoint"], form)
    person.change_kept(expires_at=int(time.time()) - 5)
    run = person.run(QUESTION)
    assert run.returncode == 7 and "sign in again with `ask login`" in run.stderr, run
    assert person.run("doctor").returncode == 7


def test_ctrl_c_at_the_code_leaves_nobody_signed_in(person):
    child, _page, _told = person.begin_login()
    child.send_signal(2)
    assert child.wait(10) == 6
    assert not (person.home / ".local/state/ask").exists()


def test_the_device_flow_at_the_sample_issuer(tmp_path, stack):
    issuer = stack.state["issuer"]
    person = Person(tmp_path / "home", stack.state["base_url"], ASK_ISSUER=issuer)
    child, page, _told = person.begin_login()
    code = page.split("user_code=")[1]
    fetch(page.split("?")[0], {"user_code": code, "username": "carol"})
    assert child.wait(30) == 0
    claims = part(person.kept()["access_token"], 1)
    assert claims["ver"] == "2.0" and claims["scp"] == "access_as_user" and {"roles", "tid", "oid"} <= claims.keys()
    answered(person.run(QUESTION))
    first = person.kept()["refresh_token"]
    person.change_kept(expires_at=int(time.time()) + 20)
    answered(person.run(QUESTION))
    # Two tokens of this issuer within one second are the same; a refresh token counts once.
    assert person.kept()["refresh_token"] != first
    # This issuer has no revocation endpoint.
    out = person.run("logout")
    assert out.returncode == 0 and "takes no token back" in out.stderr
    assert person.run(QUESTION).returncode == 7


def test_a_declined_sign_in_says_so(tmp_path, stack):
    person = Person(tmp_path / "home", stack.state["base_url"], ASK_ISSUER=stack.state["issuer"])
    child, page, _told = person.begin_login()
    fetch(page.split("?")[0], {"user_code": page.split("user_code=")[1], "decision": "deny"})
    assert "declined" in child.communicate(timeout=30)[1] and child.returncode == 7


def test_tokens_shaped_like_entras_first_version(tmp_path, stack):
    """The sample issuer signs; the shape, the issuer's name and the audience are those of Entra's version 1."""
    tenant = stack.state["issuer"].split("/")[-2]
    issuer = f"https://sts.windows.net/{tenant}/"
    deployment = Deployment(tmp_path / "v1", stack, {
        "DAS_ENTRA_ISSUER": issuer, "DAS_ENTRA_JWKS_URL": stack.state["jwks_url"],
        "DAS_AGENT_AUDIENCE": "api://data-agent-service",
    })
    try:
        claims = {
            "iss": issuer, "ver": "1.0", "aud": "api://data-agent-service", "appid": "ask-cli", "appidacr": "0",
            "upn": "carol@sample.example", "azp": None, "azpacr": None, "preferred_username": None,
        }
        token = mint(stack, {"username": "carol", "claims": claims})
        assert part(token, 1)["ver"] == "1.0" and part(token, 1)["scp"] == "access_as_user"
        person = Person(tmp_path / "home", deployment.base, ASK_TOKEN=token)
        answered(person.run(QUESTION))
        assert person.run("whoami").stdout.startswith("carol@sample.example, until ")
        # The same person's token of version 2 names another issuer, which this service does not take.
        other = person.run(QUESTION, ASK_TOKEN=stack.token("carol"))
        assert other.returncode == 7 and "401" in other.stderr
    finally:
        deployment.stop()


def mint(stack, order):
    request = urllib.request.Request(
        stack.state["mint_url"], json.dumps(order).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.load(reply)["access_token"]


def test_no_secret_goes_into_the_clear(tmp_path, stack):
    person = Person(tmp_path / "home", stack.state["base_url"])
    for issuer in ("http://id.example", "http://169.254.169.254/", "ftp://127.0.0.1"):
        run = person.run("login", "--issuer", issuer)
        assert run.returncode == 7 and "neither https nor this machine" in run.stderr, run
    run = person.run("login")
    assert run.returncode == 7 and "--issuer" in run.stderr, run
