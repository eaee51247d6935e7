"""The sample stack, up for as long as a script needs it."""

import json
import os
import urllib.parse
import urllib.request

from .process import Process, free_port, programs, wait_for


class Stack(Process):
    """`ask-devstack up` in a folder of its own."""

    def __init__(self, folder, settings=None, stand_in="analyst"):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DAS_", "ASK_DEVSTACK"))}
        env.update(settings or {})
        state = folder / "stack.json"
        # Free ports are looked for before they are bound, and another stack may be faster.
        for left in (2, 1, 0):
            command = [programs() / "ask-devstack", "up", "--port", free_port(), "--stand-in", stand_in, "--run-dir", folder]
            super().__init__("ask-devstack", command, folder / "devstack.log", env)
            try:
                wait_for("the stack is up", lambda: self.check() and state.exists())
                break
            except RuntimeError:
                self.stop()
                if not left:
                    raise
        self.state = json.loads(state.read_text())

    @property
    def service(self):
        """The service's host and port."""
        return self.state["base_url"].removeprefix("http://")

    @property
    def executor(self):
        """The executor's host and port."""
        return self.state["executor"]["url"].removeprefix("http://")

    def token(self, user):
        form = {
            "grant_type": "password", "username": user, "client_id": "ask-cli",
            "scope": "openid api://data-agent-service/access_as_user",
        }
        with urllib.request.urlopen(self.state["token_url"], urllib.parse.urlencode(form).encode(), timeout=10) as reply:
            return json.load(reply)["access_token"]

    def environment(self, base=None):
        """What the harness and the command line need to know of this stack, at another address if one is given."""
        state = self.state
        return {
            "ASK_BASE_URL": base or state["base_url"],
            "ASK_ISSUER": state["issuer"],
            "ASK_TOKEN_URL": state["token_url"],
            "ASK_MINT_URL": state["mint_url"],
            "ASK_EXECUTOR_URL": state["executor"]["url"],
            "ASK_EXECUTOR_AUDIT": state["executor"]["log"],
            "ASK_SERVICE_LOG": state["service"]["log"],
            "ASK_MODEL_CONTROL": self.model_control,
        }

    @property
    def model_control(self):
        return f"{self.state['model']['base_url']}/control"
