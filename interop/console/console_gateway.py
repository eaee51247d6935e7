"""A gateway that serves the console's files itself, as `deploy/` has it, beside the service that it mounts."""

import json
import shutil
import urllib.parse

from rig.gateway import Gateway, deployed
from rig.process import ROOT

# The snippet, and the line of the gateway's own file before which it is included.
SNIPPETS = {
    "nginx": ("nginx/console.conf.template", "        location = /warehouse/mcp {"),
    "caddy": ("caddy/console.Caddyfile", "\t@executor path "),
}


class ConsoleGateway(Gateway):
    """nginx or Caddy with the console at /console/."""

    def __init__(self, name, stack, folder):
        files = folder / "console"
        shutil.copytree(ROOT / "crates/console/static", files)
        issuer = stack.state["issuer"]
        config = {"ask": "/ask", "issuer": issuer, "client_id": "ask-console", "scope": stack.state["scope"]}
        (files / "config.json").write_text(json.dumps(config))
        path, before = SNIPPETS[name]
        snippet = (ROOT / "deploy" / path).read_text()
        origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(issuer))
        for variable, value in {"ASK_CONSOLE": str(files), "ASK_ISSUER": origin}.items():
            snippet = snippet.replace(f"${{{variable}}}", value).replace(f"{{${variable}}}", value)
        whole = deployed(name)
        assert whole.count(before) == 1, f"{name}: {before!r} is not there once"
        super().__init__(name, stack, folder / "gateway", whole.replace(before, f"{snippet}\n{before}"))
