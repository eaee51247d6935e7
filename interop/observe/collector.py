"""A receiver of OTLP over HTTP that decodes with OpenTelemetry's own types."""

import base64
import http.server
import json
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def _with_base64_ids(value):
    """OTLP's JSON writes ids in hexadecimal, protobuf's reader takes base64; all else is the same."""
    if isinstance(value, list):
        return [_with_base64_ids(item) for item in value]
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(item)).decode() if key in ("traceId", "spanId", "parentSpanId")
            else _with_base64_ids(item)
            for key, item in value.items()
        }
    return value


def decoded(body):
    # A member that OTLP does not know is an error here.
    return json_format.ParseDict(_with_base64_ids(json.loads(body)), ExportTraceServiceRequest())


class Span:
    """A span, its ids in hexadecimal and its attributes as plain values."""

    def __init__(self, span, resource):
        self.name, self.kind, self.error = span.name, span.kind, span.status.code == 2
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.began, self.ended = span.start_time_unix_nano, span.end_time_unix_nano
        self.attributes = {item.key: _plain(item.value) for item in span.attributes}
        self.resource = {item.key: _plain(item.value) for item in resource.attributes}


def _plain(value):
    kind = value.WhichOneof("value")
    return [_plain(item) for item in value.array_value.values] if kind == "array_value" else getattr(value, kind)


class Collector:
    """Receives on a free port for as long as it is entered. Answers with the statuses it is given first, then 200."""

    def __init__(self, statuses=()):
        self.bodies, self.headers, self.statuses = [], [], list(statuses)
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = collector.statuses.pop(0) if collector.statuses else 200
                collector.headers.append((self.path, dict(self.headers)))
                if status == 200:
                    collector.bodies.append(body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def spans(self):
        found = []
        for body in list(self.bodies):
            for resource in decoded(body).resource_spans:
                for scope in resource.scope_spans:
                    found.extend(Span(span, resource.resource) for span in scope.spans)
        return found

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
