"""Tokens that are wrong in header, claims, keys or transport, over the wire."""

import base64
import hashlib
import hmac
import json
import time
import urllib.request

from ..peers.keys import Keys

PROMISE = "a token that is not good gets nothing, not even a hint"
REACH = "at least 60 cases over header, claims, keys, transport: one identical 401; a good token still works; no outbound fetch caused"


def mint(stack, **order):
    request = urllib.request.Request(
        stack.state["mint_url"], json.dumps(order).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.load(reply)["access_token"]


def part(value):
    return base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).rstrip(b"=").decode()


def cases(stack, off_list):
    """Name and the whole `Authorization` value (or None for no header) of each bad token."""
    good, now = stack.token("carol"), int(time.time())
    head, body, signature = good.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    header = json.loads(base64.urlsafe_b64decode(head + "=="))
    rows = {}

    def row(name, token, scheme="Bearer "):
        rows[name] = f"{scheme}{token}"

    for claim, values in {
        "iss": [None, "", "http://127.0.0.1:9/other/v2.0", claims["iss"] + "/", claims["iss"].upper(), 7, [claims["iss"]], {}],
        "aud": [None, "", "api://another", 7, [], {}, [7], claims["aud"].upper() if isinstance(claims["aud"], str) else "x"],
        "exp": [None, 0, -1, now - 3600, str(now + 600), now + 10 * 365 * 86400, 1e300, True, [], {}],
        "nbf": [now + 3600, str(now), [], {}],
        "iat": [now + 3600, "yesterday", {}],
        "sub": [7, [], {}],
        "oid": [7, [], {}],
        "tid": [7, []],
        "scp": [7, {}, [7]],
        "roles": [7, {}],
    }.items():
        for value in values:
            row(f"claim {claim} {str(value)[:24]}", mint(stack, claims={claim: value}))
    row("neither oid nor sub", mint(stack, claims={"oid": None, "sub": None}))
    for name, members in {
        "alg none": {"alg": "none"}, "alg None": {"alg": "None"}, "alg HS256": {"alg": "HS256"}, "alg missing": {"alg": None},
        "alg ES256": {"alg": "ES256"}, "alg PS256": {"alg": "PS256"}, "kid missing": {"kid": None}, "kid path": {"kid": "../../etc/passwd"},
        "kid sql": {"kid": "' OR 1=1 --"}, "kid number": {"kid": 7}, "crit": {"crit": ["x"], "x": 1}, "b64 false": {"b64": False, "crit": ["b64"]},
        "typ id token": {"typ": "id_token+jwt"}, "zip": {"zip": "DEF"},
    }.items():
        row(f"header {name}", mint(stack, header=members))
    key = {"kty": "oct", "k": part(b"secret")}
    row("header jwk", mint(stack, header={"jwk": key}, key="forged"))
    row("header jku elsewhere", mint(stack, header={"jku": f"http://{off_list}/keys", "kid": "elsewhere"}, key="unpublished"))
    row("header x5u elsewhere", mint(stack, header={"x5u": f"http://{off_list}/cert"}, key="forged"))
    row("iss elsewhere with its own keys", mint(stack, claims={"iss": f"http://{off_list}/t/v2.0"}, key="forged"))
    row("key forged", mint(stack, key="forged"))
    row("key unpublished", mint(stack, key="unpublished"))
    secret = part(b"the public key as a secret").encode()
    fake = f"{part({**header, 'alg': 'HS256'})}.{body}"
    row("HS256 by the public key", f"{fake}.{part(hmac.new(secret, fake.encode(), hashlib.sha256).digest())}")
    row("unsigned", f"{part({**header, 'alg': 'none'})}.{body}.")
    row("signature stripped", f"{head}.{body}.")
    row("signature of another", f"{head}.{part({**claims, 'oid': 'x'})}.{signature}")
    row("one bit of the signature", f"{head}.{body}.{('A' if signature[0] != 'A' else 'B') + signature[1:]}")
    row("two parts", f"{head}.{body}")
    row("four parts", f"{good}.{signature}")
    row("five parts, encrypted", f"{good}.{signature}.{signature}")
    row("payload no JSON", f"{head}.{part(b'nothing')}.{signature}")
    row("payload a list", f"{head}.{part([])}.{signature}")
    row("ten kilobytes", "x" * 10_000)
    row("padded", f"{head}==.{body}==.{signature}==")
    row("empty", "")
    row("blank inside", good.replace(".", ". "))
    row("two tokens", f"{good} {good}")
    row("comma and another", f"{good}, Bearer {good}")
    row("scheme Basic", good, "Basic ")
    row("scheme Token", good, "Token ")
    row("scheme DPoP", good, "DPoP ")
    row("no scheme", good, "")
    rows["no header"] = None
    return good, rows


async def run(row, scene):
    from ..peers.tools import OffList
    async with Keys(scene.stub.state["jwks_url"]) as keys, OffList() as off_list:
        async with scene.service("tokens", {"DAS_ENTRA_JWKS_URL": keys.url}) as service:
            good, bad = cases(scene.stub, off_list.authority)
            caller = scene.caller(service.base)
            before, answers, let_in = len(keys.fetches), set(), []
            for name, value in bad.items():
                caller.auth = {} if value is None else {"Authorization": value}
                status, headers, body = await caller.call("GET", "/v1/asks/t_none")
                shown = sorted((key, text) for key, text in headers.items() if key not in ("date", "x-request-id"))
                body = {key: text for key, text in json.loads(body or b"{}").items() if key != "request_id"}
                answers.add((status, json.dumps(body, sort_keys=True), str(shown)))
                if status != 401:
                    let_in.append(f"{name}: {status}")
            # In the query or a cookie a token counts for nothing.
            for path, more in [(f"?access_token={good}", {}), ("", {"Cookie": f"access_token={good}; Authorization=Bearer {good}"})]:
                caller.auth = more
                status, _, _ = await caller.call("GET", f"/v1/asks/t_none{path}")
                if status != 401:
                    let_in.append(f"transport {path[:14]}: {status}")
            caller.auth = {"Authorization": f"Bearer {good}"}
            status, _, _ = await caller.call("GET", "/v1/asks/t_none")
            unknown = len(keys.fetches) - before
    row.figure("cases", len(bad) + 2, len(bad) + 2 >= 60)
    row.figure("let in:", let_in or 0, not let_in)
    row.figure("different answers:", len(answers), len(answers) == 1)
    row.figure("a good token then:", status, status == 404)
    row.figure("fetches off the list:", off_list.connections, off_list.connections == 0)
    # An unknown key may cause one fetch of the configured endpoint every 30 s, whatever the token says.
    row.figure("fetches of the configured keys:", unknown, unknown <= 1)
