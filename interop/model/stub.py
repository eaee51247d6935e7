"""The sample stack's stub model, told what to answer next."""

import json
import urllib.request


class Session:
    """A session of the stub: a script and a record of its own."""

    def __init__(self, stack, name):
        self.base = f"{stack.state['model']['base_url']}/s/{name}"

    def script(self, *replies):
        """The next requests are answered with these, one each."""
        self._call("script", json.dumps(replies).encode())

    @property
    def requests(self):
        """What was asked, the oldest first."""
        return self._call("requests")

    def _call(self, verb, body=None):
        request = urllib.request.Request(f"{self.base}/control/{verb}", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.load(reply)
