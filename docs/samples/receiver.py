"""A receiver of callbacks: verifies, remembers, answers at once.

$ pip install standardwebhooks
$ DARKROOM_CALLBACK_SECRET=whsec_… python receiver.py 8300
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["DARKROOM_CALLBACK_SECRET"])
seen = set()  # a table with a unique column in a real service, which outlives this process


class Receiver(BaseHTTPRequestHandler):
    """Answers 200 to what is signed with the secret, 400 to anything else."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            event = webhook.verify(body, headers)
        except WebhookVerificationError as error:
            self.answer(400, str(error))
            return
        if headers["webhook-id"] not in seen:  # it may come twice
            seen.add(headers["webhook-id"])
            print(event["type"], event["data"].get("task_id", ""), flush=True)
        self.answer(200, "thank you")

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
