"""
Receives the outcomes of runs that a webhook endpoint with `response_mode: callback` has started. Only what the platform signed counts, once each.

    WEBHOOK_SECRETS=whsec_…[,whsec_…] python webhook_receiver.py 8080
"""

from __future__ import annotations

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from longhaul import WebhookVerificationError, verify_webhook

SECRETS = os.environ["WEBHOOK_SECRETS"].split(",")
MAX_BYTES = 1_048_576
# A real receiver keeps these in its database: a callback may come again after a restart.
seen: set[str] = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BYTES:
            self.answer(413)
            return
        try:
            event = verify_webhook(self.rfile.read(length), dict(self.headers.items()), SECRETS)
        except WebhookVerificationError as error:
            self.log_message("refused: %s", error)
            self.answer(401)
            return
        id_ = self.headers["webhook-id"]
        if id_ not in seen:
            seen.add(id_)
            print(event["type"], event["data"].get("run_id"), event["data"].get("status"), flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
