"""The three gateways of `deploy/`, and each with nothing but a plain proxy rule, in front of a stack."""

import os
import pathlib
import re
import shutil

from .process import ROOT, Process, accepts, free_port, wait_for

NAMES = ["nginx", "caddy", "haproxy"]


def program(name):
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if not found:
        raise SystemExit(f"{name} is not installed: run scripts/install-gateways.sh")
    return found


def deployed(name):
    """The configuration of `deploy/`, as it stands."""
    files = {"nginx": "nginx/ask.conf.template", "caddy": "caddy/Caddyfile", "haproxy": "haproxy/haproxy.cfg"}
    return (ROOT / "deploy" / files[name]).read_text()


def plain(name):
    """The least that proxies the service, everything else at the gateway's defaults."""
    return {
        "nginx": "pid ${ASK_STATE}/nginx.pid; error_log stderr; events {} http { access_log off;"
        " client_body_temp_path ${ASK_STATE}/body; proxy_temp_path ${ASK_STATE}/proxy; fastcgi_temp_path ${ASK_STATE}/fastcgi;"
        " uwsgi_temp_path ${ASK_STATE}/uwsgi; scgi_temp_path ${ASK_STATE}/scgi;"
        " server { listen ${ASK_LISTEN}; location ${ASK_PATH}/ { proxy_pass http://${ASK_SERVICE}/; } } }\n",
        "caddy": "{\n\tadmin off\n\tauto_https off\n}\nhttp://{$ASK_LISTEN} {\n\thandle_path {$ASK_PATH}/* {\n"
        "\t\treverse_proxy {$ASK_SERVICE}\n\t}\n}\n",
        "haproxy": "defaults\n    mode http\n    timeout connect 5s\n    timeout client 50s\n    timeout server 50s\n"
        'frontend door\n    bind "${ASK_LISTEN}"\n    http-request set-path %[path,regsub(^"${ASK_PATH}"/,/)]\n'
        '    default_backend ask\nbackend ask\n    server ask "${ASK_SERVICE}"\n',
    }[name]


class Gateway(Process):
    """One gateway in the foreground, on a free port."""

    def __init__(self, name, stack, folder, text, path="/ask", port=None):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.port = port or free_port()
        values = {
            "ASK_LISTEN": f"127.0.0.1:{self.port}", "ASK_SERVICE": stack.service, "ASK_EXECUTOR": stack.executor,
            "ASK_PATH": path, "ASK_STATE": str(folder),
        }
        config = folder / f"{name}.conf"
        if name == "nginx":
            # What envsubst does.
            text = re.sub(r"\$\{(ASK_[A-Z]+)\}", lambda found: values[found[1]], text)
        config.write_text(text)
        command = {
            "nginx": ["-p", folder, "-c", config, "-g", "daemon off; user root;"],
            "caddy": ["run", "--config", config, "--adapter", "caddyfile"],
            "haproxy": ["-db", "-f", config],
        }[name]
        home = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
        env = {"PATH": os.environ.get("PATH", ""), **values, **home}
        super().__init__(name, [program(name), *command], folder / f"{name}.log", env)
        self.base = f"http://127.0.0.1:{self.port}{path}"
        self.root = f"http://127.0.0.1:{self.port}"
        wait_for(f"{name} listens", lambda: self.check() and accepts(self.port))
