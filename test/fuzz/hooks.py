"""What Schemathesis can't read in the document: rows that exist, a credential that lives, and which findings are none."""

import atexit
import collections
import http.client
import json
import os
import uuid
import zlib

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase
from schemathesis.openapi.checks import RejectedPositiveData, UnsupportedMethodResponse

# Rules of a 422 that a schema can state. One that refuses valid data is missing in the document; every other depends on rows, clocks, settings or other fields.
stateable = set(
    "type enum const required oneOf anyOf not pattern format minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems "
    "maxItems uniqueItems minProperties maxProperties propertyNames additionalProperties unknown_field unknown_parameter discriminator".split()
)

# Valid data that single operations may refuse: by operation and rule, or operation and status.
meant = {
    ("purgeKnowledgeBase", "const"): "confirm is the slug of the base",
    ("purgeOrganization", "const"): "confirm is the slug of the organization",
    ("suspendOrganization", "const"): "confirm is the slug of the organization",
    ("deleteOrganization", "const"): "confirm is the slug of the organization",
    ("updateToolkit", "unknown_field"): "the kind of the toolkit decides what its config has",
    ("updateTool", "unknown_field"): "the kind of the tool decides what its config has",
    ("updateTool", "required"): "the kind of the tool decides what its config has",
    ("updateTool", "maximum"): "the kind of the tool decides how long it may take",
    ("updateChannel", "additionalProperties"): "the kind of the channel decides",
    ("updateChannel", "required"): "the kind of the channel decides",
    ("updateChannel", "pattern"): "the kind of the channel decides",
    ("createToolkitRevision", "enum"): "the kind of the toolkit decides where its tools come from",
    ("setToolSecrets", "unknown_field"): "the tool names its secrets",
    ("resolveKnowledgeFinding", "enum"): "the kind of the finding decides",
    ("backfillSchedule", "maximum"): "how many instants lie in the range",
    ("updateAlert", "maximum"): "compared with the clock",
    ("createRun", "maximum"): "compared with the clock",
    ("createRun", "required"): "only an organization's caller must name the workspace",
    ("createSchedule", "cron"): "five fields, each of its own form",
    ("retryRun", "required"): "input goes with fork_at_message_id",
    ("createEvaluation", "required"): "only an organization's caller must name the workspace",
    ("createWebhookEndpoint", "const"): "fields that exclude each other",
    ("createWebhookEndpoint", "enum"): "fields that exclude each other",
    ("createWebhookEndpoint", "required"): "fields that exclude each other",
    ("updateWebhookEndpoint", "const"): "fields that exclude each other, with those that are stored",
    ("updateWebhookEndpoint", "enum"): "fields that exclude each other, with those that are stored",
    ("updateWebhookEndpoint", "required"): "fields that exclude each other, with those that are stored",
    ("createWebhookEndpoint", "minimum"): "window_seconds and max_wait_seconds are compared",
    ("updateWebhookEndpoint", "minimum"): "window_seconds and max_wait_seconds are compared",
    ("createEventTrigger", "minimum"): "window_seconds and max_wait_seconds are compared",
    ("updateEventTrigger", "minimum"): "window_seconds and max_wait_seconds are compared",
    ("streamMcp", 405): "the protocol wants the method to be there, and to be refused without sessions",
    ("endMcp", 405): "the protocol wants the method to be there, and to be refused without sessions",
    ("callMcp", 400): "the body is JSON-RPC, judged by the Model Context Protocol",
    ("createAttachment", 415): "the type is that of the bytes",
}
# Codes that no shape of a request causes.
meant_codes = {"cursor_invalid", "idempotency_key_mismatch"}

aims = http.client.HTTPConnection("127.0.0.1", int(os.environ["FUZZ_AIM_PORT"]), timeout=300)
mark = "X-Fuzz"
views = ("X-View-Organization", "X-View-Workspace", "X-Acting-User")
statuses = collections.defaultdict(collections.Counter)
suggested = collections.Counter()
refused = set()
findings = {}


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Puts the rules between fields where Schemathesis reads them."""
    waiting = [raw_schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            node.update(node.pop("x-constraints", {}))
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


@schemathesis.hook
def filter_case(context, case):
    """Of what a schema suggests of one kind (each bound of each field …), takes the first, second, fourth, eighth … of an operation."""
    meta = case.meta
    if meta is None or meta.phase.name != TestPhase.COVERAGE:
        return True
    key = (case.operation.label, meta.phase.data.scenario, meta.phase.data.parameter_location)
    suggested[key] += 1
    number = suggested[key]
    return number & (number - 1) == 0


@schemathesis.hook
def before_call(context, case, kwargs):
    """Brings each valid part of a request to a row that exists, with a credential that lives. What is invalid on purpose stays as it is."""
    meta = case.meta
    # Requests that checks send beside bring, or leave out, a credential of their own.
    if meta is None or mark in case.headers:
        return
    # The same choices whenever the same request is generated.
    dice = zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode("utf-8", "surrogatepass"))
    aim = aim_at(name_of(case))

    def is_valid(location):
        component = meta.components.get(location)
        return component is None or component.mode.is_positive

    if case.path_parameters and is_valid(ParameterLocation.PATH):
        case.path_parameters = path_parameters(case.path, aim["path"])
    if is_valid(ParameterLocation.QUERY):
        case.query = {**aim["query"], **(case.query if dice % 2 else {})}
    # Mostly a body that succeeds, with some fields of the generated one: alone, those fail early.
    if is_valid(ParameterLocation.BODY) and isinstance(case.body, dict) and isinstance(aim["body"], dict) and dice % 4:
        kept = {name: value for name, value in case.body.items() if zlib.crc32(name.encode("utf-8", "surrogatepass"), dice) % 4 == 0}
        case.body = {**aim["body"], **kept}
    headers = dict(case.headers)
    # Ids, tags and keys at random end most requests before anything else is looked at.
    blamed = meta.phase.data.parameter
    if dice % 16 if is_valid(ParameterLocation.HEADER) else blamed in headers:
        headers = {name: value for name, value in headers.items() if name == blamed or name not in views}
    if is_valid(ParameterLocation.HEADER):
        if "If-Match" in headers and dice % 5:
            headers["If-Match"] = "*"
        if "Idempotency-Key" in headers and dice % 8:
            headers["Idempotency-Key"] = str(uuid.uuid4())
    case.headers.clear()
    case.headers.update({**headers, mark: "1", **aim["headers"]})
    # Says that the credential is no generated one, so that the request is tried without it.
    case._has_explicit_auth = True


@schemathesis.hook
def after_call(context, case, response):
    if case.meta is None:
        return
    name = name_of(case)
    statuses[name][response.status_code] += 1
    if response.status_code == 401 and json_of(response).get("code") in ("credential_invalid", "session_revoked", "token_expired"):
        refused.add(name)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Keeps a finding unless Schemathesis is wrong, and writes it down."""
    name = name_of(case)
    envelope = json_of(response)
    # No portable pattern tells invisible characters, and other forms of a domain's letters, in addresses.
    rules = ["email" if error["rule"] == "format" and "email" in str(error["pointer"]) else error["rule"] for error in envelope.get("errors", [])]
    if isinstance(failure, RejectedPositiveData) and is_meant(name, response.status_code, envelope.get("code"), rules):
        return False
    # Two templates fit the path, `/runs/{run_id}` and `/runs/batch`: the method is that of the other.
    if isinstance(failure, UnsupportedMethodResponse) and any(error["in"] == "path" for error in envelope.get("errors", [])):
        return False
    # OpenAPI 3.1 describes the body of a stream, and none of its events.
    if failure.title == "SSE event violates schema":
        return False
    found = findings.setdefault(
        (name, failure.title, response.status_code, str(rules) if rules else failure.message[-80:]),
        {
            "operation": name,
            "kind": failure.title,
            "message": failure.message[:1000],
            "status": response.status_code,
            "reply": response.text[:2000],
            "curl": case.as_curl_command()[:4000],
            "count": 0,
        },
    )
    found["count"] += 1
    return True


def is_meant(name, status, code, rules):
    """Whether data that are valid by the document may be refused for what they mean."""
    if code in meant_codes or (name, status) in meant:
        return True
    # Told in OAuth's own way: an unknown client, a grant that is not there.
    if code == "oauth_request_invalid" and not rules:
        return True
    return len(rules) > 0 and all(rule not in stateable or (name, rule) in meant for rule in rules)


def aim_at(operation_id):
    """Rows, query, body and credential with which the operation would succeed; rows are new for each request that could use them up."""
    aims.request("GET", f"/{operation_id}")
    reply = aims.getresponse()
    text = reply.read()
    if reply.status != 200:
        raise RuntimeError(f"{operation_id}: {text.decode()}")
    return json.loads(text)


def path_parameters(template, path):
    """Values of a template's parameters in a path."""
    pairs = zip(template.split("/"), path.split("/"))
    return {segment[1:-1]: value for segment, value in pairs if segment.startswith("{")}


def name_of(case):
    return case.operation.definition.raw["operationId"]


def json_of(response):
    try:
        found = response.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@atexit.register
def tell():
    with open(os.environ["FUZZ_FOUND"], "w", encoding="utf-8", errors="replace") as file:
        json.dump({"statuses": statuses, "refused": sorted(refused), "findings": list(findings.values())}, file)
