"""Webhooks: what verifies, and what does not."""

import base64
import datetime
import json
import time

import longhaul
from longhaul import verify_webhook
from standardwebhooks import Webhook


def outcome(body, headers, secrets, now=None):
    try:
        return verify_webhook(body, headers, secrets, now=now)["type"]
    except longhaul.WebhookVerificationError as error:
        assert error.__cause__ is None and error.__context__ is None
        return None


def vectors(given):
    """Those that the platform's own signer made."""
    return [outcome(one["body"].encode(), one["headers"], one["secrets"], one["now"]) for one in given]


def of_the_standard_package():
    found = {}
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
    other = "whsec_" + base64.b64encode(b"another key of thirty-two bytes!").decode()
    for name, value in {"plain": {"type": "run.finished", "data": {}}, "multi-byte": {"type": "größe ☃ 𝄞", "data": {"text": "日本語"}}}.items():
        body = json.dumps(value, ensure_ascii=False)
        at = datetime.datetime.now(tz=datetime.timezone.utc)
        signature = Webhook(secret).sign("msg_1", at, body)
        second = Webhook(other).sign("msg_1", at, body)
        headers = {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(int(at.timestamp())), "Webhook-Signature": signature}
        raw = body.encode()
        found[name] = {
            "good": outcome(raw, headers, secret) == value["type"],
            "any secret": outcome(raw, headers, [other, secret]) == value["type"],
            "any signature": outcome(raw, {**headers, "Webhook-Signature": f"v1a,xyz v1,nonsense {second} {signature}"}, secret) == value["type"],
            "lists and bytes": outcome(raw, {name: [text.encode()] for name, text in headers.items()}, secret) == value["type"],
            "early": outcome(raw, headers, secret, time.time() - 299) == value["type"],
            "refused": [
                outcome(*one)
                for one in [
                    (raw[:-1], headers, secret),
                    (raw + b" ", headers, secret),
                    (raw.replace(b"data", b"Data"), headers, secret),
                    (raw, headers, other),
                    (raw, headers, []),
                    (raw, headers, ""),
                    (raw, headers, "whsec_"),
                    (raw, headers, "whsec_ä"),
                    (raw, headers, None),
                    (body, headers, secret),
                    (None, headers, secret),
                    (raw, None, secret),
                    (raw, {}, secret),
                    (raw, {**headers, "Webhook-Id": "msg_2"}, secret),
                    (raw, {**headers, "Webhook-Timestamp": "1e3"}, secret),
                    (raw, {**headers, "Webhook-Timestamp": "-1"}, secret),
                    (raw, {**headers, "Webhook-Timestamp": "9" * 400}, secret),
                    (raw, {**headers, "Webhook-Timestamp": "١٢٣"}, secret),
                    (raw, {**headers, "Webhook-Signature": "v1,"}, secret),
                    (raw, {**headers, "Webhook-Signature": "v1,☃"}, secret),
                    (raw, {**headers, "Webhook-Signature": signature[3:]}, secret),
                    (raw, {**headers, "Webhook-Signature": signature.replace("v1,", "v2,")}, secret),
                    (raw, headers, secret, time.time() + 302),
                    (raw, headers, secret, time.time() - 302),
                ]
            ],
        }
    for body in (b"\xff\xfe", b"[1]", b"not json", b"[" * 100_000):
        signature = base64.b64encode(__import__("hmac").new(b"0123456789abcdef0123456789abcdef", b"m." + b"1." + body, "sha256").digest()).decode()
        found.setdefault("not events", []).append(outcome(body, {"webhook-id": "m", "webhook-timestamp": "1", "webhook-signature": f"v1,{signature}"}, secret, 1))
    return found
