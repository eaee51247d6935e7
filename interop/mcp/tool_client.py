"""The project's MCP client as a child process that is told what to do by lines of JSON."""

import json
import subprocess


class Fault(Exception):
    """What the client says when a session cannot be opened or an order fails."""

    def __init__(self, error):
        super().__init__(error)
        self.error = error


class ToolClient:
    """One session with one server; a context that ends it."""

    def __init__(self, program, url, **options):
        self.child = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.version = self._say({"url": url, **options})["version"]
        except BaseException:
            self.child.kill()
            self.child.wait()
            raise

    def _say(self, order):
        self.child.stdin.write(json.dumps(order) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"the client ended by itself ({self.child.wait()})")
        answer = json.loads(line)
        if "error" in answer:
            raise Fault(answer["error"])
        return answer

    def list(self):
        return self._say({"op": "list"})

    def tools(self):
        return {tool["name"]: tool for tool in self.list()["tools"]}

    def calls(self, *calls):
        """Runs calls together; each a name, or a name and its arguments."""
        pairs = [(call, {}) if isinstance(call, str) else call for call in calls]
        order = [{"name": name, "arguments": arguments} for name, arguments in pairs]
        return self._say({"op": "call", "calls": order})["results"]

    def call(self, name, **arguments):
        result = self.calls((name, arguments))[0]
        if "error" in result:
            raise Fault(result["error"])
        return result

    def close(self):
        self._say({"op": "close"})
        self.child.wait(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
