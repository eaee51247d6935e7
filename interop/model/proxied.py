"""A service whose model is behind LiteLLM's proxy, which is in front of the sample stack's analyst."""

import json
import os
import secrets
import subprocess
import sys
import urllib.request

from rig.process import Process, free_port, programs, wait_for

# The name that a service asks for, and the protocol that the proxy then speaks to the analyst.
UPSTREAM = {"over-openai": "openai", "over-anthropic": "anthropic"}


class Proxy(Process):
    """LiteLLM, with nothing but the analyst behind it."""

    def __init__(self, folder, stack):
        folder.mkdir(parents=True, exist_ok=True)
        model, self.port, self.key = stack.state["model"]["base_url"], free_port(), f"sk-{secrets.token_hex(32)}"
        base = {"openai": f"{model}/v1", "anthropic": model}
        config = {
            "model_list": [
                {"model_name": name, "litellm_params": {"model": f"{kind}/analyst", "api_base": base[kind], "api_key": "stand-in"}}
                for name, kind in UPSTREAM.items()
            ],
            "litellm_settings": {"drop_params": True, "telemetry": False, "num_retries": 0,
                                 # The analyst has no /responses, which the proxy would else take Messages to.
                                 "use_chat_completions_url_for_anthropic_messages": True},
        }
        file = folder / "litellm.json"
        file.write_text(json.dumps(config))
        env = {
            "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "HOME": str(folder),
            "LITELLM_MASTER_KEY": self.key, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False",
        }
        command = [os.path.join(os.path.dirname(sys.executable), "litellm"), "--config", file, "--host", "127.0.0.1", "--port", self.port]
        super().__init__("litellm", command, folder / "litellm.log", env)
        self.base = f"http://127.0.0.1:{self.port}"
        wait_for("the proxy is up", lambda: self.check() and self.lives(), 120)

    def lives(self):
        try:
            with urllib.request.urlopen(f"{self.base}/health/liveliness", timeout=2) as reply:
                return reply.status == 200
        except OSError:
            return False


class Service(Process):
    """`ask-service` with the tool servers of a stack and a model of the test's choice."""

    def __init__(self, folder, stack, protocol, base, model, key):
        folder.mkdir(parents=True, exist_ok=True)
        state, port = stack.state, free_port()
        self.base = f"http://127.0.0.1:{port}"
        super().__init__("ask-service", [programs() / "ask-service"], folder / "service.log", {
            "PATH": os.environ["PATH"], "DAS_ASK_PORT": str(port), "DAS_ENTRA_ISSUER": state["issuer"],
            "DAS_ENTRA_JWKS_URL": state["jwks_url"], "DAS_APIM_BASE": state["executor"]["url"], "DAS_LLM_PROTOCOL": protocol,
            "DAS_LLM_BASE_URL": base, "DAS_LLM_API_KEY": key, "DAS_MODEL": model, "DAS_LLM_ACCEPT_DEGRADED": "true",
        })
        wait_for("the service is ready", lambda: self.check() and self.lives())

    def lives(self):
        try:
            with urllib.request.urlopen(f"{self.base}/health/ready", timeout=2) as reply:
                return reply.status == 200
        except OSError:
            return False


def ask(base, token, question):
    """What the command line says of an ask, as JSON, and its exit code."""
    env = {"PATH": os.environ["PATH"], "ASK_BASE_URL": base, "ASK_TOKEN": token, "HOME": "/nonexistent"}
    done = subprocess.run([programs() / "ask", "--format", "json", "--", question], env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, json.loads(done.stdout or "null"), done.stderr
