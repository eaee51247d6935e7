"""Who takes part: a provider of others, a service and an executor that trust it, a person with a browser and a terminal."""

import html
import http.cookiejar
import json
import os
import pathlib
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from rig.process import Process, free_port, programs, wait_for

HERE = pathlib.Path(__file__).parent


def fetch(url, form=None, method=None):
    data = urllib.parse.urlencode(form).encode() if form is not None else None
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=10) as reply:
        return reply.read().decode()


def is_up(url):
    try:
        return bool(fetch(url))
    except OSError:
        return False


class Provider(Process):
    """The npm package oidc-provider."""

    def __init__(self, folder):
        port = free_port()
        self.issuer = f"http://127.0.0.1:{port}"
        super().__init__("oidc-provider", ["node", HERE / "provider.mjs", port], folder / "provider.log")
        wait_for("the provider is up", lambda: self.check() and is_up(f"{self.issuer}/.well-known/openid-configuration"))
        self.document = json.loads(fetch(f"{self.issuer}/.well-known/openid-configuration"))

    def rotate(self, withdraw=False):
        """Has a new key sign from now on; its id."""
        return fetch(f"{self.issuer}/control/rotate{'?withdraw=1' if withdraw else ''}", method="POST")

    def published(self):
        return [key["kid"] for key in json.loads(fetch(self.document["jwks_uri"]))["keys"]]


class Deployment:
    """An executor with the sample data and a service, which trust an issuer by settings alone."""

    def __init__(self, folder, stack, identity):
        executor_port, service_port = free_port(), free_port()
        env = {"PATH": os.environ["PATH"], **identity}
        config = pathlib.Path(stack.state["data_dir"]) / "executor.json"
        self.executor = Process(
            "ask-executor", [programs() / "ask-executor", "--config", config, "--port", executor_port],
            folder / "executor.log", env | {"DAS_RATE_CALLS": "1000"},
        )
        self.base = f"http://127.0.0.1:{service_port}"
        self.service = Process(
            "ask-service", [programs() / "ask-service"], folder / "service.log",
            env | {
                "DAS_ASK_PORT": str(service_port), "DAS_APIM_BASE": f"http://127.0.0.1:{executor_port}",
                "DAS_WAREHOUSE_MCP_PATH": "/warehouse/mcp", "DAS_OM_MCP_PATH": "/om/mcp",
                "DAS_SOURCES": json.dumps(sources(config)), "DAS_LLM_PROTOCOL": stack.state["model"]["protocol"],
                "DAS_LLM_BASE_URL": stack.state["model"]["base_url"], "DAS_LLM_API_KEY": "stand-in", "DAS_MODEL": "demo-analyst",
            },
        )
        wait_for("the service is up", lambda: self.service.check() and self.executor.check() and is_up(f"{self.base}/health"))

    def stop(self):
        self.service.stop()
        self.executor.stop()


def sources(config):
    """The sources as the service is told of them."""
    return [
        {"name": one["name"], "kind": one["kind"], "dialect": one["kind"]} for one in json.loads(config.read_text())["sources"]
    ]


class Person:
    """Somebody with the command line, a home of their own, and a browser elsewhere."""

    def __init__(self, folder, base, **env):
        self.home = folder
        self.home.mkdir(parents=True)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "ASK_BASE_URL": base, **env}
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.browser = urllib.request.build_opener(cookies)

    def run(self, *args, **env):
        command = [programs() / "ask", *args]
        return subprocess.run(command, env=self.env | env, capture_output=True, text=True, timeout=120)

    def begin_login(self, *args):
        """Starts `ask login`; the process, the page with the code in it, and all that was said so far."""
        child = subprocess.Popen([programs() / "ask", "login", *args], env=self.env, stderr=subprocess.PIPE, text=True)
        told = ""
        while "Ctrl-C gives up" not in told:
            line = child.stderr.readline()
            assert line, f"the login ended: {told}"
            told += line
        return child, re.search(r"open\s+(\S+user_code=\S+)", told)[1], told

    def approve(self, page):
        """Walks through the provider's pages as a person does: whatever form is shown is filled in and sent."""
        reply = self.browser.open(page, timeout=10)
        seen = []
        for _ in range(8):
            text, url = reply.read().decode(), reply.geturl()
            seen.append(text)
            form = re.search(r"<form.*?</form>", text, re.S)
            if not form or "Sign-in Success" in text:
                return seen
            fields = {
                re.search(r'name="([^"]+)"', tag)[1]: html.unescape((re.search(r'value="([^"]*)"', tag) or [0, ""])[1])
                for tag in re.findall(r"<input[^>]+name=[^>]+>", form[0])
            }
            fields |= {name: "carol" for name in ("login", "password") if name in fields}
            fields.pop("abort", None)
            action = re.search(r'action="([^"]*)"', form[0])
            target = urllib.parse.urljoin(url, html.unescape(action[1])) if action else url
            reply = self.browser.open(target, urllib.parse.urlencode(fields).encode(), timeout=10)
        raise AssertionError("no end of forms: " + seen[-1])

    def login(self, *args):
        child, page, told = self.begin_login(*args)
        seen = self.approve(page)
        told += child.communicate(timeout=30)[1]
        assert child.returncode == 0, (told, seen[-1][:2000])
        return told

    @property
    def kept_file(self):
        (found,) = (self.home / ".local/state/ask").glob("*.json")
        return found

    def kept(self):
        return json.loads(self.kept_file.read_text())

    def change_kept(self, **members):
        self.kept_file.write_text(json.dumps(self.kept() | members))
