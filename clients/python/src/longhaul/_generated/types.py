"""Made from the served document by clients/generate/python; do not edit."""

from __future__ import annotations

import sys
from typing import Any, Literal, TypeAlias, TypedDict

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired


class Actor(TypedDict):
    """
    Who did it
    """

    kind: Literal['user', 'service_key', 'agent', 'system']
    id: str | None


class AdminsTarget(TypedDict):
    """
    All active admins and owners who can see the workspace, by mail
    """

    kind: Literal['admins']


class AgentClone(TypedDict):
    slug: str
    name: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    revision_id: NotRequired[str | None]
    include_personas: NotRequired[bool]


class AgentRef(TypedDict):
    """
    An agent by id or slug
    """

    id: NotRequired[str]
    slug: NotRequired[str]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]


class AgentSummary(TypedDict):
    """
    An agent that can be called
    """

    id: str
    slug: str
    name: str
    description: str | None
    scope: Literal['workspace', 'organization', 'platform']
    avatar_preset: Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None
    image_url: str | None
    active_revision_id: str
    input_schema: dict[str, Any] | None


class AgentUpdate(TypedDict):
    slug: NotRequired[str]
    name: NotRequired[str]
    description: NotRequired[str | None]
    avatar_preset: NotRequired[Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None]
    image_url: NotRequired[str | None]
    is_active: NotRequired[bool]
    attributes: NotRequired[dict[str, Any]]


class AlertDeliveryTarget(TypedDict):
    """
    Who was notified
    """

    kind: Literal['user', 'webhook', 'slack']
    label: str


class AlertTestResult(TypedDict):
    """
    Outcome of the test for one target
    """

    target_index: int
    kind: Literal['admins', 'user', 'webhook', 'slack']
    outcome: Literal['sent', 'failed', 'pending']
    status_code: int | None
    latency_ms: int | None
    error: str | None


class AlertTestView(TypedDict):
    """
    Outcome of a test, target by target
    """

    results: list[AlertTestResult]


AlertTransition = TypedDict(
    'AlertTransition',
    {
        'at': str,
        'from': Literal['ok', 'firing', 'no_data', 'resolved'],
        'to': Literal['firing', 'no_data', 'resolved'],
        'severity': Literal['warning', 'critical'],
        'value': str | None,
        'by_user_id': str | None,
    },
)


class AlertUpdate(TypedDict):
    """
    At least one
    """

    acknowledged: NotRequired[bool]
    snooze_until: NotRequired[str | None]
    resolve: NotRequired[Literal[True]]


class ApprovalAnswer(TypedDict):
    """
    edited_args is required with edit, response with respond
    """

    approval_id: str
    decision: Literal['approve', 'reject', 'edit', 'respond']
    edited_args: NotRequired[dict[str, Any]]
    response: NotRequired[Any]
    comment: NotRequired[str | None]
    args_hash: NotRequired[str]


class ApprovalResolver(TypedDict):
    """
    Who answered
    """

    kind: Literal['user', 'service_key', 'system']
    id: str | None


class ApprovalRules(TypedDict):
    """
    Whether calls wait for a person where their binding leaves it to the agent
    """

    read: NotRequired[Literal['auto', 'ask']]
    write: NotRequired[Literal['auto', 'ask']]
    approver_floor: NotRequired[Literal['member', 'admin']]


class ApprovalView(TypedDict):
    """
    A question of a run to people
    """

    id: str
    run_id: str
    root_run_id: str
    agent_id: str
    tool_call_id: str | None
    tool_slug: str | None
    reason: Literal['tool_call', 'input_required', 'confirmation', 'budget', 'auth']
    status: Literal['pending', 'approved', 'rejected', 'edited', 'responded', 'expired', 'cancelled']
    prompt: str
    args: dict[str, Any] | None
    args_hash: str | None
    response_schema: dict[str, Any] | None
    decisions: list[Literal['approve', 'reject', 'edit', 'respond']]
    critical: bool
    approver_floor: Literal['member', 'admin']
    expires_at: str
    on_expiry: Literal['deny', 'fail']
    edited_args: dict[str, Any] | None
    response: Any
    comment: str | None
    resolved_by: ApprovalResolver | None
    resolved_at: str | None
    created_at: str


class AttachmentBlock(TypedDict):
    """
    A file
    """

    type: Literal['attachment']
    attachment_id: str
    media_type: str
    name: str
    bytes: int


class AttachmentForm(TypedDict):
    """
    A file and what it is for
    """

    file: str
    workspace_id: NotRequired[str]
    purpose: NotRequired[Literal['run_input', 'knowledge', 'skill', 'toolkit', 'other']]


class AttachmentInput(TypedDict):
    """
    A previously uploaded file
    """

    attachment_id: str


class AttachmentRef(TypedDict):
    """
    A file as runs and messages name it; its bytes are at `GET /attachments/{attachment_id}`
    """

    attachment_id: str
    media_type: str
    name: str
    bytes: int


class AttachmentView(TypedDict):
    """
    A file’s metadata, without its bytes
    """

    id: str
    organization_id: str
    workspace_id: str | None
    filename: str
    media_type: str
    size_bytes: int
    sha256: str
    purpose: Literal['run_input', 'knowledge', 'skill', 'toolkit', 'other']
    state: Literal['scanning', 'ready', 'rejected']
    created_by: Actor
    linked: bool
    expires_at: str | None
    created_at: str


class AuditEntryView(TypedDict):
    """
    Who did what, when and as whom
    """

    id: str
    created_at: str
    organization_id: str | None
    workspace_id: str | None
    actor_kind: Literal['user', 'service_key', 'oauth_client', 'operator', 'agent_run', 'ingress', 'system']
    actor_id: str | None
    actor_role: Literal['viewer', 'member', 'admin', 'owner', 'operator'] | None
    acting_user_id: str | None
    impersonation_id: str | None
    action: Literal['create', 'update', 'delete', 'login', 'logout', 'submit', 'approve', 'purge', 'impersonate']
    resource_type: str
    resource_id: str | None
    resource_label: str | None
    outcome: Literal['success', 'denied']
    changes: dict[str, Any]
    operation_id: str | None
    correlation_id: str | None
    ip: str | None
    user_agent: str | None
    seq: int | None
    sealed: bool


Scope: TypeAlias = str


class AuthorizationDecisionBody(TypedDict):
    transaction_id: str
    decision: Literal['approve', 'deny']
    scopes: NotRequired[list[Scope]]


class AuthorizationDecisionView(TypedDict):
    redirect_to: str


class Client(TypedDict):
    """
    The client that requests access
    """

    client_id: str
    client_name: str
    kind: Literal['preregistered', 'registered', 'document']
    host: NotRequired[str]


class Scope1(TypedDict):
    name: str
    description: str


Warning: TypeAlias = str


class AuthorizationTransactionView(TypedDict):
    """
    What a client requests from the user
    """

    transaction_id: str
    client: Client
    redirect_host: str
    scopes: list[Scope1]
    resource: str
    warnings: list[Warning]
    expires_at: str


class BackupStatus(TypedDict):
    at: str


class BudgetPut(TypedDict):
    """
    A complete budget: omitted fields take their defaults
    """

    period: NotRequired[Literal['month', 'day']]
    limit_amount: NotRequired[float | str | None]
    currency: NotRequired[str]
    is_enforced: NotRequired[bool]
    alert_threshold_pct: NotRequired[int]
    period_start: NotRequired[str | None]


class BudgetStatusView(TypedDict):
    """
    The state of a budget in its current window
    """

    workspace_id: str
    period: Literal['month', 'day']
    currency: str
    limit_amount: str | None
    is_enforced: bool
    spent: str
    reserved: str
    remaining: str | None
    used_pct: str | None
    window_start: str
    window_end: str
    timezone: str
    decision: Literal['allow', 'held', 'blocked']
    level: Literal['ok', 'warning', 'exceeded']
    fx_rate: str | None
    fx_as_of: str | None
    budget_version: int


class BudgetView(TypedDict):
    """
    What a workspace can spend in a day or a month
    """

    workspace_id: str
    period: Literal['month', 'day']
    limit_amount: str | None
    currency: str
    is_enforced: bool
    alert_threshold_pct: int
    period_start: str


class BuiltinToolConfig(TypedDict):
    """
    A tool that runs inside the platform
    """

    name: Literal['current_time', 'result_read', 'attachment_read', 'skill_load', 'skill_write', 'knowledge_search', 'knowledge_write', 'ask_user']
    options: NotRequired[dict[str, Any]]


Scope2: TypeAlias = str


class Oauth(TypedDict):
    dynamic_registration: bool
    client_metadata_documents: bool
    scopes: list[Scope2]


class Mfa(TypedDict):
    methods: list[Literal['totp', 'recovery_code']]
    required: bool


class Model(TypedDict):
    name: str
    dim: int


class Embeddings(TypedDict):
    default_model: str
    models: list[Model]


Channel: TypeAlias = str


class Features(TypedDict):
    attachments: bool
    code_exec: bool
    code_exec_strict: bool
    code_review: bool
    evaluations: bool
    knowledge: bool
    mcp: bool
    oauth: bool
    sub_agents: bool
    triggers: bool


class Limits(TypedDict):
    body_bytes: int
    attachment_bytes: int
    page_max: int
    idempotency_ttl_s: int
    stream_token_ttl_s: int
    run_wait_s: int
    sync_hook_wait_s: int


class RateLimit(TypedDict):
    policy: Literal['principal', 'workspace', 'anonymous', 'login_pair', 'login_account', 'login_ip', 'mfa', 'mail_account', 'mail_ip', 'refresh', 'oauth_token', 'oauth_register', 'user_create', 'invitation_accept', 'ingress', 'webhook_endpoint']
    quota: int
    window_s: int


class CapabilitiesView(TypedDict):
    """
    Enabled features, and the limits that clients need to know
    """

    contract_version: Literal['0.1.0']
    oauth: Oauth
    mfa: Mfa
    embeddings: Embeddings
    channels: list[Channel]
    features: Features
    limits: Limits
    rate_limits: list[RateLimit]
    websocket_path: str


class Data(TypedDict):
    content: str
    flags: int


class ChannelAckView(TypedDict):
    """
    An empty object, or the reply that the service requires
    """

    challenge: NotRequired[str]
    type: NotRequired[int]
    method: NotRequired[str]
    callback_query_id: NotRequired[str]
    data: NotRequired[Data]


AllowedSender: TypeAlias = str


AllowedBot: TypeAlias = str


class ChannelCreate(TypedDict):
    """
    A new channel; its kind cannot be changed later
    """

    workspace_id: NotRequired[str | None]
    kind: Literal['slack', 'telegram', 'discord', 'email', 'webhook']
    name: str
    agent_id: str
    settings: dict[str, Any]
    secrets: NotRequired[dict[str, str]]
    persona_slug: NotRequired[str | None]
    on_busy: NotRequired[Literal['enqueue', 'interrupt', 'steer']]
    session_scope: NotRequired[Literal['thread', 'peer']]
    reply_to: NotRequired[Literal['mentions', 'all']]
    allowed_senders: NotRequired[list[AllowedSender]]
    allowed_bots: NotRequired[list[AllowedBot]]
    streaming: NotRequired[bool]
    feedback_buttons: NotRequired[bool]
    is_active: NotRequired[bool]


class ChannelTest(TypedDict):
    """
    What to test besides the credentials
    """

    send_to: NotRequired[str | None]
    text: NotRequired[str | None]


class Check(TypedDict):
    name: str
    ok: bool
    detail: str


class Identity(TypedDict):
    """
    The identity of the channel at its service
    """

    id: str
    name: str


class ChannelTestView(TypedDict):
    """
    The result of testing a channel. A failed test is not an error: `ok` is false
    """

    ok: bool
    checks: list[Check]
    identity: Identity | None
    sent_message_id: str | None


class ChannelUpdate(TypedDict):
    """
    The fields that are sent are changed, the rest is kept
    """

    name: NotRequired[str]
    agent_id: NotRequired[str]
    settings: NotRequired[dict[str, Any]]
    secrets: NotRequired[dict[str, str | None]]
    persona_slug: NotRequired[str | None]
    on_busy: NotRequired[Literal['enqueue', 'interrupt', 'steer']]
    session_scope: NotRequired[Literal['thread', 'peer']]
    reply_to: NotRequired[Literal['mentions', 'all']]
    allowed_senders: NotRequired[list[AllowedSender]]
    allowed_bots: NotRequired[list[AllowedBot]]
    streaming: NotRequired[bool]
    feedback_buttons: NotRequired[bool]
    is_active: NotRequired[bool]


SecretName: TypeAlias = str


class ChannelView(TypedDict):
    """
    A chat service connected to an agent, without its secrets
    """

    id: str
    kind: Literal['slack', 'telegram', 'discord', 'email', 'webhook']
    name: str
    agent_id: str
    settings: dict[str, Any]
    inbound_url: str
    secret_names: list[SecretName]
    persona_slug: str | None
    on_busy: Literal['enqueue', 'interrupt', 'steer']
    session_scope: Literal['thread', 'peer']
    reply_to: Literal['mentions', 'all']
    allowed_senders: list[AllowedSender]
    allowed_bots: list[AllowedBot]
    streaming: bool
    feedback_buttons: bool
    is_active: bool
    state: Literal['pending', 'ok', 'error']
    last_error: str | None
    last_inbound_at: str | None
    created_at: str
    updated_at: str


class CitationBlock(TypedDict):
    """
    Where a statement comes from
    """

    type: Literal['citation']
    item_id: str | None
    title: str
    quote: str
    url: str | None


RedirectUri: TypeAlias = str


GrantType: TypeAlias = str


ResponseType: TypeAlias = str


class ClientRegistrationRequest(TypedDict):
    """
    What a client says about itself
    """

    redirect_uris: list[RedirectUri]
    client_name: NotRequired[str | None]
    token_endpoint_auth_method: NotRequired[str | None]
    scope: NotRequired[str | None]
    grant_types: NotRequired[list[GrantType] | None]
    response_types: NotRequired[list[ResponseType] | None]


class CoalescingConfig(TypedDict):
    """
    How deliveries become one run
    """

    mode: Literal['none', 'debounce', 'throttle', 'batch']
    key_template: NotRequired[str | None]
    event_time_path: NotRequired[str | None]
    window_seconds: NotRequired[int]
    max_wait_seconds: NotRequired[int | None]
    payload: NotRequired[Literal['first', 'last', 'all']]
    max_batch: NotRequired[int]


class CodeExecToolConfig(TypedDict):
    """
    Code in a sandbox without network, files or secrets
    """

    language: Literal['javascript', 'python', 'shell']
    isolation: NotRequired[Literal['default', 'strict']]
    memory_mb: NotRequired[int]
    cpu_ms: NotRequired[int]
    source: NotRequired[str | None]


class ContextRules(TypedDict):
    """
    How much of the conversation the model sees
    """

    max_input_tokens: NotRequired[int | None]
    keep_last_turns: NotRequired[int]
    on_overflow: NotRequired[Literal['summarize', 'drop_oldest', 'fail']]


class DelegateToolConfig(TypedDict):
    """
    The agent that is called, and what it gets
    """

    agent: AgentRef
    revision: NotRequired[str]
    persona_slug: NotRequired[str | None]
    history: NotRequired[Literal['none', 'summary']]
    output: NotRequired[Literal['text', 'json']]
    max_cost: NotRequired[str | None]


class DeprecationView(TypedDict):
    """
    A deprecated part of the contract
    """

    id: str
    kind: Literal['operation', 'parameter', 'request_field', 'response_field', 'enum_value']
    operation_id: str | None
    component: str | None
    pointer: str | None
    deprecated_at: str
    sunset_at: str
    replacement: str | None
    note: str


TestCommand: TypeAlias = str


ProtectedPath: TypeAlias = str


class EditorConfig(TypedDict):
    """
    How findings are repaired
    """

    mode: Literal['off', 'suggest', 'push', 'branch']
    branch_prefix: str
    max_rounds: int
    test_commands: list[TestCommand]
    allow_forks: bool
    protected_paths: list[ProtectedPath]


class EditorConfigInput(TypedDict):
    """
    Omitted fields take their defaults
    """

    mode: NotRequired[Literal['off', 'suggest', 'push', 'branch']]
    branch_prefix: NotRequired[str]
    max_rounds: NotRequired[int]
    test_commands: NotRequired[list[TestCommand]]
    allow_forks: NotRequired[bool]
    protected_paths: NotRequired[list[ProtectedPath]]


class EffectiveApproval(TypedDict):
    """
    Whether a call waits for a person, why, and who can answer
    """

    required: bool
    reason: Literal['critical', 'binding', 'first', 'effect'] | None
    floor: Literal['member', 'admin']


class EffectiveSkill(TypedDict):
    slug: str
    version: int
    mode: Literal['on_demand', 'always']
    tokens: int


class EffectiveSubAgent(TypedDict):
    agent_id: str
    revision_id: str
    slug: str
    tool_name: str
    persona_slug: str | None
    description: str | None
    history: Literal['none', 'summary']
    max_calls: int | None
    max_cost: str | None


SecretsMissingItem: TypeAlias = str


class EffectiveTool(TypedDict):
    """
    A tool as a run would use it, with the schema that the model sees
    """

    name: str
    tool_id: str | None
    toolkit_revision_id: str | None
    kind: Literal['http', 'remote_protocol', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule']
    description: str
    input_schema: dict[str, Any]
    effect: Literal['read', 'write']
    critical: bool
    concurrency: Literal['read', 'write', 'exclusive']
    client_owned: bool
    approval: EffectiveApproval
    timeout_s: int
    response_max_chars: int
    secrets_missing: list[SecretsMissingItem]


class EffectiveWarning(TypedDict):
    """
    Something that a run would omit
    """

    pointer: str
    rule: str
    message: str
    params: NotRequired[dict[str, Any]]


class EmailConfirmBody(TypedDict):
    token: str


class Code(TypedDict):
    code: Literal['malformed_request', 'oauth_request_invalid', 'unauthenticated', 'credential_invalid', 'token_expired', 'login_failed', 'mfa_required', 'mfa_code_invalid', 'session_revoked', 'refresh_reuse_detected', 'stream_token_invalid', 'stream_token_used', 'signature_invalid', 'budget_exceeded', 'role_insufficient', 'scope_insufficient', 'resource_forbidden', 'registration_disabled', 'not_found', 'method_not_allowed', 'already_exists', 'state_conflict', 'idempotency_in_progress', 'refresh_superseded', 'gone', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'validation_failed', 'cursor_invalid', 'idempotency_key_mismatch', 'resource_frozen', 'precondition_required', 'rate_limited', 'internal_error', 'upstream_failed', 'service_unavailable', 'upstream_timeout']
    status: int
    retryable: bool
    title: str
    when: str
    remedy: str


class ErrorCatalogueView(TypedDict):
    """
    Every code that an error reply can contain
    """

    contract_version: Literal['0.1.0']
    codes: list[Code]


class ErrorContext(TypedDict):
    """
    Details by name, for example reason, etag, violated_policies
    """


class EvaluationCost(TypedDict):
    """
    Runs and judges
    """

    total: str
    mean: str | None
    judges: str


EvaluationDatasetFrom = TypedDict(
    'EvaluationDatasetFrom',
    {
        'source': Literal['feedback', 'runs'],
        'agent_id': NotRequired[str],
        'rating': NotRequired[Literal['up', 'down']],
        'status': NotRequired[Literal['succeeded', 'failed', 'cancelled']],
        'from': NotRequired[str],
        'to': NotRequired[str],
        'limit': NotRequired[int],
    },
)


class EvaluationFailure(TypedDict):
    """
    Why it failed
    """

    code: str
    message: str


Tag: TypeAlias = str


Evaluator1: TypeAlias = str


class EvaluationMessage(TypedDict):
    role: Literal['user', 'assistant']
    content: str


class EvaluationSummaryShort(TypedDict):
    """
    Key figures
    """

    items: int
    completed: int
    errors: int
    pass_rate: float | None
    pass_ci: list[float] | None
    cost: EvaluationCost


class EvaluationTokens(TypedDict):
    """
    Of all runs
    """

    input: int
    output: int


class Params(TypedDict):
    """
    The share of cited items that the run’s own searches found
    """

    min_count: NotRequired[int]


class EvaluatorCitations(TypedDict):
    """
    The share of cited items that the run’s own searches found
    """

    key: str
    type: Literal['citations']
    params: NotRequired[Params]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class EvaluatorComparison(TypedDict):
    """
    How the scores of one evaluator differ
    """

    paired_n: int
    delta: float | None
    ci: list[float] | None
    p_value: float | None
    q_value: float | None
    conclusion: Literal['better', 'worse', 'no_difference', 'not_enough_data']


Value: TypeAlias = str


class Params1(TypedDict):
    """
    Checks whether texts occur in the output
    """

    values: NotRequired[list[Value]]
    case_sensitive: NotRequired[bool]


class EvaluatorContains(TypedDict):
    """
    Checks whether texts occur in the output
    """

    key: str
    type: Literal['contains']
    params: NotRequired[Params1]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params2(TypedDict):
    """
    Checks whether texts occur in the output
    """

    values: NotRequired[list[Value]]
    case_sensitive: NotRequired[bool]


class EvaluatorContainsAll(TypedDict):
    """
    Checks whether texts occur in the output
    """

    key: str
    type: Literal['contains_all']
    params: NotRequired[Params2]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params3(TypedDict):
    """
    Checks whether texts occur in the output
    """

    values: NotRequired[list[Value]]
    case_sensitive: NotRequired[bool]


class EvaluatorContainsAny(TypedDict):
    """
    Checks whether texts occur in the output
    """

    key: str
    type: Literal['contains_any']
    params: NotRequired[Params3]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params4(TypedDict):
    """
    Cost of the run
    """

    max: float


class EvaluatorCost(TypedDict):
    """
    Cost of the run
    """

    key: str
    type: Literal['cost']
    params: Params4
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params5(TypedDict):
    """
    Similarity of the texts in meaning
    """

    model: NotRequired[str]


class EvaluatorEmbeddingSimilarity(TypedDict):
    """
    Similarity of the texts in meaning
    """

    key: str
    type: Literal['embedding_similarity']
    params: NotRequired[Params5]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class EvaluatorError(TypedDict):
    """
    Why it returned no score
    """

    code: str
    message: str


class Params6(TypedDict):
    """
    The output equals what is expected; JSON is compared by value
    """

    trim: NotRequired[bool]
    case_sensitive: NotRequired[bool]
    unicode: NotRequired[Literal['nfc', 'none']]


class EvaluatorExactMatch(TypedDict):
    """
    The output equals what is expected; JSON is compared by value
    """

    key: str
    type: Literal['exact_match']
    params: NotRequired[Params6]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


IgnoreItem: TypeAlias = str


class Params7(TypedDict):
    """
    The share of equal leaves among all leaves of the expected JSON and the output
    """

    ignore: NotRequired[list[IgnoreItem]]
    tolerance: NotRequired[float]


class EvaluatorJsonDiff(TypedDict):
    """
    The share of equal leaves among all leaves of the expected JSON and the output
    """

    key: str
    type: Literal['json_diff']
    params: NotRequired[Params7]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params8(TypedDict):
    """
    Checks whether the whole output is JSON that matches a schema (draft 2020-12, no remote references)
    """

    schema: dict[str, Any]


class EvaluatorJsonSchema(TypedDict):
    """
    Checks whether the whole output is JSON that matches a schema (draft 2020-12, no remote references)
    """

    key: str
    type: Literal['json_schema']
    params: Params8
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params9(TypedDict):
    """
    Duration of the run in milliseconds
    """

    max: float


class EvaluatorLatency(TypedDict):
    """
    Duration of the run in milliseconds
    """

    key: str
    type: Literal['latency']
    params: Params9
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class EvaluatorLevenshtein(TypedDict):
    """
    Similarity of the texts by characters
    """

    key: str
    type: Literal['levenshtein']
    params: NotRequired[dict[str, Any]]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Scale(TypedDict):
    min: int
    max: int


class Params10(TypedDict):
    """
    A model scores the output by a rubric
    """

    rubric: str
    model: NotRequired[str]
    scale: NotRequired[Scale]
    votes: NotRequired[Literal[1, 3, 5]]
    include: NotRequired[list[Literal['input', 'expected', 'context', 'trajectory']]]


class EvaluatorLlmJudge(TypedDict):
    """
    A model scores the output by a rubric
    """

    key: str
    type: Literal['llm_judge']
    params: Params10
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params11(TypedDict):
    """
    Checks whether texts occur in the output
    """

    values: NotRequired[list[Value]]
    case_sensitive: NotRequired[bool]


class EvaluatorNotContains(TypedDict):
    """
    Checks whether texts occur in the output
    """

    key: str
    type: Literal['not_contains']
    params: NotRequired[Params11]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class EvaluatorNumbers(TypedDict):
    """
    The results of one evaluator over all items
    """

    n: int
    mean: float | None
    stdev: float | None
    pass_rate: float | None
    ci: list[float] | None
    p50: float | None
    errors: int
    skipped: int


class Params12(TypedDict):
    """
    Closeness of the numbers
    """

    pointer: NotRequired[str]


class EvaluatorNumericDiff(TypedDict):
    """
    Closeness of the numbers
    """

    key: str
    type: Literal['numeric_diff']
    params: NotRequired[Params12]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params13(TypedDict):
    """
    A model chooses between this output and that of the baseline; it is asked in both orders
    """

    rubric: str
    model: NotRequired[str]


class EvaluatorPairwise(TypedDict):
    """
    A model chooses between this output and that of the baseline; it is asked in both orders
    """

    key: str
    type: Literal['pairwise']
    params: Params13
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params14(TypedDict):
    """
    Checks whether a pattern matches the output
    """

    pattern: str
    flags: NotRequired[str]


class EvaluatorRegex(TypedDict):
    """
    Checks whether a pattern matches the output
    """

    key: str
    type: Literal['regex']
    params: Params14
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params15(TypedDict):
    """
    Input and output tokens of the run
    """

    max: float


class EvaluatorTokens(TypedDict):
    """
    Input and output tokens of the run
    """

    key: str
    type: Literal['tokens']
    params: Params15
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


ForbiddenItem: TypeAlias = str


class Params16(TypedDict):
    """
    Checks whether the calls match the expected ones
    """

    mode: NotRequired[Literal['exact', 'in_order', 'any_order', 'subset']]
    arguments: NotRequired[Literal['exact', 'subset', 'ignore']]
    max_calls: NotRequired[int]
    forbidden: NotRequired[list[ForbiddenItem]]


class EvaluatorToolTrajectory(TypedDict):
    """
    Checks whether the calls match the expected ones
    """

    key: str
    type: Literal['tool_trajectory']
    params: NotRequired[Params16]
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class Params17(TypedDict):
    """
    Number of model calls of the run
    """

    max: float


class EvaluatorTurns(TypedDict):
    """
    Number of model calls of the run
    """

    key: str
    type: Literal['turns']
    params: Params17
    threshold: NotRequired[float]
    weight: NotRequired[float]
    negate: NotRequired[bool]


class EventPublish(TypedDict):
    """
    Something that happened
    """

    workspace_id: NotRequired[str | None]
    event_kind: str
    subject: NotRequired[str | None]
    payload: NotRequired[dict[str, Any]]
    dedupe_key: NotRequired[str | None]
    occurred_at: NotRequired[str | None]


class Match(TypedDict):
    trigger_id: str
    outcome: Literal['started', 'coalescing', 'merged', 'dropped', 'filtered', 'depth_exceeded', 'capped', 'failed']
    run_id: str | None
    error_code: str | None


class EventView(TypedDict):
    """
    Something that happened in a workspace
    """

    id: str
    event_kind: str
    source: Literal['api', 'webhook', 'platform']
    subject: str | None
    payload: dict[str, Any]
    dedupe_key: str | None
    depth: int
    root_event_id: str
    cause_run_id: str | None
    deduplicated: bool
    fan_out: Literal['pending', 'done']
    matches: list[Match]
    occurred_at: str
    created_at: str


class ExpectedToolCall(TypedDict):
    tool: str
    arguments: NotRequired[dict[str, Any]]


class FeedbackAggregateView(TypedDict):
    """
    Votes on one revision of an agent
    """

    agent_id: str
    agent_revision_id: str | None
    revision_number: int | None
    up: int
    down: int
    total: int
    comments: int
    corrections: int
    up_rate: float
    up_rate_lower: float
    first_at: str
    last_at: str


class FeedbackPut(TypedDict):
    """
    The complete vote: omitted fields are cleared
    """

    rating: Literal['up', 'down']
    comment: NotRequired[str | None]
    tags: NotRequired[list[Tag]]
    correction: NotRequired[str | None]


class FindingResolve(TypedDict):
    """
    How to resolve a finding, and with which of its items
    """

    action: Literal['merge', 'supersede', 'keep_both', 'retire', 'dismiss', 'undo']
    keep_item_id: NotRequired[str]
    item_id: NotRequired[str]
    reason: NotRequired[str]


class Check1(TypedDict):
    name: Literal['postgres', 'redis', 'temporal', 'migrations']
    status: Literal['ok', 'failed', 'skipped']
    latency_ms: int | None


class HealthView(TypedDict):
    """
    The state of one process
    """

    status: Literal['ok', 'degraded', 'unavailable']
    draining: bool
    checks: list[Check1]


HookAnswer: TypeAlias = Any


class HookReceiptView(TypedDict):
    """
    Confirms that a delivery was accepted
    """

    delivery_id: str
    run_id: str | None
    event_id: str | None
    deduplicated: bool
    coalesced: bool
    run_status: NotRequired[Literal['queued', 'running', 'waiting', 'cancelling', 'succeeded', 'failed', 'cancelled']]
    output: NotRequired[Any]


HttpAuthApiKey = TypedDict(
    'HttpAuthApiKey',
    {
        'type': Literal['api_key'],
        'in': Literal['header', 'query'],
        'name': str,
        'secret': str,
    },
)


class HttpAuthBasic(TypedDict):
    """
    A user name and the value of a secret as its password
    """

    type: Literal['basic']
    user: str
    secret: str


class HttpAuthBearer(TypedDict):
    """
    Authorization: Bearer with the value of a secret
    """

    type: Literal['bearer']
    secret: str


class HttpAuthClientCredentials(TypedDict):
    """
    OAuth 2.0 client credentials: the platform fetches and keeps the token
    """

    type: Literal['oauth2_client_credentials']
    token_url: str
    client_id: str
    secret: str
    scope: NotRequired[str | None]


class HttpAuthNone(TypedDict):
    """
    No authentication
    """

    type: Literal['none']


class Body(TypedDict):
    """
    The body; if omitted, none is sent
    """

    mode: NotRequired[Literal['none', 'json', 'form', 'raw']]
    template: NotRequired[Any]


SuccessItem: TypeAlias = int


class Response(TypedDict):
    """
    Which part of a reply is the result, and which replies are failures
    """

    pointer: NotRequired[str | None]
    success: NotRequired[list[SuccessItem]]


class HttpToolConfig(TypedDict):
    """
    One HTTP request; templates read args
    """

    method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
    url: str
    query: NotRequired[dict[str, str]]
    headers: NotRequired[dict[str, str]]
    body: NotRequired[Body]
    auth: NotRequired[HttpAuthNone | HttpAuthBearer | HttpAuthBasic | HttpAuthApiKey | HttpAuthClientCredentials]
    response: NotRequired[Response]
    idempotency_header: NotRequired[str | None]
    redirects: NotRequired[int]


class ImpersonationStart(TypedDict):
    user_id: str
    reason: str
    minutes: NotRequired[int]


class ImpersonationView(TypedDict):
    """
    An operator working as a user
    """

    id: str
    operator_user_id: str
    target_user_id: str
    organization_id: str
    workspace_id: str | None
    reason: str
    started_at: str
    expires_at: str
    ended_at: str | None
    ended_by_user_id: str | None


class InvitationAccept(TypedDict):
    token: str
    email: str
    full_name: NotRequired[str | None]
    password: str


class InvitationCreate(TypedDict):
    email: str
    role: Literal['viewer', 'member', 'admin', 'owner']
    scope: NotRequired[Literal['workspace', 'organization']]
    workspace_id: NotRequired[str | None]


class InvitationView(TypedDict):
    """
    Lets the reader of a mailbox become a user, once
    """

    id: str
    email: str
    role: Literal['viewer', 'member', 'admin', 'owner']
    scope: Literal['workspace', 'organization']
    organization_id: str
    workspace_id: str | None
    status: Literal['pending', 'accepted', 'revoked', 'expired']
    invited_by_user_id: str | None
    expires_at: str
    sent_at: str | None
    send_count: int
    accepted_at: str | None
    accepted_user_id: str | None
    created_at: str
    updated_at: str


class JsonBlock(TypedDict):
    """
    Structured input or output
    """

    type: Literal['json']
    value: Any


class JsonWebKey(TypedDict):
    """
    The public half of a key that signs tokens
    """

    kty: Literal['OKP']
    crv: Literal['Ed25519']
    x: str
    kid: str
    alg: Literal['EdDSA']
    use: Literal['sig']


class JsonWebKeySet(TypedDict):
    """
    RFC 7517 §5
    """

    keys: list[JsonWebKey]


class ByState(TypedDict):
    """
    Live items by their state of curation
    """

    pending: int
    reviewed: int
    promoted: int
    superseded: int
    retired: int


class ByKind(TypedDict):
    """
    Live items by what they are
    """

    document: int
    fact: int
    preference: int
    procedure: int
    event: int
    qa: int
    summary: int


ByOrigin = TypedDict(
    'ByOrigin',
    {
        'human': int,
        'agent': int,
        'import': int,
        'derived': int,
    },
)


class ByIndexState(TypedDict):
    """
    Live items by index state
    """

    pending: int
    ready: int
    failed: int


class Items(TypedDict):
    """
    Numbers of items; all but deleted count live ones
    """

    by_state: ByState
    by_kind: ByKind
    by_origin: ByOrigin
    by_index_state: ByIndexState
    deleted: int


class Vector(TypedDict):
    embedding_model: str
    embedding_dim: int
    count: int


class VectorIndex(TypedDict):
    """
    How vectors are searched
    """

    mode: Literal['exact', 'hnsw']
    state: Literal['none', 'building', 'ready']


class ByState1(TypedDict):
    """
    Sources by ingestion state
    """

    queued: int
    fetching: int
    parsing: int
    indexing: int
    ready: int
    failed: int


class Sources(TypedDict):
    """
    Numbers of sources
    """

    by_state: ByState1


class CurationCounts(TypedDict):
    """
    Live items by their state of curation
    """

    pending: int
    reviewed: int
    promoted: int
    superseded: int
    retired: int


class KnowledgeBaseView(TypedDict):
    """
    Items that are searched together, with one embedding model
    """

    id: str
    slug: str
    name: str
    scope: Literal['workspace', 'organization', 'platform']
    kind: Literal['documents', 'memory', 'faq', 'playbook', 'code']
    owner_agent_id: str | None
    owner_persona_id: str | None
    is_private: bool
    is_frozen: bool
    embedding_model: str
    embedding_dim: int
    item_count: int
    subject_kind: Literal['user', 'guest'] | None
    subject_id: str | None
    last_consolidated_at: NotRequired[str | None]
    curation_counts: NotRequired[CurationCounts | None]
    created_at: str
    updated_at: str


class KnowledgeBinding(TypedDict):
    """
    A knowledge base that the agent uses
    """

    id: NotRequired[str]
    slug: NotRequired[str]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    access: NotRequired[Literal['read', 'write']]
    mode: NotRequired[Literal['tool', 'inject', 'both']]
    top_k: NotRequired[int]


class KnowledgeChunkView(TypedDict):
    """
    A part of an item that searches find
    """

    id: str
    item_id: str
    ord: int
    text: str
    context: str | None
    char_start: int
    char_end: int
    page: int | None
    token_count: int
    content_hash: str
    embedding_model: str | None
    embedded_at: str | None


class KnowledgeChunking(TypedDict):
    """
    How items are cut into the chunks that searches find
    """

    size_tokens: int
    overlap_tokens: int


class KnowledgeChunkingInput(TypedDict):
    """
    Applies to whatever is indexed from now on
    """

    size_tokens: NotRequired[int]
    overlap_tokens: NotRequired[int]


class KnowledgeCurationFilter(TypedDict):
    """
    The items to change; all given fields must match, at most 1,000 items
    """

    curation_state: NotRequired[Literal['pending', 'reviewed', 'promoted', 'superseded', 'retired']]
    kind: NotRequired[Literal['document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary']]
    origin: NotRequired[Literal['human', 'agent', 'import', 'derived']]
    tag: NotRequired[str]
    source_id: NotRequired[str]


class KnowledgeCurationSkip(TypedDict):
    """
    An item that is left unchanged
    """

    item_id: str
    reason: Literal['illegal_transition', 'cycle']


class KnowledgeCurationView(TypedDict):
    """
    The outcome for the items of a curation
    """

    matched: int
    changed: int
    skipped: list[KnowledgeCurationSkip]
    dry_run: bool


class KnowledgeDecay(TypedDict):
    """
    How scores of items decay with the time since their last use
    """

    enabled: bool
    half_life_days: int
    floor: float


class KnowledgeDegradedLeg(TypedDict):
    """
    A leg that did not cover the whole base
    """

    kb_id: str | None
    leg: Literal['lexical', 'vector']
    reason: Literal['embeddings_disabled', 'provider_failed', 'provider_timeout', 'budget', 'index_pending']


class KnowledgeEvidence(TypedDict):
    """
    Where a statement comes from
    """

    kind: Literal['run', 'source', 'message', 'item', 'url']
    ref: str
    quote: str | None
    observed_at: str | None
    subject_kind: Literal['user', 'guest'] | None
    subject_id: str | None


class KnowledgeEvidenceInput(TypedDict):
    """
    Where a statement comes from
    """

    kind: Literal['run', 'source', 'message', 'item', 'url']
    ref: str
    quote: NotRequired[str | None]
    observed_at: NotRequired[str | None]
    subject_kind: NotRequired[Literal['user', 'guest'] | None]
    subject_id: NotRequired[str | None]


class KnowledgeExport(TypedDict):
    """
    What an export contains besides sources, items and relations
    """

    include_vectors: NotRequired[bool]
    include_grants: NotRequired[bool]


class KnowledgeFact(TypedDict):
    """
    A fact as three texts; facts with equal subject and relation can contradict each other
    """

    subject: str
    relation: str
    object: str


ItemId: TypeAlias = str


class KnowledgeFindingView(TypedDict):
    """
    An issue that a run found in items, for a person to resolve
    """

    id: str
    kb_id: str
    run_id: str | None
    kind: Literal['duplicate', 'contradiction', 'stale', 'orphan', 'low_evidence', 'injection_suspect', 'integrity']
    state: Literal['open', 'resolved', 'dismissed']
    item_ids: list[ItemId]
    score: float | None
    detail: dict[str, Any]
    resolution: Literal['merge', 'supersede', 'keep_both', 'retire', 'dismiss'] | None
    reason: str | None
    resolved_by: Actor | None
    resolved_at: str | None
    undo_until: str | None
    created_at: str


RelevantItem: TypeAlias = str


class KnowledgeGrantCreate(TypedDict):
    """
    Who gets access to a base, at which level, and until when
    """

    principal_kind: Literal['agent', 'persona', 'user', 'role', 'workspace']
    principal_id: NotRequired[str | None]
    role: NotRequired[Literal['viewer', 'member', 'admin', 'owner'] | None]
    access: Literal['read', 'write', 'curate', 'manage']
    expires_at: NotRequired[str | None]


class KnowledgeGrantUpdate(TypedDict):
    """
    The access level and expiry of a grant; omitted fields are kept
    """

    access: NotRequired[Literal['read', 'write', 'curate', 'manage']]
    expires_at: NotRequired[str | None]


class KnowledgeGrantView(TypedDict):
    """
    Access to a knowledge base beyond that of its scope
    """

    id: str
    kb_id: str
    principal_kind: Literal['agent', 'persona', 'user', 'role', 'workspace']
    principal_id: str | None
    role: Literal['viewer', 'member', 'admin', 'owner', 'operator'] | None
    access: Literal['read', 'write', 'curate', 'manage']
    expires_at: str | None
    created_by_user_id: str | None
    etag: str
    created_at: str
    updated_at: str


class KnowledgeImport(TypedDict):
    """
    The bundle, and how its rows are imported
    """

    attachment_id: str
    mode: NotRequired[Literal['create', 'upsert']]
    dry_run: NotRequired[bool]
    keep_state: NotRequired[bool]
    include_grants: NotRequired[bool]


class KnowledgeItemCreate(TypedDict):
    """
    A new item
    """

    content: str
    title: NotRequired[str | None]
    kind: NotRequired[Literal['document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary']]
    tags: NotRequired[list[Tag]]
    metadata: NotRequired[dict[str, Any]]
    fact: NotRequired[KnowledgeFact | None]
    evidence: NotRequired[list[KnowledgeEvidenceInput]]
    valid_until: NotRequired[str | None]
    external_id: NotRequired[str | None]
    valid_from: NotRequired[str | None]
    observed_at: NotRequired[str | None]
    curation_state: NotRequired[Literal['pending', 'reviewed']]
    on_duplicate: NotRequired[Literal['reject', 'return_existing', 'allow']]


class KnowledgeItemCurate(TypedDict):
    """
    The new state of an item
    """

    curation_state: Literal['pending', 'reviewed', 'promoted', 'superseded', 'retired']
    reason: NotRequired[str | None]
    superseded_by_id: NotRequired[str | None]


class KnowledgeItemInput(TypedDict):
    """
    A new item of a batch
    """

    content: str
    title: NotRequired[str | None]
    kind: NotRequired[Literal['document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary']]
    tags: NotRequired[list[Tag]]
    metadata: NotRequired[dict[str, Any]]
    fact: NotRequired[KnowledgeFact | None]
    evidence: NotRequired[list[KnowledgeEvidenceInput]]
    valid_until: NotRequired[str | None]
    external_id: NotRequired[str | None]
    valid_from: NotRequired[str | None]
    observed_at: NotRequired[str | None]
    curation_state: NotRequired[Literal['pending', 'reviewed']]


class KnowledgeItemOutcome(TypedDict):
    """
    The outcome of one item of a batch
    """

    index: int
    status: Literal['created', 'existing', 'failed']
    item_id: str | None
    error: str | None


class KnowledgeItemUpdate(TypedDict):
    """
    Changes to an item; omitted fields are kept
    """

    content: NotRequired[str]
    title: NotRequired[str | None]
    kind: NotRequired[Literal['document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary']]
    tags: NotRequired[list[Tag]]
    metadata: NotRequired[dict[str, Any]]
    fact: NotRequired[KnowledgeFact | None]
    evidence: NotRequired[list[KnowledgeEvidenceInput]]
    valid_until: NotRequired[str | None]
    reason: NotRequired[str | None]


class KnowledgeItemVersionView(TypedDict):
    """
    The content of one version of an item
    """

    item_id: str
    version: int
    title: str | None
    content: str
    content_hash: str
    metadata: dict[str, Any]
    tags: list[Tag]
    actor: Actor
    reason: str | None
    created_at: str


class KnowledgeItemView(TypedDict):
    """
    A document, fact or memory of a knowledge base
    """

    id: str
    kb_id: str
    source_id: str | None
    external_id: str | None
    kind: Literal['document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary']
    title: str | None
    content: str
    tags: list[Tag]
    metadata: dict[str, Any]
    fact: KnowledgeFact | None
    evidence: list[KnowledgeEvidence]
    valid_from: str | None
    valid_until: str | None
    observed_at: str | None
    origin: Literal['human', 'agent', 'import', 'derived']
    curation_state: Literal['pending', 'reviewed', 'promoted', 'superseded', 'retired']
    superseded_by_id: str | None
    predecessor_item_id: str | None
    trust: Literal['untrusted', 'workspace', 'reviewed']
    content_hash: str
    token_count: int
    chunk_count: int
    index_state: Literal['pending', 'ready', 'failed']
    index_error: str | None
    version: int
    created_by: Actor
    deleted_at: str | None
    created_at: str
    updated_at: str


class KnowledgeItemsCreate(TypedDict):
    """
    New items, created independently
    """

    items: list[KnowledgeItemInput]
    on_duplicate: NotRequired[Literal['reject', 'return_existing', 'allow']]


class KnowledgeItemsCurate(TypedDict):
    """
    The new state of several items: those in item_ids, or all that match filter
    """

    item_ids: NotRequired[list[ItemId]]
    filter: NotRequired[KnowledgeCurationFilter]
    curation_state: Literal['pending', 'reviewed', 'promoted', 'superseded', 'retired']
    reason: NotRequired[str | None]
    superseded_by_id: NotRequired[str | None]
    dry_run: NotRequired[bool]


class KnowledgePurge(TypedDict):
    """
    What is permanently removed
    """

    confirm: str
    mode: Literal['tombstones', 'items', 'subject', 'all']
    item_ids: NotRequired[list[ItemId]]
    subject_kind: NotRequired[Literal['user', 'guest']]
    subject_id: NotRequired[str]
    older_than_days: NotRequired[int]


class KnowledgeRelationCreate(TypedDict):
    """
    A link from this item to another
    """

    to_item_id: str
    type: Literal['related', 'part_of', 'derived_from', 'supersedes', 'contradicts', 'duplicate_of', 'supports']
    note: NotRequired[str | None]


class KnowledgeRelationView(TypedDict):
    """
    A directed link between two items of one base
    """

    id: str
    kb_id: str
    from_item_id: str
    to_item_id: str
    type: Literal['related', 'part_of', 'derived_from', 'supersedes', 'contradicts', 'duplicate_of', 'supports']
    note: str | None
    depth: int
    created_at: str


class KnowledgeRetrieval(TypedDict):
    """
    How a base is searched
    """

    language: Literal['none', 'ar', 'bg', 'da', 'de', 'el', 'en', 'es', 'fi', 'fr', 'ga', 'hi', 'hu', 'hy', 'id', 'it', 'ja', 'lt', 'ne', 'nl', 'no', 'pt', 'ro', 'ru', 'sa', 'sr', 'sv', 'ta', 'tr', 'uk', 'zh']
    vector_weight: float | None
    include_pending: bool


class KnowledgeRetrievalInput(TypedDict):
    """
    How a base is searched; omitted fields take their defaults, or are kept
    """

    language: NotRequired[Literal['none', 'ar', 'bg', 'da', 'de', 'el', 'en', 'es', 'fi', 'fr', 'ga', 'hi', 'hu', 'hy', 'id', 'it', 'ja', 'lt', 'ne', 'nl', 'no', 'pt', 'ro', 'ru', 'sa', 'sr', 'sv', 'ta', 'tr', 'uk', 'zh']]
    vector_weight: NotRequired[float | None]
    include_pending: NotRequired[bool]


class KnowledgeRunCost(TypedDict):
    """
    The cost of a run
    """

    estimate: str | None
    spent: str
    currency: str


class KnowledgeRunError(TypedDict):
    """
    Something that a run could not do
    """

    stage: str
    code: str
    detail: str
    item_id: str | None
    source_id: str | None
    chunk_ord: int | None
    line: int | None
    offset: int | None


class KnowledgeRunProgress(TypedDict):
    """
    The progress of a run
    """

    stage: str
    done: int
    total: int | None


class KnowledgeScoreParts(TypedDict):
    """
    The result of each leg; null if it did not find the passage
    """

    lexical: float | None
    lexical_rank: int | None
    vector: float | None
    vector_rank: int | None


KbId: TypeAlias = str


TagsAnyItem: TypeAlias = str


TagsAllItem: TypeAlias = str


SourceId: TypeAlias = str


class KnowledgeSearchFilters(TypedDict):
    """
    Which items a search can find; all conditions must hold, and an empty list does not filter
    """

    kinds: NotRequired[list[Literal['document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary']]]
    tags_any: NotRequired[list[TagsAnyItem]]
    tags_all: NotRequired[list[TagsAllItem]]
    source_ids: NotRequired[list[SourceId]]
    origins: NotRequired[list[Literal['human', 'agent', 'import', 'derived']]]
    curation_states: NotRequired[list[Literal['pending', 'reviewed', 'promoted', 'superseded', 'retired']]]
    metadata: NotRequired[dict[str, str | float | bool | None]]
    created_from: NotRequired[str]
    created_to: NotRequired[str]


SearchedKbId: TypeAlias = str


class KnowledgeSourceCreate(TypedDict):
    """
    Exactly one of attachment_id, url and text
    """

    attachment_id: NotRequired[str]
    url: NotRequired[str]
    text: NotRequired[str]
    title: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any]]
    tags: NotRequired[list[Tag]]
    kind: NotRequired[Literal['document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary']]


class KnowledgeSourceError(TypedDict):
    """
    Why a source failed
    """

    code: str
    stage: str
    detail: str
    item_id: str | None
    chunk_ord: int | None


class KnowledgeSourceWarning(TypedDict):
    """
    Something in the file that could not be used as it is; the rest was
    """

    code: str
    detail: str


class LatencyNumbers(TypedDict):
    """
    Of the runs
    """

    p50: int | None
    p95: int | None


class LoginBody(TypedDict):
    """
    Address and password of a person
    """

    email: str
    password: str
    device_label: NotRequired[str | None]


class MaintenanceRunCreate(TypedDict):
    """
    What a maintenance run should do
    """

    tasks: list[Literal['verify', 'repair', 'dedupe', 'decay', 'contradictions', 'consolidate', 'evaluate_retrieval']]
    dry_run: NotRequired[bool]
    item_ids: NotRequired[list[ItemId]]


class MaintenanceRunView(TypedDict):
    """
    Durable work on a knowledge base
    """

    id: str
    kb_id: str
    kind: Literal['ingest', 'reembed', 'import', 'export', 'maintenance', 'purge']
    tasks: list[Literal['verify', 'repair', 'dedupe', 'decay', 'contradictions', 'consolidate', 'evaluate_retrieval']]
    status: Literal['queued', 'running', 'paused', 'cancelling', 'succeeded', 'failed', 'cancelled']
    paused_reason: str | None
    dry_run: bool
    source_id: str | None
    target_kb_id: str | None
    attachment_id: str | None
    progress: KnowledgeRunProgress
    counts: dict[str, int]
    cost: KnowledgeRunCost
    errors: list[KnowledgeRunError]
    error_count: int
    result: dict[str, Any] | None
    cut_over_at: str | None
    requested_by: Actor
    created_at: str
    started_at: str | None
    finished_at: str | None


class Tool(TypedDict):
    name: str
    title: NotRequired[str | None]
    description: str
    input_schema: NotRequired[dict[str, Any]]
    output_schema: NotRequired[dict[str, Any] | None]
    config: HttpToolConfig
    effect: NotRequired[Literal['read', 'write']]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]


class ManualSource(TypedDict):
    """
    Tools are defined here
    """

    type: Literal['manual']
    tools: list[Tool]


class ManualToolkitConfig(TypedDict):
    """
    Empty: each tool has its own config
    """


class McpAuthBearer(TypedDict):
    """
    Authorization: Bearer with the value of a secret
    """

    type: Literal['bearer']
    secret: str


class McpAuthHeaders(TypedDict):
    """
    Headers whose values are secrets
    """

    type: Literal['headers']
    headers: dict[str, str]


class McpAuthNone(TypedDict):
    """
    The server requires no authentication
    """

    type: Literal['none']


class McpAuthOauth(TypedDict):
    """
    OAuth 2.1: a person consents once on the server’s own page
    """

    type: Literal['oauth']
    mode: NotRequired[Literal['shared', 'per_user']]
    scopes: NotRequired[list[Scope2]]
    client_id: NotRequired[str | None]


class McpDiscover(TypedDict):
    """
    A server to probe; nothing is stored
    """

    url: str
    transport: NotRequired[Literal['auto', 'http', 'sse']]
    token: NotRequired[str]


AuthorizationServer: TypeAlias = str


class Auth(TypedDict):
    """
    How a client must sign in
    """

    required: bool
    authorization_servers: list[AuthorizationServer]
    scopes: list[Scope2]
    registration: Literal['preregistered', 'metadata_document', 'dynamic', 'none']


class Tool1(TypedDict):
    name: str
    title: str | None
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]


class McpDiscoveryView(TypedDict):
    """
    What an MCP server says about itself; nothing is stored
    """

    reachable: bool
    transport: Literal['http', 'sse'] | None
    protocol_version: str | None
    server: dict[str, Any] | None
    instructions: str | None
    auth: Auth
    tools: list[Tool1]
    warnings: list[Warning]
    duration_ms: int


class McpError(TypedDict):
    """
    Why the message was refused
    """

    code: int
    message: str
    data: NotRequired[dict[str, Any]]


class McpMessage(TypedDict):
    """
    A message of the Model Context Protocol
    """

    jsonrpc: Literal['2.0']
    id: NotRequired[str | int]
    method: NotRequired[str]
    params: NotRequired[dict[str, Any]]


class Authorization(TypedDict):
    """
    What a person brings back from the server’s sign-in page
    """

    code: str
    state: str


class McpSync(TypedDict):
    """
    Asks the server for its tools; all fields are optional
    """

    note: NotRequired[str | None]
    authorization: NotRequired[Authorization]


class McpToolkitConfig(TypedDict):
    """
    Where an MCP server is and how it is reached
    """

    url: str
    transport: NotRequired[Literal['auto', 'http', 'sse']]
    auth: NotRequired[McpAuthNone | McpAuthBearer | McpAuthHeaders | McpAuthOauth]
    on_change: NotRequired[Literal['block', 'keep']]
    sync_interval_s: NotRequired[int | None]


class LastSync(TypedDict):
    revision_id: str
    number: int
    state: Literal['syncing', 'unchanged', 'inactive', 'failed', 'active', 'superseded']
    error: str | None
    created_at: str


QuarantinedItem: TypeAlias = str


class Principal(TypedDict):
    kind: Literal['shared', 'user']
    id: str | None


class Connection(TypedDict):
    principal: Principal
    state: Literal['healthy', 'needs_auth', 'error']
    scopes: list[Scope2]
    expires_at: str | None
    last_error: str | None
    authorization_url: str | None


class McpToolkitStatusView(TypedDict):
    """
    The stored state of an MCP toolkit; the server is not contacted
    """

    toolkit_id: str
    reachable: bool | None
    checked_at: str | None
    server: dict[str, Any] | None
    protocol_version: str | None
    last_sync: LastSync | None
    quarantined: list[QuarantinedItem]
    connections: list[Connection]


class MeUpdate(TypedDict):
    """
    The fields that are sent are changed; the address only once it is confirmed
    """

    full_name: NotRequired[str | None]
    locale: NotRequired[str | None]
    email: NotRequired[str]


WorkspaceId: TypeAlias = str


class View(TypedDict):
    """
    The organization or workspace to which an operator has narrowed their view; null for others
    """

    organization_id: str | None
    workspace_id: str | None


class Mfa1(TypedDict):
    """
    Second factor of the person
    """

    enrolled: bool
    required: bool
    fresh_until: str | None


class MessageToolCall(TypedDict):
    """
    A call that the message asks for; deadline_at is given while it waits for its client
    """

    tool_call_id: str
    slug: str
    args: dict[str, Any] | None
    args_hash: str | None
    truncated: bool
    client_owned: bool
    deadline_at: str | None


ToolCallId: TypeAlias = str


class MfaVerifyBody(TypedDict):
    challenge_id: NotRequired[str | None]
    method: NotRequired[Literal['totp', 'recovery_code', 'password']]
    code: str


class ModelCapabilities(TypedDict):
    tools: bool
    parallel_tools: bool
    json: Literal['native', 'tool', 'prompt']
    reasoning: bool
    image: bool
    pdf: bool
    audio: bool


StopItem: TypeAlias = str


class ModelSettings(TypedDict):
    """
    Parameters of model calls; null uses the defaults of the provider
    """

    temperature: NotRequired[float | None]
    top_p: NotRequired[float | None]
    max_output_tokens: NotRequired[int | None]
    stop: NotRequired[list[StopItem]]
    seed: NotRequired[int | None]
    reasoning: NotRequired[Literal['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']]
    cache: NotRequired[Literal['auto', 'off']]
    provider_options: NotRequired[dict[str, Any]]


class ModelSettingsOverride(TypedDict):
    """
    Parameters of model calls under a persona
    """

    temperature: NotRequired[float | None]
    top_p: NotRequired[float | None]
    max_output_tokens: NotRequired[int | None]
    stop: NotRequired[list[StopItem]]
    seed: NotRequired[int | None]
    reasoning: NotRequired[Literal['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']]
    cache: NotRequired[Literal['auto', 'off']]
    provider_options: NotRequired[dict[str, Any]]


class OauthClientCreate(TypedDict):
    client_name: str
    redirect_uris: NotRequired[list[RedirectUri]]
    token_endpoint_auth_method: NotRequired[Literal['none', 'client_secret_basic', 'client_secret_post']]
    grant_types: NotRequired[list[Literal['authorization_code', 'refresh_token', 'client_credentials']]]
    scope: NotRequired[str | None]
    organization_id: NotRequired[str | None]
    workspace_id: NotRequired[str | None]
    role: NotRequired[Literal['viewer', 'member', 'admin'] | None]


class OauthClientRegistrationView(TypedDict):
    """
    A registered client
    """

    client_id: str
    client_id_issued_at: int
    client_secret: NotRequired[str]
    client_secret_expires_at: NotRequired[int]
    registration_access_token: str
    registration_client_uri: str
    redirect_uris: list[RedirectUri]
    client_name: NotRequired[str]
    token_endpoint_auth_method: Literal['none', 'client_secret_basic', 'client_secret_post']
    grant_types: list[GrantType]
    response_types: list[Literal['code']]
    scope: str


class OauthClientSecretView(TypedDict):
    """
    A client with its secret, which is shown only once
    """

    client_id: str
    kind: Literal['preregistered', 'registered', 'document']
    client_name: str
    redirect_uris: list[RedirectUri]
    token_endpoint_auth_method: Literal['none', 'client_secret_basic', 'client_secret_post']
    grant_types: list[GrantType]
    scope: str | None
    organization_id: str | None
    workspace_id: str | None
    role: Literal['viewer', 'member', 'admin'] | None
    created_at: str
    updated_at: str
    last_used_at: str | None
    secret_rotated_at: str | None
    client_secret: str | None


class OauthClientView(TypedDict):
    """
    A client, without its secret
    """

    client_id: str
    kind: Literal['preregistered', 'registered', 'document']
    client_name: str
    redirect_uris: list[RedirectUri]
    token_endpoint_auth_method: Literal['none', 'client_secret_basic', 'client_secret_post']
    grant_types: list[GrantType]
    scope: str | None
    organization_id: str | None
    workspace_id: str | None
    role: Literal['viewer', 'member', 'admin'] | None
    created_at: str
    updated_at: str
    last_used_at: str | None
    secret_rotated_at: str | None


class OauthIntrospectionView(TypedDict):
    """
    RFC 7662 §2.2; contains only active if it is false
    """

    active: bool
    scope: NotRequired[str]
    client_id: NotRequired[str]
    sub: NotRequired[str]
    iss: NotRequired[str]
    aud: NotRequired[str]
    iat: NotRequired[int]
    exp: NotRequired[int]
    token_type: NotRequired[Literal['Bearer']]


ScopesSupportedItem: TypeAlias = str


class OauthResourceMetadata(TypedDict):
    """
    Which tokens a resource accepts, and who issues them
    """

    resource: str
    authorization_servers: list[AuthorizationServer]
    scopes_supported: list[ScopesSupportedItem]
    bearer_methods_supported: list[Literal['header']]
    resource_name: str
    resource_documentation: str


class OauthServerMetadata(TypedDict):
    """
    Where and how clients get tokens
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    revocation_endpoint: str
    introspection_endpoint: str
    jwks_uri: str
    registration_endpoint: NotRequired[str]
    scopes_supported: list[ScopesSupportedItem]
    response_types_supported: list[Literal['code']]
    grant_types_supported: list[Literal['authorization_code', 'refresh_token', 'client_credentials']]
    code_challenge_methods_supported: list[Literal['S256']]
    token_endpoint_auth_methods_supported: list[Literal['none', 'client_secret_basic', 'client_secret_post']]
    authorization_response_iss_parameter_supported: bool
    client_id_metadata_document_supported: bool
    service_documentation: str


class OauthTokenForm(TypedDict):
    grant_type: str
    code: NotRequired[str]
    redirect_uri: NotRequired[str]
    code_verifier: NotRequired[str]
    refresh_token: NotRequired[str]
    scope: NotRequired[str]
    resource: NotRequired[str]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]


class OauthTokenReference(TypedDict):
    token: str
    token_type_hint: NotRequired[str]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]


class OauthTokenView(TypedDict):
    """
    RFC 6749 §5.1
    """

    access_token: str
    token_type: Literal['Bearer']
    expires_in: int
    refresh_token: NotRequired[str]
    scope: str


IncludeItem: TypeAlias = str


ExcludeItem: TypeAlias = str


class OpenApiSource(TypedDict):
    """
    Tools are created from the operations of an OpenAPI document
    """

    type: Literal['openapi']
    document: NotRequired[str]
    attachment_id: NotRequired[str]
    include: NotRequired[list[IncludeItem]]
    exclude: NotRequired[list[ExcludeItem]]


class OpenApiToolkitConfig(TypedDict):
    """
    Where the API of a document is and how it is reached
    """

    base_url: str
    auth: NotRequired[HttpAuthNone | HttpAuthBearer | HttpAuthBasic | HttpAuthApiKey | HttpAuthClientCredentials]


class Owner(TypedDict):
    """
    The first person, who gets a mail
    """

    email: str
    full_name: NotRequired[str | None]
    password: NotRequired[str]


class Workspace(TypedDict):
    """
    The first workspace
    """

    name: NotRequired[str]
    slug: NotRequired[str]


class OrganizationCreate(TypedDict):
    name: str
    slug: str
    timezone: NotRequired[str]
    owner: Owner
    workspace: NotRequired[Workspace]


class OrganizationPurge(TypedDict):
    reason: str
    confirm: str


AllowedEmailDomain: TypeAlias = str


class EgressAllowlistItem(TypedDict):
    host: str
    port: NotRequired[int | None]
    allow_http: NotRequired[bool]


class GitInstallation(TypedDict):
    installation_id: int
    workspace_id: str


class OrganizationSettingsUpdate(TypedDict):
    """
    Omitted fields are kept; arrays are replaced as a whole
    """

    require_mfa: NotRequired[bool]
    allowed_email_domains: NotRequired[list[AllowedEmailDomain]]
    session_idle_days: NotRequired[int]
    session_absolute_days: NotRequired[int]
    invitation_days: NotRequired[int]
    audit_retention_days: NotRequired[int]
    failed_login_retention_days: NotRequired[int]
    delivery_retention_days: NotRequired[int]
    workspace_retention_days: NotRequired[int]
    run_retention_days: NotRequired[int | None]
    trace_content: NotRequired[bool]
    egress_allowlist: NotRequired[list[EgressAllowlistItem]]
    git_installations: NotRequired[list[GitInstallation]]


class EgressAllowlistItem1(TypedDict):
    host: str
    port: int | None
    allow_http: bool


class OrganizationSettingsView(TypedDict):
    """
    The settings of an organization
    """

    organization_id: str
    require_mfa: bool
    allowed_email_domains: list[AllowedEmailDomain]
    session_idle_days: int
    session_absolute_days: int
    invitation_days: int
    audit_retention_days: int
    failed_login_retention_days: int
    delivery_retention_days: int
    workspace_retention_days: int
    run_retention_days: int | None
    trace_content: bool
    egress_allowlist: list[EgressAllowlistItem1]
    git_installations: list[GitInstallation]
    updated_at: str


class OrganizationSuspend(TypedDict):
    reason: str
    confirm: str


class OrganizationUpdate(TypedDict):
    name: NotRequired[str]
    slug: NotRequired[str]
    timezone: NotRequired[str]


class OrganizationView(TypedDict):
    """
    A tenant of the deployment
    """

    id: str
    name: str
    slug: str
    timezone: str
    status: Literal['active', 'suspended', 'deleting']
    suspended_at: str | None
    delete_after: str | None
    created_at: str
    updated_at: str


class OutboxStatus(TypedDict):
    due: int
    oldest_due_age_s: int | None
    failing: int


class OwnershipTransfer(TypedDict):
    user_id: str
    from_user_id: NotRequired[str]


class PageAgentSummary(TypedDict):
    """
    A page of AgentSummary
    """

    items: list[AgentSummary]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageApprovalView(TypedDict):
    """
    A page of ApprovalView
    """

    items: list[ApprovalView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageAuditEntryView(TypedDict):
    """
    A page of AuditEntryView
    """

    items: list[AuditEntryView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageBudgetView(TypedDict):
    """
    A page of BudgetView
    """

    items: list[BudgetView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageChannelView(TypedDict):
    """
    A page of ChannelView
    """

    items: list[ChannelView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageDeprecationView(TypedDict):
    """
    A page of DeprecationView
    """

    items: list[DeprecationView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageEventView(TypedDict):
    """
    A page of EventView
    """

    items: list[EventView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageFeedbackAggregateView(TypedDict):
    """
    A page of FeedbackAggregateView
    """

    items: list[FeedbackAggregateView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageImpersonationView(TypedDict):
    """
    A page of ImpersonationView
    """

    items: list[ImpersonationView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageInvitationView(TypedDict):
    """
    A page of InvitationView
    """

    items: list[InvitationView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageKnowledgeBaseView(TypedDict):
    """
    A page of KnowledgeBaseView
    """

    items: list[KnowledgeBaseView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageKnowledgeChunkView(TypedDict):
    """
    A page of KnowledgeChunkView
    """

    items: list[KnowledgeChunkView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageKnowledgeFindingView(TypedDict):
    """
    A page of KnowledgeFindingView
    """

    items: list[KnowledgeFindingView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageKnowledgeGrantView(TypedDict):
    """
    A page of KnowledgeGrantView
    """

    items: list[KnowledgeGrantView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageKnowledgeItemVersionView(TypedDict):
    """
    A page of KnowledgeItemVersionView
    """

    items: list[KnowledgeItemVersionView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageKnowledgeItemView(TypedDict):
    """
    A page of KnowledgeItemView
    """

    items: list[KnowledgeItemView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageKnowledgeRelationView(TypedDict):
    """
    A page of KnowledgeRelationView
    """

    items: list[KnowledgeRelationView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageMaintenanceRunView(TypedDict):
    """
    A page of MaintenanceRunView
    """

    items: list[MaintenanceRunView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageOauthClientView(TypedDict):
    """
    A page of OauthClientView
    """

    items: list[OauthClientView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageOrganizationView(TypedDict):
    """
    A page of OrganizationView
    """

    items: list[OrganizationView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PasswordChangeBody(TypedDict):
    current_password: str
    new_password: str


class PasswordForgotBody(TypedDict):
    email: str


class PasswordResetBody(TypedDict):
    token: str
    new_password: str


class PendingToolCall(TypedDict):
    """
    A call that its client executes: it waits for tool_results until deadline_at
    """

    tool_call_id: str
    run_id: str
    slug: str
    args: dict[str, Any] | None
    args_hash: str
    truncated: bool
    deadline_at: str


ToolsAllowItem: TypeAlias = str


class PersonaCreate(TypedDict):
    slug: str
    name: str
    description: NotRequired[str | None]
    greeting: NotRequired[str | None]
    locale: NotRequired[str | None]
    instructions: NotRequired[str]
    instructions_mode: NotRequired[Literal['append', 'prepend', 'replace']]
    model: NotRequired[str | None]
    model_settings: NotRequired[ModelSettingsOverride | None]
    tools_allow: NotRequired[list[ToolsAllowItem] | None]
    knowledge: NotRequired[list[KnowledgeBinding]]
    avatar_preset: NotRequired[Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None]
    image_url: NotRequired[str | None]
    attributes: NotRequired[dict[str, Any]]
    is_default: NotRequired[bool]
    is_active: NotRequired[bool]


class PersonaDocument(TypedDict):
    """
    A variant of an agent that restricts and adapts what the revision defines
    """

    slug: str
    name: str
    description: NotRequired[str | None]
    greeting: NotRequired[str | None]
    locale: NotRequired[str | None]
    instructions: NotRequired[str]
    instructions_mode: NotRequired[Literal['append', 'prepend', 'replace']]
    model: NotRequired[str | None]
    model_settings: NotRequired[ModelSettingsOverride | None]
    tools_allow: NotRequired[list[ToolsAllowItem] | None]
    knowledge: NotRequired[list[KnowledgeBinding]]
    avatar_preset: NotRequired[Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None]
    image_url: NotRequired[str | None]
    attributes: NotRequired[dict[str, Any]]
    is_default: NotRequired[bool]
    is_active: NotRequired[bool]


class PersonaUpdate(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str | None]
    greeting: NotRequired[str | None]
    locale: NotRequired[str | None]
    instructions: NotRequired[str]
    instructions_mode: NotRequired[Literal['append', 'prepend', 'replace']]
    model: NotRequired[str | None]
    model_settings: NotRequired[ModelSettingsOverride | None]
    tools_allow: NotRequired[list[ToolsAllowItem] | None]
    knowledge: NotRequired[list[KnowledgeBinding]]
    avatar_preset: NotRequired[Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None]
    image_url: NotRequired[str | None]
    attributes: NotRequired[dict[str, Any]]
    is_default: NotRequired[bool]
    is_active: NotRequired[bool]


class PersonaView(TypedDict):
    """
    A variant of an agent
    """

    id: str
    agent_id: str
    slug: str
    name: str
    description: str | None
    greeting: str | None
    locale: str | None
    instructions: str
    instructions_mode: Literal['append', 'prepend', 'replace']
    model: str | None
    model_settings: ModelSettingsOverride | None
    tools_allow: list[ToolsAllowItem] | None
    knowledge: list[KnowledgeBinding]
    avatar_preset: Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None
    image_url: str | None
    attributes: dict[str, Any]
    is_default: bool
    is_active: bool
    version: int
    etag: str
    created_at: str
    updated_at: str


class PlaybookClone(TypedDict):
    """
    The scope and the name of the copy
    """

    slug: str
    name: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]


class PostgresStatus(TypedDict):
    version: str
    size_bytes: int
    connections: int
    latency_ms: int


class PriceCreate(TypedDict):
    model: str
    tier: NotRequired[str]
    bucket: Literal['input', 'cached_read', 'cached_write', 'output', 'reasoning', 'call']
    unit: NotRequired[Literal['1m_tokens', 'call']]
    price: str | float
    currency: NotRequired[str]
    effective_from: NotRequired[str]
    source: NotRequired[str]
    confirm_unusual: NotRequired[bool]


class PriceImport(TypedDict):
    rows: list[PriceCreate]
    dry_run: NotRequired[bool]


class Error(TypedDict):
    rule: str
    message: str


class PriceImportRow(TypedDict):
    index: int
    outcome: Literal['created', 'unchanged', 'rejected']
    price_id: str | None
    error: Error | None


class PriceImportView(TypedDict):
    """
    The outcome of each row
    """

    dry_run: bool
    created: int
    unchanged: int
    rejected: int
    rows: list[PriceImportRow]


class PriceView(TypedDict):
    """
    What a model costs from a given time. A price in force is never changed or deleted: a later one replaces it
    """

    id: str
    model: str
    tier: str
    bucket: Literal['input', 'cached_read', 'cached_write', 'output', 'reasoning', 'call']
    unit: Literal['1m_tokens', 'call']
    price: str
    currency: str
    effective_from: str
    source: str | None
    created_at: str


class PurgeView(TypedDict):
    """
    The removal of all data of an organization
    """

    id: str
    organization_id: str
    status: Literal['queued', 'running', 'succeeded', 'failed']
    step: str | None
    counts: dict[str, int]
    started_at: str | None
    finished_at: str | None
    created_at: str


Code1: TypeAlias = str


class RecoveryCodesView(TypedDict):
    """
    Recovery codes, shown only once
    """

    codes: list[Code1]
    created_at: str


class RedisStatus(TypedDict):
    version: str
    used_memory_bytes: int
    connected_clients: int
    latency_ms: int


class Reembed(TypedDict):
    """
    The base that will replace this one, with the same or another model
    """

    slug: str
    embedding_model: NotRequired[str | None]


class ReferenceDoc(TypedDict):
    """
    A document of a skill; lists omit the content, and a file has none
    """

    name: str
    media_type: str
    size_chars: int
    sha256: str
    content: NotRequired[str]
    attachment_id: NotRequired[str]


class ReferenceDocInput(TypedDict):
    name: str
    content: str
    media_type: NotRequired[str | None]


class RefreshBody(TypedDict):
    refresh_token: str


class RepoBindingEvent(TypedDict):
    """
    An event of the repository, and whether it is handled
    """

    event: str
    action: str
    handler: Literal['review', 'edit', 'command']
    enabled: bool


class ResponseFormat(TypedDict):
    """
    The format of the answer: text, or JSON that matches a schema
    """

    type: NotRequired[Literal['text', 'json']]
    name: NotRequired[str | None]
    schema: NotRequired[dict[str, Any] | None]
    strict: NotRequired[bool]


class ResultTokens(TypedDict):
    """
    Of the run
    """

    input: int
    output: int


class ReviewBudgetConfig(TypedDict):
    """
    What reviews can cost; null: no limit
    """

    per_review: str | None
    per_pr: str | None
    per_day: str | None
    currency: str
    on_exceed: Literal['skip', 'summary_only']


class ReviewBudgetConfigInput(TypedDict):
    """
    Omitted fields take their defaults
    """

    per_review: NotRequired[str | None]
    per_pr: NotRequired[str | None]
    per_day: NotRequired[str | None]
    currency: NotRequired[str]
    on_exceed: NotRequired[Literal['skip', 'summary_only']]


Path: TypeAlias = str


class Titles(TypedDict):
    include: list[IncludeItem]
    exclude: list[ExcludeItem]


class Labels(TypedDict):
    include: list[IncludeItem]
    exclude: list[ExcludeItem]


class Authors(TypedDict):
    include: list[IncludeItem]
    exclude: list[ExcludeItem]


class Branches(TypedDict):
    include: list[IncludeItem]
    exclude: list[ExcludeItem]


class Filters(TypedDict):
    paths: list[Path]
    titles: Titles
    labels: Labels
    authors: Authors
    branches: Branches
    max_files: int | None


class ReviewConfig(TypedDict):
    """
    What is reviewed, and how
    """

    playbook_id: str | None
    drafts: bool
    incremental: bool
    verify: bool
    check_run: bool
    max_findings: int | None
    min_confidence: float | None
    min_severity: Literal['critical', 'high', 'medium', 'low', 'nit']
    request_changes: bool
    summary: Literal['always', 'findings', 'never']
    debounce_seconds: int
    repo_instructions: bool
    filters: Filters


class Titles1(TypedDict):
    include: NotRequired[list[IncludeItem]]
    exclude: NotRequired[list[ExcludeItem]]


class Labels1(TypedDict):
    include: NotRequired[list[IncludeItem]]
    exclude: NotRequired[list[ExcludeItem]]


class Authors1(TypedDict):
    include: NotRequired[list[IncludeItem]]
    exclude: NotRequired[list[ExcludeItem]]


class Branches1(TypedDict):
    include: NotRequired[list[IncludeItem]]
    exclude: NotRequired[list[ExcludeItem]]


class Filters1(TypedDict):
    paths: NotRequired[list[Path]]
    titles: NotRequired[Titles1]
    labels: NotRequired[Labels1]
    authors: NotRequired[Authors1]
    branches: NotRequired[Branches1]
    max_files: NotRequired[int | None]


class ReviewConfigInput(TypedDict):
    """
    Omitted fields take their defaults
    """

    playbook_id: NotRequired[str | None]
    drafts: NotRequired[bool]
    incremental: NotRequired[bool]
    verify: NotRequired[bool]
    check_run: NotRequired[bool]
    max_findings: NotRequired[int | None]
    min_confidence: NotRequired[float | None]
    min_severity: NotRequired[Literal['critical', 'high', 'medium', 'low', 'nit']]
    request_changes: NotRequired[bool]
    summary: NotRequired[Literal['always', 'findings', 'never']]
    debounce_seconds: NotRequired[int]
    repo_instructions: NotRequired[bool]
    filters: NotRequired[Filters1]


class ReviewInput(TypedDict):
    """
    A pull request to review with the binding’s agent; agent and input must be omitted
    """

    binding_id: str
    pull_number: int
    full: NotRequired[bool]
    post: NotRequired[bool]
    instructions: NotRequired[str | None]


class ReviewPlaybookUpdate(TypedDict):
    """
    The fields that are sent are changed, the rest is kept
    """

    name: NotRequired[str]
    description: NotRequired[str | None]
    is_active: NotRequired[bool]
    is_default: NotRequired[bool]
    active_revision_id: NotRequired[str]


Section: TypeAlias = str


class Summary(TypedDict):
    prompt: str
    sections: list[Section]


class Pass(TypedDict):
    key: str
    focus: str
    model: NotRequired[str]
    paths: NotRequired[list[Path]]


class Review(TypedDict):
    prompt: str
    passes: list[Pass]


class Verify(TypedDict):
    prompt: str
    enabled: bool
    votes: Literal[1, 3, 5]


class Check2(TypedDict):
    title: str
    summary: str


class Reply(TypedDict):
    prompt: str


class Edit(TypedDict):
    prompt: str


class Definitions(TypedDict):
    critical: NotRequired[str]
    high: NotRequired[str]
    medium: NotRequired[str]
    low: NotRequired[str]
    nit: NotRequired[str]


class Severity(TypedDict):
    levels: list[Literal['critical', 'high', 'medium', 'low', 'nit']]
    inline_min: Literal['critical', 'high', 'medium', 'low', 'nit']
    block_min: Literal['critical', 'high', 'medium', 'low', 'nit']
    definitions: Definitions


class Exception(TypedDict):
    category: Literal['bug', 'security', 'data_loss', 'concurrency', 'performance', 'api_break', 'tests', 'docs', 'style']
    min: float


class Confidence(TypedDict):
    min: float
    exceptions: list[Exception]


PathFilter: TypeAlias = str


class PathRule(TypedDict):
    paths: list[Path]
    instructions: str
    severity_override: NotRequired[Literal['critical', 'high', 'medium', 'low', 'nit']]


class LanguageRule(TypedDict):
    id: str
    text: str
    severity: Literal['critical', 'high', 'medium', 'low', 'nit']
    examples: NotRequired[str]


IgnoreRule: TypeAlias = str


class Limits1(TypedDict):
    max_findings: int
    max_files: int
    max_patch_tokens: int
    max_calls: int


class Output(TypedDict):
    language: str
    tone: str
    grouping: str


class ReviewTemplates(TypedDict):
    """
    All prompts (Liquid), rules and limits of reviews
    """

    schema_version: Literal[1]
    summary: Summary
    review: Review
    verify: Verify
    check: Check2
    reply: Reply
    edit: Edit
    severity: Severity
    confidence: Confidence
    categories: list[Literal['bug', 'security', 'data_loss', 'concurrency', 'performance', 'api_break', 'tests', 'docs', 'style']]
    path_filters: list[PathFilter]
    generated: list[Literal['protobuf', 'openapi', 'graphql', 'lockfiles']]
    path_rules: list[PathRule]
    language_rules: dict[str, list[LanguageRule]]
    ignore_rules: list[IgnoreRule]
    limits: Limits1
    output: Output


class Summary1(TypedDict):
    prompt: NotRequired[str]
    sections: NotRequired[list[Section]]


class Pass1(TypedDict):
    key: str
    focus: str
    model: NotRequired[str]
    paths: NotRequired[list[Path]]


class Review1(TypedDict):
    prompt: NotRequired[str]
    passes: NotRequired[list[Pass1]]


class Verify1(TypedDict):
    prompt: NotRequired[str]
    enabled: NotRequired[bool]
    votes: NotRequired[Literal[1, 3, 5]]


class Check3(TypedDict):
    title: NotRequired[str]
    summary: NotRequired[str]


class Reply1(TypedDict):
    prompt: NotRequired[str]


class Edit1(TypedDict):
    prompt: NotRequired[str]


class Severity1(TypedDict):
    levels: NotRequired[list[Literal['critical', 'high', 'medium', 'low', 'nit']]]
    inline_min: NotRequired[Literal['critical', 'high', 'medium', 'low', 'nit']]
    block_min: NotRequired[Literal['critical', 'high', 'medium', 'low', 'nit']]
    definitions: NotRequired[Definitions]


class Confidence1(TypedDict):
    min: NotRequired[float]
    exceptions: NotRequired[list[Exception]]


class PathRule1(TypedDict):
    paths: list[Path]
    instructions: str
    severity_override: NotRequired[Literal['critical', 'high', 'medium', 'low', 'nit']]


class Limits2(TypedDict):
    max_findings: NotRequired[int]
    max_files: NotRequired[int]
    max_patch_tokens: NotRequired[int]
    max_calls: NotRequired[int]


class Output1(TypedDict):
    language: NotRequired[str]
    tone: NotRequired[str]
    grouping: NotRequired[str]


class ReviewTemplatesInput(TypedDict):
    """
    Omitted fields are taken from the platform default
    """

    schema_version: NotRequired[Literal[1]]
    summary: NotRequired[Summary1]
    review: NotRequired[Review1]
    verify: NotRequired[Verify1]
    check: NotRequired[Check3]
    reply: NotRequired[Reply1]
    edit: NotRequired[Edit1]
    severity: NotRequired[Severity1]
    confidence: NotRequired[Confidence1]
    categories: NotRequired[list[Literal['bug', 'security', 'data_loss', 'concurrency', 'performance', 'api_break', 'tests', 'docs', 'style']]]
    path_filters: NotRequired[list[PathFilter]]
    generated: NotRequired[list[Literal['protobuf', 'openapi', 'graphql', 'lockfiles']]]
    path_rules: NotRequired[list[PathRule1]]
    language_rules: NotRequired[dict[str, list[LanguageRule]]]
    ignore_rules: NotRequired[list[IgnoreRule]]
    limits: NotRequired[Limits2]
    output: NotRequired[Output1]


EnvSecretName: TypeAlias = str


class ReviewWorkspaceConfig(TypedDict):
    """
    Where work on the repository takes place
    """

    clone: Literal['partial', 'shallow', 'full']
    max_clone_mb: int
    sandbox_tool_id: str | None
    env_secret_names: list[EnvSecretName]


class ReviewWorkspaceConfigInput(TypedDict):
    """
    Omitted fields take their defaults
    """

    clone: NotRequired[Literal['partial', 'shallow', 'full']]
    max_clone_mb: NotRequired[int]
    sandbox_tool_id: NotRequired[str | None]
    env_secret_names: NotRequired[list[EnvSecretName]]


class RevisionChange(TypedDict):
    pointer: str
    op: Literal['add', 'remove', 'replace']
    before: Any
    after: Any


class RevisionDiffBase(TypedDict):
    id: str
    number: int


class RevisionDiffTarget(TypedDict):
    id: str
    number: int


class RevisionDiffView(TypedDict):
    """
    The changes from base to target; bindings are matched by target, not by position
    """

    base: RevisionDiffBase
    target: RevisionDiffTarget
    changes: list[RevisionChange]
    instructions_diff: str | None
    truncated: bool


FallbackModel: TypeAlias = str


class RevisionLimits(TypedDict):
    """
    Upper limits for each run; a run can only lower them
    """

    max_steps: NotRequired[int]
    max_duration_s: NotRequired[int]
    max_output_tokens: NotRequired[int | None]
    max_cost: NotRequired[str | None]
    max_children: NotRequired[int]
    max_depth: NotRequired[int]
    approval_ttl_s: NotRequired[int]
    on_expiry: NotRequired[Literal['deny', 'fail']]
    on_budget: NotRequired[Literal['fail', 'wait']]
    max_tool_calls: NotRequired[int]


class RevisionProblem(TypedDict):
    severity: Literal['error', 'warning']
    stage: Literal['create', 'activate', 'run']
    pointer: str
    rule: str
    message: str
    params: NotRequired[dict[str, Any]]


class RevisionValidationView(TypedDict):
    valid: bool
    problems: list[RevisionProblem]
    prompt_tokens_estimate: int


class RevisionVariable(TypedDict):
    """
    A variable of the instructions; a run supplies it as a field of its JSON input
    """

    name: str
    required: NotRequired[bool]
    default: NotRequired[str | None]
    description: NotRequired[str | None]


class RunAnswerInput(TypedDict):
    """
    An answer to a question of the agent
    """

    kind: Literal['answer']
    approval_id: str
    response: Any


class RunApprovalsResolve(TypedDict):
    """
    Answers to questions of one run and its sub-agents, applied together
    """

    resolutions: list[ApprovalAnswer]


Id: TypeAlias = str


class RunBulkCancelView(TypedDict):
    """
    The outcome of a bulk cancel so far
    """

    matched: int
    cancelled: int
    cancelling: int
    already_finished: int
    not_found: int
    continues: bool


class RunCancel(TypedDict):
    """
    How to end the run; all fields are optional
    """

    policy: NotRequired[Literal['interrupt', 'rollback']]
    reason: NotRequired[str | None]


class RunCancelFilter(TypedDict):
    """
    Matches live runs; at least one field is required, and all given fields must match
    """

    agent_id: NotRequired[str]
    session_key: NotRequired[str]
    trigger_id: NotRequired[str]
    evaluation_run_id: NotRequired[str]


class RunCreator(TypedDict):
    """
    Who started the run, and as whom
    """

    kind: Literal['user', 'service_key', 'system']
    id: str | None
    acting_user_id: str | None


class RunError(TypedDict):
    """
    Why a run failed
    """

    code: Literal['malformed_request', 'oauth_request_invalid', 'unauthenticated', 'credential_invalid', 'token_expired', 'login_failed', 'mfa_required', 'mfa_code_invalid', 'session_revoked', 'refresh_reuse_detected', 'stream_token_invalid', 'stream_token_used', 'signature_invalid', 'budget_exceeded', 'role_insufficient', 'scope_insufficient', 'resource_forbidden', 'registration_disabled', 'not_found', 'method_not_allowed', 'already_exists', 'state_conflict', 'idempotency_in_progress', 'refresh_superseded', 'gone', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'validation_failed', 'cursor_invalid', 'idempotency_key_mismatch', 'resource_frozen', 'precondition_required', 'rate_limited', 'internal_error', 'upstream_failed', 'service_unavailable', 'upstream_timeout']
    message: str
    retryable: bool
    reason: str | None


class RunInput(TypedDict):
    """
    The input for the agent; text or json is required
    """

    text: NotRequired[str]
    json: NotRequired[dict[str, Any]]
    attachments: NotRequired[list[AttachmentInput]]


class RunInputView(TypedDict):
    """
    The input; lists truncate texts to 500 characters
    """

    text: NotRequired[str]
    json: NotRequired[dict[str, Any]]
    attachments: list[AttachmentRef]
    truncated: bool


class RunLimits(TypedDict):
    """
    Limits of the run, capped by its revision
    """

    max_steps: int
    max_duration_s: int
    max_output_tokens: int | None
    max_cost: str | None
    max_children: int
    max_depth: int
    approval_ttl_s: int
    on_expiry: Literal['deny', 'fail']
    on_budget: Literal['fail', 'wait']


class RunLimitsInput(TypedDict):
    """
    Limits of this run; they can only lower those of the revision
    """

    max_steps: NotRequired[int]
    max_duration_s: NotRequired[int]
    max_output_tokens: NotRequired[int | None]
    max_cost: NotRequired[str | None]
    max_children: NotRequired[int]
    max_depth: NotRequired[int]
    approval_ttl_s: NotRequired[int]
    on_expiry: NotRequired[Literal['deny', 'fail']]
    on_budget: NotRequired[Literal['fail', 'wait']]


class RunMessageInput(TypedDict):
    """
    Read before the next model call; text or json is required
    """

    kind: Literal['message']
    text: NotRequired[str]
    json: NotRequired[dict[str, Any]]
    attachments: NotRequired[list[AttachmentInput]]
    deny_pending: NotRequired[bool]


class RunOutput(TypedDict):
    """
    The final answer; lists truncate texts to 500 characters
    """

    text: str | None
    json: dict[str, Any] | None
    attachments: list[AttachmentRef]
    truncated: bool


class RunRetry(TypedDict):
    """
    Can be empty; input and session_key are only allowed with fork_at_message_id
    """

    revision: NotRequired[Literal['pinned', 'current']]
    fork_at_message_id: NotRequired[str | None]
    input: NotRequired[RunInput | None]
    session_key: NotRequired[str | None]
    limits: NotRequired[RunLimitsInput]
    on_busy: NotRequired[Literal['enqueue', 'reject', 'interrupt', 'rollback', 'steer']]


class RunWarning(TypedDict):
    """
    Something that a run continued without
    """

    code: str
    message: str


class RunsStatus(TypedDict):
    queued: int
    running: int
    waiting: int
    cancelling: int


ScheduleBackfill = TypedDict(
    'ScheduleBackfill',
    {
        'from': str,
        'to': str,
        'overlap': NotRequired[Literal['sequential', 'allow_all']],
        'max_runs': NotRequired[int],
        'dry_run': NotRequired[bool],
    },
)


Instant: TypeAlias = str


ScheduleBackfillView = TypedDict(
    'ScheduleBackfillView',
    {
        'id': str | None,
        'schedule_id': str,
        'from': str,
        'to': str,
        'overlap': Literal['sequential', 'allow_all'],
        'planned': int,
        'already_run': int,
        'instants': list[Instant],
        'dry_run': bool,
        'status': str,
        'started': int,
        'failed': int,
        'created_at': str,
    },
)


class ScheduleDst(TypedDict):
    """
    How cron behaves when clocks change; no effect if its hour field is *
    """

    gap: Literal['shift', 'skip']
    repeat: Literal['once', 'twice']


class ScheduleOccurrenceView(TypedDict):
    """
    One occurrence of a schedule and its outcome
    """

    id: str | None
    schedule_id: str
    kind: Literal['regular', 'manual', 'backfill']
    nominal_at: str
    local_time: str
    shifted_from: str | None
    status: str
    overlap: Literal['skip', 'buffer_one', 'cancel_other', 'allow_all']
    run_id: str | None
    backfill_id: str | None
    reason: str | None
    started_at: str | None
    finished_at: str | None


class SchedulePreview(TypedDict):
    """
    The times of a schedule: exactly one of cron, every_seconds and run_at
    """

    cron: NotRequired[str | None]
    every_seconds: NotRequired[int | None]
    run_at: NotRequired[str | None]
    timezone: NotRequired[str]
    dst: NotRequired[ScheduleDst]
    starts_at: NotRequired[str | None]
    ends_at: NotRequired[str | None]
    after: NotRequired[str]
    count: NotRequired[int]


class Instant1(TypedDict):
    at: str
    local_time: str
    note: Literal['shifted', 'first_of_two', 'second_of_two'] | None


class Warning2(TypedDict):
    code: Literal['dst_gap', 'dst_repeat']
    at: str
    message: str


class SchedulePreviewView(TypedDict):
    """
    What a schedule with these times would do
    """

    description: str
    instants: list[Instant1]
    warnings: list[Warning2]
    min_gap_seconds: float | None


class ScheduleToolConfig(TypedDict):
    """
    What an agent can schedule for itself or another agent
    """

    agent: NotRequired[Literal['self'] | AgentRef]
    allow: NotRequired[list[Literal['once', 'recurring']]]
    min_interval_s: NotRequired[int]
    max_active: NotRequired[int]
    horizon_days: NotRequired[int]


class ScheduleTrigger(TypedDict):
    """
    How to fire a schedule now
    """

    overlap: NotRequired[Literal['skip', 'buffer_one', 'cancel_other', 'allow_all']]


class SchedulesStatus(TypedDict):
    total: int
    paused: int
    missed: int
    next_at: str | None


class SearchMapping(TypedDict):
    """
    How a server of provider http_json is asked and read
    """

    query: NotRequired[str]
    count: NotRequired[str | None]
    key_header: NotRequired[str]
    results: NotRequired[str]
    title: NotRequired[str]
    url: NotRequired[str]
    snippet: NotRequired[str]
    published_at: NotRequired[str | None]


class SecretPut(TypedDict):
    """
    The value and, optionally, what it is for
    """

    value: str
    description: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]


class SecretView(TypedDict):
    """
    Name and scope of a secret, without its value
    """

    id: str
    name: str
    scope: Literal['workspace', 'organization', 'platform']
    organization_id: str | None
    workspace_id: str | None
    description: str | None
    value_version: int
    updated_by_user_id: str | None
    last_used_at: str | None
    created_at: str
    updated_at: str


class ServiceKeyCreate(TypedDict):
    """
    A credential for a back end; its plaintext is in the reply and nowhere else
    """

    name: str
    role: NotRequired[Literal['viewer', 'member', 'admin']]
    scope: NotRequired[Literal['workspace', 'organization'] | None]
    workspace_id: NotRequired[str | None]
    scopes: NotRequired[list[Literal['runs:read', 'runs:write', 'agents:read', 'agents:write', 'skills:read', 'skills:write', 'tools:read', 'tools:write', 'knowledge:read', 'knowledge:write', 'triggers:read', 'triggers:write', 'channels:read', 'channels:write', 'organizations:read', 'organizations:write', 'billing:read', 'billing:write', 'alerts:read', 'alerts:write', 'attachments:read', 'attachments:write', 'reviews:read', 'reviews:write', 'evaluations:read', 'evaluations:write', 'feedback:read', 'feedback:write', 'mcp:read', 'mcp:write', '*:read', '*']]]
    expires_at: NotRequired[str | None]


class ServiceKeySecretView(TypedDict):
    """
    A new or rotated key with its plaintext
    """

    id: str
    organization_id: str
    workspace_id: str | None
    scope: Literal['workspace', 'organization']
    name: str
    role: Literal['viewer', 'member', 'admin']
    scopes: list[Scope2]
    prefix: str
    last4: str
    created_by_user_id: str
    created_at: str
    updated_at: str
    expires_at: str | None
    last_used_at: str | None
    rotated_at: str | None
    revoked_at: str | None
    is_active: bool
    plaintext: str


class ServiceKeyView(TypedDict):
    """
    A credential for a back end, without its plaintext
    """

    id: str
    organization_id: str
    workspace_id: str | None
    scope: Literal['workspace', 'organization']
    name: str
    role: Literal['viewer', 'member', 'admin']
    scopes: list[Scope2]
    prefix: str
    last4: str
    created_by_user_id: str
    created_at: str
    updated_at: str
    expires_at: str | None
    last_used_at: str | None
    rotated_at: str | None
    revoked_at: str | None
    is_active: bool


SessionId: TypeAlias = str


class SessionRevocationView(TypedDict):
    """
    The sessions that a revocation has ended
    """

    revoked_count: int
    session_ids: list[SessionId]


class SessionView(TypedDict):
    """
    A device family, or a connected app
    """

    id: str
    kind: Literal['login', 'oauth']
    client_id: str | None
    client_name: str | None
    device_label: str | None
    user_agent: str
    ip_truncated: str
    mfa_level: Literal['none', 'totp', 'recovery_code']
    verified_at: str
    created_at: str
    last_seen_at: str
    expires_at: str
    revoked_at: str | None
    current: bool


class SkillBinding(TypedDict):
    """
    A skill that the agent can load
    """

    id: NotRequired[str]
    slug: NotRequired[str]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    version: NotRequired[int | None]
    mode: NotRequired[Literal['on_demand', 'always']]


class SkillCreate(TypedDict):
    slug: str
    description: str
    instructions: str
    reference_docs: NotRequired[list[ReferenceDocInput]]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]
    owner_agent_id: NotRequired[str | None]
    owner_user_id: NotRequired[str | None]
    is_active: NotRequired[bool]


class SkillCurate(TypedDict):
    to: Literal['pending', 'reviewed', 'promoted', 'superseded', 'retired']
    version: int
    superseded_by: NotRequired[str | None]
    note: NotRequired[str | None]


class File(TypedDict):
    path: str
    content: str


class SkillImport(TypedDict):
    attachment_id: NotRequired[str | None]
    markdown: NotRequired[str | None]
    files: NotRequired[list[File]]
    slug: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]
    on_conflict: NotRequired[Literal['reject', 'new_version']]
    skip_unsupported: NotRequired[bool]


class SkillUpdate(TypedDict):
    description: NotRequired[str]
    instructions: NotRequired[str]
    reference_docs: NotRequired[list[ReferenceDocInput]]
    is_active: NotRequired[bool]


class SkillVersionView(TypedDict):
    """
    A skill at one of its versions
    """

    skill_id: str
    version: int
    description: str
    instructions: str
    reference_docs: list[ReferenceDoc]
    front_matter: dict[str, Any] | None
    content_hash: str
    origin: Literal['human', 'agent', 'import', 'derived']
    created_by: Actor
    created_at: str


class SkillView(TypedDict):
    """
    Curated text that agents load when they need it
    """

    id: str
    scope: Literal['workspace', 'organization', 'platform']
    organization_id: str | None
    workspace_id: str | None
    owner_agent_id: str | None
    owner_user_id: str | None
    slug: str
    description: str
    instructions: str
    reference_docs: list[ReferenceDoc]
    version: int
    curation_state: Literal['pending', 'reviewed', 'promoted', 'superseded', 'retired']
    origin: Literal['human', 'agent', 'import', 'derived']
    use_count: int
    last_used_at: str | None
    is_active: bool
    created_at: str
    updated_at: str


class SlackTarget(TypedDict):
    """
    An incoming webhook of Slack, whose URL is the value of the secret
    """

    kind: Literal['slack']
    secret_name: str


class StepError(TypedDict):
    code: str
    message: str
    retryable: bool
    reason: str | None


class StepRetry(TypedDict):
    """
    A try that failed, and why
    """

    attempt: int
    cause: Literal['worker_lost', 'upstream_error', 'rate_limited', 'timeout', 'shutdown']
    error_code: str | None
    at: str
    delay_ms: int


class StreamTokenView(TypedDict):
    """
    Opens one WebSocket for one run, once, within 60 s.
    """

    token: str
    run_id: str
    expires_at: str
    websocket_path: str
    protocol: Literal[2]


class SubAgentBinding(TypedDict):
    """
    An agent to which this agent can delegate
    """

    id: NotRequired[str]
    slug: NotRequired[str]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    revision: NotRequired[str]
    persona_slug: NotRequired[str | None]
    description: NotRequired[str | None]
    history: NotRequired[Literal['none', 'summary']]
    max_calls: NotRequired[int | None]
    max_cost: NotRequired[str | None]


class Subject(TypedDict):
    """
    For whom the agent works
    """

    kind: Literal['user', 'guest']
    id: str


class SubjectInput(TypedDict):
    """
    For whom the agent works
    """

    kind: Literal['user', 'guest']
    id: str


class SubjectTemplate(TypedDict):
    """
    For whom runs work
    """

    kind: Literal['user', 'guest']
    id: str


class Queue(TypedDict):
    name: str
    backlog: int | None
    oldest_age_s: int | None
    pollers: int | None


Queue1: TypeAlias = str


class Worker(TypedDict):
    identity: str
    build_id: str
    queues: list[Queue1]
    last_seen_at: str


class Problem(TypedDict):
    part: str
    message: str


class TagNumbers(TypedDict):
    """
    The items with one tag
    """

    n: int
    pass_rate: float | None
    pass_ci: list[float] | None


class TemporalStatus(TypedDict):
    latency_ms: int


class TextBlock(TypedDict):
    """
    Text from a person or the model
    """

    type: Literal['text', 'reasoning_summary', 'refusal']
    text: str


class Tokens(TypedDict):
    """
    Disjoint buckets
    """

    input: int
    output: int
    cached_read: int
    cached_write: int
    reasoning: int


class ToolBinding(TypedDict):
    """
    A tool that the agent can call; preset arguments are fixed by the author and hidden from the model
    """

    id: NotRequired[str]
    slug: NotRequired[str]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    approval: NotRequired[Literal['default', 'always', 'never', 'first']]
    max_calls: NotRequired[int | None]
    timeout_s: NotRequired[int | None]
    preset: NotRequired[dict[str, Any]]
    description: NotRequired[str | None]


SecretsRequiredItem: TypeAlias = str


class ToolCreateBuiltin(TypedDict):
    """
    A tool that runs inside the platform
    """

    slug: str
    kind: Literal['builtin']
    display_name: NotRequired[str | None]
    description: str
    input_schema: NotRequired[dict[str, Any]]
    config: NotRequired[BuiltinToolConfig | dict[str, Any]]
    secrets_required: NotRequired[list[SecretsRequiredItem]]
    effect: NotRequired[Literal['read', 'write']]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]
    critical: NotRequired[bool]
    client_owned: NotRequired[bool]
    response_max_chars: NotRequired[int]
    timeout_s: NotRequired[int]
    is_active: NotRequired[bool]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]


class ToolCreateCodeExec(TypedDict):
    """
    Code in a sandbox without network, files or secrets
    """

    slug: str
    kind: Literal['code_exec']
    display_name: NotRequired[str | None]
    description: str
    input_schema: NotRequired[dict[str, Any]]
    config: NotRequired[CodeExecToolConfig | dict[str, Any]]
    secrets_required: NotRequired[list[SecretsRequiredItem]]
    effect: NotRequired[Literal['read', 'write']]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]
    critical: NotRequired[bool]
    client_owned: NotRequired[bool]
    response_max_chars: NotRequired[int]
    timeout_s: NotRequired[int]
    is_active: NotRequired[bool]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]


class ToolCreateDelegate(TypedDict):
    """
    The agent that is called, and what it gets
    """

    slug: str
    kind: Literal['delegate']
    display_name: NotRequired[str | None]
    description: str
    input_schema: NotRequired[dict[str, Any]]
    config: NotRequired[DelegateToolConfig | dict[str, Any]]
    secrets_required: NotRequired[list[SecretsRequiredItem]]
    effect: NotRequired[Literal['read', 'write']]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]
    critical: NotRequired[bool]
    client_owned: NotRequired[bool]
    response_max_chars: NotRequired[int]
    timeout_s: NotRequired[int]
    is_active: NotRequired[bool]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]


class ToolCreateHttp(TypedDict):
    """
    One HTTP request; templates read args
    """

    slug: str
    kind: Literal['http']
    display_name: NotRequired[str | None]
    description: str
    input_schema: NotRequired[dict[str, Any]]
    config: NotRequired[HttpToolConfig | dict[str, Any]]
    secrets_required: NotRequired[list[SecretsRequiredItem]]
    effect: NotRequired[Literal['read', 'write']]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]
    critical: NotRequired[bool]
    client_owned: NotRequired[bool]
    response_max_chars: NotRequired[int]
    timeout_s: NotRequired[int]
    is_active: NotRequired[bool]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]


class ToolCreateSchedule(TypedDict):
    """
    What an agent can schedule for itself or another agent
    """

    slug: str
    kind: Literal['schedule']
    display_name: NotRequired[str | None]
    description: str
    input_schema: NotRequired[dict[str, Any]]
    config: NotRequired[ScheduleToolConfig]
    secrets_required: NotRequired[list[SecretsRequiredItem]]
    effect: NotRequired[Literal['read', 'write']]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]
    critical: NotRequired[bool]
    client_owned: NotRequired[bool]
    response_max_chars: NotRequired[int]
    timeout_s: NotRequired[int]
    is_active: NotRequired[bool]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]


class ToolResultInput(TypedDict):
    """
    The result of one call executed by a client
    """

    tool_call_id: str
    status: Literal['succeeded', 'failed']
    output: NotRequired[Any]
    message: NotRequired[str | None]


class ToolSecretsPut(TypedDict):
    """
    New values for some of the tool’s secrets; the others are kept
    """

    values: dict[str, str]


class ToolTest(TypedDict):
    """
    One call, as a model would make it
    """

    arguments: dict[str, Any]
    dry_run: NotRequired[bool]


class Error1(TypedDict):
    """
    Why the call failed; null when it succeeded
    """

    code: str
    message: str
    retryable: bool


class Request(TypedDict):
    """
    The request as it was, or would be, sent; null if there was none
    """

    method: str
    url: str
    headers: dict[str, str]


class ToolTestView(TypedDict):
    """
    The result of a test; secrets only appear by name
    """

    status: Literal['succeeded', 'failed', 'timed_out']
    output: Any
    output_type: Literal['text', 'json']
    truncated: bool
    total_chars: int
    error: Error1 | None
    request: Request | None
    duration_ms: int


class ToolUpdate(TypedDict):
    display_name: NotRequired[str | None]
    description: NotRequired[str]
    input_schema: NotRequired[dict[str, Any]]
    config: NotRequired[dict[str, Any]]
    secrets_required: NotRequired[list[SecretsRequiredItem]]
    effect: NotRequired[Literal['read', 'write']]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]
    critical: NotRequired[bool]
    client_owned: NotRequired[bool]
    response_max_chars: NotRequired[int]
    timeout_s: NotRequired[int]
    is_active: NotRequired[bool]


class ToolView(TypedDict):
    """
    A tool that agents can call; secrets only appear by name
    """

    id: str
    scope: Literal['workspace', 'organization', 'platform']
    organization_id: str | None
    workspace_id: str | None
    slug: str
    kind: Literal['http', 'remote_protocol', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule']
    display_name: str | None
    description: str
    input_schema: dict[str, Any]
    config: dict[str, Any]
    secrets_required: list[SecretsRequiredItem]
    concurrency: Literal['read', 'write', 'exclusive']
    effect: Literal['read', 'write']
    critical: bool
    client_owned: bool
    response_max_chars: int
    timeout_s: int
    is_active: bool
    created_at: str
    updated_at: str


class ToolkitBinding(TypedDict):
    """
    The tools of a toolkit that the agent can call
    """

    id: NotRequired[str]
    slug: NotRequired[str]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    revision: NotRequired[str]
    include: NotRequired[list[IncludeItem]]
    exclude: NotRequired[list[ExcludeItem]]
    approval: NotRequired[Literal['default', 'always', 'never', 'first']]


class ToolkitCreateManual(TypedDict):
    """
    Empty: each tool has its own config
    """

    slug: str
    name: str
    description: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]
    kind: Literal['manual']
    config: ManualToolkitConfig
    secrets_required: NotRequired[list[SecretsRequiredItem]]


class ToolkitCreateMcp(TypedDict):
    """
    Where an MCP server is and how it is reached
    """

    slug: str
    name: str
    description: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]
    kind: Literal['mcp']
    config: McpToolkitConfig
    secrets_required: NotRequired[list[SecretsRequiredItem]]


class ToolkitCreateOpenapi(TypedDict):
    """
    Where the API of a document is and how it is reached
    """

    slug: str
    name: str
    description: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]
    kind: Literal['openapi']
    config: OpenApiToolkitConfig
    secrets_required: NotRequired[list[SecretsRequiredItem]]


ApproveItem: TypeAlias = str


class Overrides(TypedDict):
    effect: NotRequired[Literal['read', 'write']]
    critical: NotRequired[bool]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]
    idempotent: NotRequired[bool]
    timeout_s: NotRequired[int]
    response_max_chars: NotRequired[int]


class ToolkitRevisionActivate(TypedDict):
    approve: Literal['all'] | list[ApproveItem]
    overrides: NotRequired[dict[str, Overrides]]


class ToolkitRevisionCreate(TypedDict):
    """
    A new revision of an OpenAPI or manual toolkit; it has no effect until it is activated
    """

    source: OpenApiSource | ManualSource
    note: NotRequired[str | None]


Field: TypeAlias = str


class DiffItem(TypedDict):
    name: str
    change: Literal['added', 'removed', 'changed', 'unchanged']
    fields: list[Field]


class Proposed(TypedDict):
    """
    How it will be treated unless the activation overrides it
    """

    effect: Literal['read', 'write']
    concurrency: Literal['read', 'write', 'exclusive']
    idempotent: bool


class Tool2(TypedDict):
    name: str
    title: str | None
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    hash: str
    proposed: Proposed


class LeftOutItem(TypedDict):
    name: str
    reason: str


class ToolkitRevisionView(TypedDict):
    """
    The tools of a toolkit from one sync, document or author
    """

    id: str
    toolkit_id: str
    number: int
    state: Literal['syncing', 'unchanged', 'inactive', 'failed', 'active', 'superseded']
    origin: Literal['sync', 'openapi', 'manual']
    diff: list[DiffItem]
    quarantined: list[QuarantinedItem]
    tools: NotRequired[list[Tool2]]
    left_out_count: int
    left_out: list[LeftOutItem]
    server: dict[str, Any] | None
    protocol_version: str | None
    error: str | None
    note: str | None
    created_by: Actor
    created_at: str
    activated_at: str | None


class ToolkitUpdate(TypedDict):
    """
    A config replaces the previous one as a whole
    """

    name: NotRequired[str]
    description: NotRequired[str | None]
    config: NotRequired[dict[str, Any]]
    secrets_required: NotRequired[list[SecretsRequiredItem]]
    is_active: NotRequired[bool]


class ToolkitView(TypedDict):
    """
    A versioned group of tools: from an MCP server, from an OpenAPI document, or created manually
    """

    id: str
    scope: Literal['workspace', 'organization', 'platform']
    organization_id: str | None
    workspace_id: str | None
    slug: str
    name: str
    description: str | None
    kind: Literal['mcp', 'openapi', 'manual']
    config: dict[str, Any]
    secrets_required: list[SecretsRequiredItem]
    active_revision_id: str | None
    latest_revision_number: int
    tool_count: int
    quarantined_count: int
    is_active: bool
    created_at: str
    updated_at: str


class TotpConfirmBody(TypedDict):
    code: str


class TotpEnrolmentView(TypedDict):
    """
    A second factor that is still to be confirmed
    """

    secret: str
    otpauth_uri: str
    expires_at: str


class UsageGroupView(TypedDict):
    """
    Usage of one group, with the keys it was grouped by
    """

    day: NotRequired[str]
    workspace_id: NotRequired[str]
    agent_id: NotRequired[str | None]
    model: NotRequired[str | None]
    kind: NotRequired[Literal['llm', 'embedding', 'rerank', 'tool', 'search', 'adjustment']]
    user_id: NotRequired[str | None]
    service_key_id: NotRequired[str | None]
    currency: str
    calls: int
    input_tokens: int
    cached_read_tokens: int
    cached_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: str
    estimated_cost: str


class UsageRecordView(TypedDict):
    """
    One call as recorded in the ledger, or a correction
    """

    id: str
    occurred_at: str
    organization_id: str
    workspace_id: str
    source_kind: Literal['run', 'evaluation', 'review', 'maintenance', 'search', 'tool_test', 'adjustment']
    source_id: str
    run_id: str | None
    agent_id: str | None
    agent_revision_id: str | None
    user_id: str | None
    service_key_id: str | None
    step: int | None
    attempt: int
    kind: Literal['llm', 'embedding', 'rerank', 'tool', 'search', 'adjustment']
    model: str | None
    provider: str | None
    tier: str | None
    provider_request_id: str | None
    input_tokens: int
    cached_read_tokens: int
    cached_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    units: str | None
    cost: str
    currency: str
    estimated: bool
    unpriced: bool


class UsageTotals(TypedDict):
    """
    Usage and cost
    """

    model_calls: int
    tokens: Tokens
    cost_amount: str
    currency: str
    estimated: bool


class UserCreate(TypedDict):
    email: str
    full_name: NotRequired[str | None]
    role: Literal['viewer', 'member', 'admin', 'owner', 'operator']
    scope: NotRequired[Literal['workspace', 'organization', 'platform']]
    workspace_id: NotRequired[str | None]
    password: NotRequired[str]


class UserRolePut(TypedDict):
    role: Literal['viewer', 'member', 'admin', 'owner', 'operator']
    scope: NotRequired[Literal['workspace', 'organization', 'platform']]
    workspace_id: NotRequired[str | None]


class UserTarget(TypedDict):
    """
    One person, by mail
    """

    kind: Literal['user']
    user_id: str


class UserUpdate(TypedDict):
    full_name: NotRequired[str | None]


class UserView(TypedDict):
    """
    A person who can sign in
    """

    id: str
    email: str
    full_name: str | None
    role: Literal['viewer', 'member', 'admin', 'owner', 'operator']
    scope: Literal['workspace', 'organization', 'platform']
    organization_id: str | None
    workspace_id: str | None
    is_active: bool
    mfa_enabled: bool
    last_login_at: str | None
    created_at: str
    updated_at: str


class Build(TypedDict):
    version: str
    commit: str | None
    built_at: str | None


class VersionView(TypedDict):
    """
    The running build
    """

    product: Literal['longhaul']
    contract_version: Literal['0.1.0']
    stream_protocol: int
    agent_import_schema_version: int
    build: Build


class ViolationParams(TypedDict):
    """
    Limits and allowed values
    """


class Voter(TypedDict):
    """
    Whose vote it is
    """

    kind: Literal['user', 'guest', 'service_key']
    id: str


AllowDomain: TypeAlias = str


DenyDomain: TypeAlias = str


class WebFetchToolConfig(TypedDict):
    """
    Which pages may be read, and how
    """

    allow_domains: NotRequired[list[AllowDomain]]
    deny_domains: NotRequired[list[DenyDomain]]
    max_bytes: NotRequired[int]
    format: NotRequired[Literal['markdown', 'text', 'raw']]
    robots: NotRequired[bool]
    cache_s: NotRequired[int]


IncludeDomain: TypeAlias = str


ExcludeDomain: TypeAlias = str


class WebSearchToolConfig(TypedDict):
    """
    Which search service is asked, and how
    """

    provider: Literal['searxng', 'brave', 'http_json']
    base_url: NotRequired[str | None]
    secret: NotRequired[str | None]
    max_results: NotRequired[int]
    include_domains: NotRequired[list[IncludeDomain]]
    exclude_domains: NotRequired[list[ExcludeDomain]]
    region: NotRequired[str | None]
    freshness: NotRequired[Literal['day', 'week', 'month', 'year'] | None]
    mapping: NotRequired[SearchMapping | None]


class Warning3(TypedDict):
    code: str
    field: str
    message: str


class Error2(TypedDict):
    """
    Why it started nothing; null if it started something
    """

    code: str
    reason: str | None


class Callback(TypedDict):
    """
    How the outcome of the run is delivered to the callback address; null if the run has not ended or there is no callback
    """

    status: Literal['pending', 'delivered', 'failed', 'stopped']
    attempts: int
    last_status: int | None
    next_attempt_at: str | None


class WebhookDeliveryView(TypedDict):
    """
    One request to an endpoint, and its outcome
    """

    id: str
    endpoint_id: str
    status: str
    method: Literal['POST', 'GET']
    verification_form: str | None
    delivery_key: str | None
    received_at: str
    occurred_at: str
    content_type: str | None
    body_bytes: int
    body_preview: str | None
    headers: dict[str, str]
    query: dict[str, str]
    run_id: str | None
    event_id: str | None
    group_id: str | None
    replay_of: str | None
    duplicate_count: int
    warnings: list[Warning3]
    error: Error2 | None
    response_status: int
    callback: Callback | None


class WebhookEndpointCreate(TypedDict):
    """
    A new endpoint; its method, verification, slug and agent cannot be changed later
    """

    workspace_id: NotRequired[str | None]
    agent_id: str
    slug: str
    http_method: NotRequired[Literal['POST', 'GET', 'PUT']]
    verification: NotRequired[Literal['hmac_sha256', 'shared_token', 'none']]
    secret: NotRequired[str]
    prompt_template: NotRequired[str]
    input_template: NotRequired[dict[str, Any] | None]
    session_key_template: NotRequired[str | None]
    persona_slug_template: NotRequired[str | None]
    subject_template: NotRequired[SubjectTemplate | None]
    response_path: NotRequired[str | None]
    callback_url: NotRequired[str | None]
    response_mode: NotRequired[Literal['async', 'sync', 'callback', 'ack']]
    event_kind: NotRequired[str | None]
    rate_limit_per_minute: NotRequired[int]
    coalescing: NotRequired[CoalescingConfig]
    unverified_ack: NotRequired[bool]
    is_active: NotRequired[bool]


class WebhookEndpointSecretView(TypedDict):
    """
    An endpoint with its new secret
    """

    id: str
    agent_id: str
    slug: str
    http_method: Literal['POST', 'GET', 'PUT']
    verification: Literal['hmac_sha256', 'shared_token', 'none']
    secret_set: bool
    rotation_active: bool
    secret_overlap_until: str | None
    prompt_template: str
    input_template: dict[str, Any] | None
    session_key_template: str | None
    persona_slug_template: str | None
    subject_template: SubjectTemplate | None
    response_mode: Literal['async', 'sync', 'callback', 'ack']
    response_path: str | None
    callback_url: str | None
    event_kind: str | None
    rate_limit_per_minute: int
    coalescing: CoalescingConfig
    unverified_ack: bool
    call_count: int
    is_active: bool
    created_at: str
    secret: str | None


class WebhookEndpointUpdate(TypedDict):
    """
    The fields that are sent are changed, the rest is kept; null resets a field to its default
    """

    prompt_template: NotRequired[str | None]
    input_template: NotRequired[dict[str, Any] | None]
    session_key_template: NotRequired[str | None]
    persona_slug_template: NotRequired[str | None]
    subject_template: NotRequired[SubjectTemplate | None]
    response_path: NotRequired[str | None]
    callback_url: NotRequired[str | None]
    response_mode: NotRequired[Literal['async', 'sync', 'callback', 'ack'] | None]
    rate_limit_per_minute: NotRequired[int | None]
    coalescing: NotRequired[CoalescingConfig | None]
    is_active: NotRequired[bool | None]


class WebhookEndpointView(TypedDict):
    """
    An address at which another system starts runs of an agent, without its secret
    """

    id: str
    agent_id: str
    slug: str
    http_method: Literal['POST', 'GET', 'PUT']
    verification: Literal['hmac_sha256', 'shared_token', 'none']
    secret_set: bool
    rotation_active: bool
    secret_overlap_until: str | None
    prompt_template: str
    input_template: dict[str, Any] | None
    session_key_template: str | None
    persona_slug_template: str | None
    subject_template: SubjectTemplate | None
    response_mode: Literal['async', 'sync', 'callback', 'ack']
    response_path: str | None
    callback_url: str | None
    event_kind: str | None
    rate_limit_per_minute: int
    coalescing: CoalescingConfig
    unverified_ack: bool
    call_count: int
    is_active: bool
    created_at: str


class WebhookSecretRotate(TypedDict):
    """
    How to replace the secret
    """

    overlap_seconds: NotRequired[int]
    secret: NotRequired[str]


class WebhookTarget(TypedDict):
    """
    A POST request, signed with the secret
    """

    kind: Literal['webhook']
    url: str
    secret_name: str


class WebhookTest(TypedDict):
    """
    A delivery as the sender would send it
    """

    method: NotRequired[Literal['POST', 'GET']]
    headers: NotRequired[dict[str, str]]
    query: NotRequired[dict[str, str]]
    body: NotRequired[Any]
    raw_body: NotRequired[str]


class Verification(TypedDict):
    """
    The result of verification
    """

    form: str | None
    result: Literal['valid', 'invalid', 'missing', 'skipped']


class Subject1(TypedDict):
    """
    The subject of the run; null: none
    """

    kind: Literal['user', 'guest']
    id: str


class WebhookTestView(TypedDict):
    """
    How the endpoint would handle the delivery
    """

    verification: Verification
    prompt: str
    input: dict[str, Any] | None
    session_key: str | None
    persona_slug: str | None
    subject: Subject1 | None
    coalesce_key: str | None
    duplicate_of: str | None
    would_start: bool
    refusal: str | None
    warnings: list[Warning3]


class WorkspaceCreate(TypedDict):
    """
    If omitted, the slug is derived from the name, the time zone is the organization's, and the currency is USD
    """

    name: str
    slug: NotRequired[str]
    description: NotRequired[str | None]
    timezone: NotRequired[str]
    currency: NotRequired[str]


class WorkspaceMemberPut(TypedDict):
    role: Literal['viewer', 'member', 'admin', 'owner']


class WorkspaceMemberView(TypedDict):
    """
    A user who can work in a workspace
    """

    workspace_id: str
    user_id: str
    email: str
    full_name: str | None
    role: Literal['viewer', 'member', 'admin', 'owner']
    home_role: Literal['viewer', 'member', 'admin', 'owner']
    source: Literal['home', 'grant', 'organization']
    is_active: bool
    granted_by_user_id: str | None
    granted_at: str | None


class WorkspaceUpdate(TypedDict):
    name: NotRequired[str]
    slug: NotRequired[str]
    description: NotRequired[str | None]
    timezone: NotRequired[str]
    currency: NotRequired[str]


class WorkspaceView(TypedDict):
    """
    A part of an organization with its own agents, runs and members
    """

    id: str
    organization_id: str
    slug: str
    name: str
    description: str | None
    timezone: str
    currency: str
    is_active: bool
    archived_at: str | None
    created_at: str
    updated_at: str


class Subject2(TypedDict):
    kind: Literal['user', 'guest']
    id: str | None


class Limits3(TypedDict):
    max_steps: int
    max_duration_s: int
    max_output_tokens: int | None
    max_cost: str | None
    max_children: int
    max_depth: int
    approval_ttl_s: int
    on_expiry: Literal['deny', 'fail']
    on_budget: Literal['fail', 'wait']


class RunStartedData(TypedDict):
    """
    The run has begun: its description and its limits.
    """

    agent_id: str
    agent_revision_id: str
    persona_slug: str | None
    session_key: str | None
    subject: Subject2 | None
    trigger_id: str | None
    tool_call_id: str | None
    source: Literal['api', 'webhook', 'schedule', 'event', 'channel', 'code_review', 'evaluation', 'sub_agent', 'mcp']
    input_summary: str
    depth: int
    protocol: Literal[2]
    limits: Limits3


PathItem: TypeAlias = str


class RunStartedFrame(TypedDict):
    """
    The run has begun: its description and its limits.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['run.started']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: RunStartedData


class Retry(TypedDict):
    cause: Literal['worker_lost', 'upstream_error', 'rate_limited', 'timeout', 'shutdown']
    error_code: str | None
    delay_ms: int


class RunStatusData(TypedDict):
    """
    A change of the run’s state or its position in the queue, or a new attempt, which discards the messages it names.
    """

    status: Literal['queued', 'running', 'waiting', 'cancelling', 'succeeded', 'failed', 'cancelled']
    previous: Literal['queued', 'running', 'waiting', 'cancelling', 'succeeded', 'failed', 'cancelled'] | None
    waiting_on: Literal['approval', 'input', 'client_tool', 'auth', 'budget', 'timer'] | None
    waiting_until: str | None
    queue_position: int | None
    reason: str | None
    attempt: int
    retry: Retry | None
    discarded_message_ids: list[str]


class RunStatusFrame(TypedDict):
    """
    A change of the run’s state or its position in the queue, or a new attempt, which discards the messages it names.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['run.status']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: RunStatusData


class MessageDeltaData(TypedDict):
    """
    A part of an answer as it is written; advisory: message.completed repeats the whole message.
    """

    message_id: str
    role: Literal['assistant']
    step: int
    index: int
    block: Literal['text', 'refusal', 'json']
    delta: str
    offset: int


class MessageDeltaFrame(TypedDict):
    """
    A part of an answer as it is written; advisory: message.completed repeats the whole message.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['message.delta']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: MessageDeltaData


class ReasoningDeltaData(TypedDict):
    """
    A part of the model’s reasoning; advisory.
    """

    message_id: str
    step: int
    index: int
    offset: int
    delta: str
    kind: Literal['summary', 'full']


class ReasoningDeltaFrame(TypedDict):
    """
    A part of the model’s reasoning; advisory.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['reasoning.delta']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: ReasoningDeltaData


class Content(TypedDict):
    type: Literal['text', 'reasoning_summary', 'refusal']
    text: str


class Content1(TypedDict):
    type: Literal['json']
    value: Any


class Content2(TypedDict):
    type: Literal['citation']
    item_id: str | None
    title: str
    quote: str
    url: str | None


class Content3(TypedDict):
    type: Literal['attachment']
    attachment_id: str
    media_type: str
    name: str
    bytes: int


class MessageCompletedData(TypedDict):
    """
    A complete message from the user, the assistant or the system.
    """

    message_id: str
    role: Literal['user', 'assistant', 'system']
    step: int | None
    model: str | None
    stop_reason: Literal['stop', 'tool_calls', 'max_output', 'refused', 'cancelled', 'error'] | None
    content: list[Content | Content1 | Content2 | Content3]
    tool_call_ids: list[str]
    origin: Literal['model', 'user', 'system', 'injected']
    truncated: bool
    ref: str | None


class MessageCompletedFrame(TypedDict):
    """
    A complete message from the user, the assistant or the system.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['message.completed']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: MessageCompletedData


class Progress(TypedDict):
    pct: int | None
    text: str | None


class ToolCallData(TypedDict):
    """
    A tool call: started, args_delta and progress are advisory, ready contains the complete arguments, executing contains its deadline.
    """

    tool_call_id: str
    message_id: str
    tool_id: str | None
    slug: str
    kind: Literal['http', 'remote_protocol', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule'] | None
    effect: Literal['read', 'write']
    critical: bool
    client_owned: bool
    phase: Literal['started', 'args_delta', 'ready', 'executing', 'progress']
    args_delta: NotRequired[str]
    args: NotRequired[dict[str, Any]]
    args_hash: NotRequired[str]
    deadline_at: NotRequired[str]
    progress: NotRequired[Progress]


class ToolCallFrame(TypedDict):
    """
    A tool call: started, args_delta and progress are advisory, ready contains the complete arguments, executing contains its deadline.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['tool.call']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: ToolCallData


class Error3(TypedDict):
    code: str
    message: str
    retryable: bool
    reason: str | None


class ToolResultData(TypedDict):
    """
    The end of a tool call.
    """

    tool_call_id: str
    status: Literal['succeeded', 'failed', 'denied', 'timed_out', 'cancelled']
    output: Any
    output_type: Literal['text', 'json', 'attachment']
    truncated: bool
    cached: bool
    total_chars: int | None
    ref: str | None
    error: Error3 | None
    duration_ms: int | None


class ToolResultFrame(TypedDict):
    """
    The end of a tool call.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['tool.result']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: ToolResultData


class ApprovalRequestedData(TypedDict):
    """
    A question to people, with everything that is needed to decide.
    """

    approval_id: str
    tool_call_id: str | None
    reason: Literal['tool_call', 'input_required', 'confirmation', 'budget', 'auth']
    prompt: str
    args: dict[str, Any] | None
    args_hash: str | None
    response_schema: dict[str, Any] | None
    decisions: list[Literal['approve', 'reject', 'edit', 'respond']]
    approver_floor: Literal['member', 'admin']
    expires_at: str
    on_expiry: Literal['deny', 'fail']


class ApprovalRequestedFrame(TypedDict):
    """
    A question to people, with everything that is needed to decide.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['approval.requested']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: ApprovalRequestedData


class ResolvedBy(TypedDict):
    kind: str
    id: str | None


class ApprovalResolvedData(TypedDict):
    """
    Its answer, expiry or withdrawal.
    """

    approval_id: str
    decision: Literal['approved', 'rejected', 'edited', 'responded', 'expired', 'cancelled']
    edited_args: dict[str, Any] | None
    response: Any
    comment: str | None
    resolved_by: ResolvedBy | None
    resolved_at: str


class ApprovalResolvedFrame(TypedDict):
    """
    Its answer, expiry or withdrawal.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['approval.resolved']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: ApprovalResolvedData


class Tokens1(TypedDict):
    input: int
    output: int
    cached_read: int
    cached_write: int
    reasoning: int


class Usage(TypedDict):
    model_calls: int
    tokens: Tokens1
    cost_amount: str
    currency: str
    estimated: bool


class SubAgentData(TypedDict):
    """
    A child run begins, waits or ends; its own frames are copied with origin_seq.
    """

    child_run_id: str
    tool_call_id: str
    agent_id: str
    agent_revision_id: str
    phase: Literal['started', 'waiting', 'finished']
    status: Literal['queued', 'running', 'waiting', 'cancelling', 'succeeded', 'failed', 'cancelled']
    summary: str | None
    usage: Usage | None


class SubAgentFrame(TypedDict):
    """
    A child run begins, waits or ends; its own frames are copied with origin_seq.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['sub_agent']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: SubAgentData


class Cost(TypedDict):
    amount: str
    currency: str
    estimated: bool


class OwnTotal(TypedDict):
    model_calls: int
    tokens: Tokens1
    cost_amount: str
    currency: str
    estimated: bool


class SubtreeTotal(TypedDict):
    model_calls: int
    tokens: Tokens1
    cost_amount: str
    currency: str
    estimated: bool


class Budget(TypedDict):
    period: str
    limit: str
    spent: str
    reserved: str
    pct: float
    threshold_crossed: bool


class UsageData(TypedDict):
    """
    Tokens and cost of one model call, with the totals.
    """

    step: int
    model: str
    provider: str
    tokens: Tokens1
    cost: Cost
    own_total: OwnTotal
    subtree_total: SubtreeTotal
    budget: Budget | None


class UsageFrame(TypedDict):
    """
    Tokens and cost of one model call, with the totals.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['usage']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: UsageData


class ErrorData(TypedDict):
    """
    An error after which the run continues (as an event: run.error). With seq null, a notice for this connection only.
    """

    code: Literal['malformed_request', 'oauth_request_invalid', 'unauthenticated', 'credential_invalid', 'token_expired', 'login_failed', 'mfa_required', 'mfa_code_invalid', 'session_revoked', 'refresh_reuse_detected', 'stream_token_invalid', 'stream_token_used', 'signature_invalid', 'budget_exceeded', 'role_insufficient', 'scope_insufficient', 'resource_forbidden', 'registration_disabled', 'not_found', 'method_not_allowed', 'already_exists', 'state_conflict', 'idempotency_in_progress', 'refresh_superseded', 'gone', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'validation_failed', 'cursor_invalid', 'idempotency_key_mismatch', 'resource_frozen', 'precondition_required', 'rate_limited', 'internal_error', 'upstream_failed', 'service_unavailable', 'upstream_timeout']
    message: str
    retryable: bool
    fatal: bool
    source: Literal['model', 'tool', 'mcp', 'knowledge', 'policy', 'stream']
    detail_ref: str | None
    resume_after_seq: NotRequired[int]
    problem: NotRequired[dict[str, Any]]


class ErrorFrame(TypedDict):
    """
    An error after which the run continues (as an event: run.error). With seq null, a notice for this connection only.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['error']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: ErrorData


class Attachment(TypedDict):
    attachment_id: str
    media_type: str
    name: str
    bytes: int


class Output2(TypedDict):
    text: str | None
    json: Any
    attachments: list[Attachment]
    truncated: bool


class Error4(TypedDict):
    code: Literal['malformed_request', 'oauth_request_invalid', 'unauthenticated', 'credential_invalid', 'token_expired', 'login_failed', 'mfa_required', 'mfa_code_invalid', 'session_revoked', 'refresh_reuse_detected', 'stream_token_invalid', 'stream_token_used', 'signature_invalid', 'budget_exceeded', 'role_insufficient', 'scope_insufficient', 'resource_forbidden', 'registration_disabled', 'not_found', 'method_not_allowed', 'already_exists', 'state_conflict', 'idempotency_in_progress', 'refresh_superseded', 'gone', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'validation_failed', 'cursor_invalid', 'idempotency_key_mismatch', 'resource_frozen', 'precondition_required', 'rate_limited', 'internal_error', 'upstream_failed', 'service_unavailable', 'upstream_timeout']
    message: str
    retryable: bool
    reason: str | None


class Own(TypedDict):
    model_calls: int
    tokens: Tokens1
    cost_amount: str
    currency: str
    estimated: bool


class Subtree(TypedDict):
    model_calls: int
    tokens: Tokens1
    cost_amount: str
    currency: str
    estimated: bool


class Usage1(TypedDict):
    own: Own
    subtree: Subtree


class RunFinishedData(TypedDict):
    """
    The last frame of the stream.
    """

    status: Literal['succeeded', 'failed', 'cancelled']
    finish_reason: Literal['stop', 'max_steps', 'max_output', 'timeout', 'budget_exceeded', 'cancelled', 'superseded', 'approval_expired', 'refused', 'error']
    output: Output2 | None
    error: Error4 | None
    usage: Usage1
    started_at: str | None
    finished_at: str
    steps: int
    last_seq: int


class RunFinishedFrame(TypedDict):
    """
    The last frame of the stream.
    """

    v: Literal[2]
    seq: int | None
    origin_seq: NotRequired[int]
    type: Literal['run.finished']
    ts: str
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    path: list[PathItem]
    attempt: int
    data: RunFinishedData


Frame: TypeAlias = RunStartedFrame | RunStatusFrame | MessageDeltaFrame | ReasoningDeltaFrame | MessageCompletedFrame | ToolCallFrame | ToolResultFrame | ApprovalRequestedFrame | ApprovalResolvedFrame | SubAgentFrame | UsageFrame | ErrorFrame | RunFinishedFrame


class CloseCode(TypedDict):
    code: int
    name: str
    retryable: bool
    when: str


class Resume(TypedDict):
    """
    How to resume after the last frame
    """

    header: str
    parameter: str


class StreamProtocolFrame(TypedDict):
    type: Literal['run.started', 'run.status', 'message.delta', 'reasoning.delta', 'message.completed', 'tool.call', 'tool.result', 'approval.requested', 'approval.resolved', 'sub_agent', 'usage', 'error', 'run.finished']
    description: str
    schema: dict[str, Any]


class AlertDelivery(TypedDict):
    """
    One notice to one receiver, and its outcome
    """

    id: str
    seq: int
    event: Literal['firing', 'escalated', 'repeated', 'resolved', 'test']
    target: AlertDeliveryTarget
    status: Literal['queued', 'sent', 'failed', 'dead']
    attempts: int
    last_status: int | None
    last_error: str | None
    next_attempt_at: str | None
    sent_at: str | None


Targets: TypeAlias = AdminsTarget | UserTarget | WebhookTarget | SlackTarget


class AlertRuleCreate(TypedDict):
    """
    A new rule; without targets it notifies the admins
    """

    name: str
    kind: Literal['spend', 'run_failures', 'run_failure_pct', 'run_duration_p95', 'runs_waiting', 'delivery_failures', 'schedule_missed', 'unpriced_usage']
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]
    operator: Literal['gt', 'gte', 'lt', 'lte']
    threshold: float | str
    targets: NotRequired[list[Targets]]
    agent_id: NotRequired[str | None]
    group_by: NotRequired[Literal['none', 'workspace', 'agent']]
    warning_threshold: NotRequired[float | str | None]
    window_s: NotRequired[int]
    for_s: NotRequired[int]
    keep_firing_s: NotRequired[int]
    repeat_interval_s: NotRequired[int]
    no_data_mode: NotRequired[Literal['ok', 'keep', 'alert']]
    is_active: NotRequired[bool]


class AlertRuleUpdate(TypedDict):
    """
    The fields that are sent are changed, the rest is kept
    """

    name: NotRequired[str]
    operator: NotRequired[Literal['gt', 'gte', 'lt', 'lte']]
    threshold: NotRequired[float | str]
    targets: NotRequired[list[Targets]]
    agent_id: NotRequired[str | None]
    group_by: NotRequired[Literal['none', 'workspace', 'agent']]
    warning_threshold: NotRequired[float | str | None]
    window_s: NotRequired[int]
    for_s: NotRequired[int]
    keep_firing_s: NotRequired[int]
    repeat_interval_s: NotRequired[int]
    no_data_mode: NotRequired[Literal['ok', 'keep', 'alert']]
    is_active: NotRequired[bool]


class AlertRuleView(TypedDict):
    """
    What is watched, when it becomes an alert, and who is notified
    """

    id: str
    name: str
    kind: Literal['spend', 'run_failures', 'run_failure_pct', 'run_duration_p95', 'runs_waiting', 'delivery_failures', 'schedule_missed', 'unpriced_usage', 'budget']
    scope: Literal['workspace', 'organization', 'platform']
    organization_id: str
    workspace_id: str | None
    agent_id: str | None
    group_by: Literal['none', 'workspace', 'agent']
    operator: Literal['gt', 'gte', 'lt', 'lte']
    threshold: str
    warning_threshold: str | None
    window_s: int
    for_s: int
    keep_firing_s: int
    repeat_interval_s: int
    no_data_mode: Literal['ok', 'keep', 'alert']
    targets: list[Targets]
    is_active: bool
    managed: bool
    budget_id: str | None
    state: Literal['unknown', 'ok', 'pending', 'firing', 'no_data']
    last_evaluated_at: str | None
    created_at: str
    updated_at: str


class AlertView(TypedDict):
    """
    One incident, from its first breach to its end
    """

    id: str
    rule_id: str
    rule_name: str
    kind: Literal['spend', 'run_failures', 'run_failure_pct', 'run_duration_p95', 'runs_waiting', 'delivery_failures', 'schedule_missed', 'unpriced_usage', 'budget']
    managed: bool
    organization_id: str
    workspace_id: str | None
    labels: dict[str, str]
    status: Literal['firing', 'no_data', 'resolved']
    severity: Literal['warning', 'critical']
    title: str
    value: str | None
    threshold: str | None
    opened_at: str
    last_seen_at: str
    acknowledged_at: str | None
    acknowledged_by_user_id: str | None
    snoozed_until: str | None
    resolved_at: str | None
    resolved_by_user_id: str | None
    resolution: Literal['recovered', 'manual', 'window_ended', 'budget_changed', 'rule_changed'] | None
    updated_at: str
    transitions: NotRequired[list[AlertTransition]]
    deliveries: NotRequired[list[AlertDelivery]]


ContentBlock: TypeAlias = TextBlock | JsonBlock | CitationBlock | AttachmentBlock


class EffectiveModel(TypedDict):
    id: str
    provider: str
    capabilities: ModelCapabilities
    context_window: int


class EvaluationComparison(TypedDict):
    """
    Against the baseline
    """

    evaluation_run_id: str
    paired_n: int
    unpaired: int
    delta: float | None
    ci: list[float] | None
    wins: int
    losses: int
    ties: int
    p_value: float
    test: Literal['mcnemar_exact']
    conclusion: Literal['better', 'worse', 'no_difference', 'not_enough_data']
    evaluators: dict[str, EvaluatorComparison]


class EvaluationItem(TypedDict):
    """
    One question
    """

    id: NotRequired[str]
    input: str | list[EvaluationMessage] | dict[str, Any]
    expected: NotRequired[Any]
    context: NotRequired[dict[str, Any] | None]
    tools_expected: NotRequired[list[ExpectedToolCall] | None]
    tags: NotRequired[list[Tag]]
    cluster: NotRequired[str | None]
    evaluators: NotRequired[list[Evaluator1] | None]


class EvaluationScore(TypedDict):
    """
    The result of one evaluator
    """

    key: str
    type: Literal['exact_match', 'contains', 'contains_any', 'contains_all', 'not_contains', 'regex', 'json_schema', 'json_diff', 'levenshtein', 'numeric_diff', 'embedding_similarity', 'llm_judge', 'pairwise', 'tool_trajectory', 'citations', 'latency', 'cost', 'tokens', 'turns']
    state: Literal['done', 'error', 'skipped']
    score: float | None
    passed: bool | None
    reason: str | None
    error: EvaluatorError | None
    details: dict[str, Any]


class EvaluationSummary(TypedDict):
    """
    The figures of an evaluation
    """

    final: bool
    failure: EvaluationFailure | None
    items: int
    completed: int
    errors: int
    results: int
    skipped: int
    pass_rate: float | None
    pass_ci: list[float] | None
    ci_method: Literal['wilson', 'cluster'] | None
    score_mean: float | None
    flip_rate: float | None
    evaluators: dict[str, EvaluatorNumbers]
    by_tag: dict[str, TagNumbers]
    latency_ms: LatencyNumbers
    cost: EvaluationCost
    tokens: EvaluationTokens
    baseline: EvaluationComparison | None
    dataset_sha256: str
    settings: dict[str, Any]
    metadata: dict[str, Any]
    results_truncated: bool
    results_attachment_id: str | None


Evaluator: TypeAlias = EvaluatorExactMatch | EvaluatorContains | EvaluatorContainsAny | EvaluatorContainsAll | EvaluatorNotContains | EvaluatorRegex | EvaluatorJsonSchema | EvaluatorJsonDiff | EvaluatorLevenshtein | EvaluatorNumericDiff | EvaluatorEmbeddingSimilarity | EvaluatorLlmJudge | EvaluatorPairwise | EvaluatorToolTrajectory | EvaluatorCitations | EvaluatorLatency | EvaluatorCost | EvaluatorTokens | EvaluatorTurns


class EventTriggerCreate(TypedDict):
    """
    A new event trigger
    """

    workspace_id: NotRequired[str | None]
    name: str
    agent_id: str
    event_kind: str
    prompt_template: str
    filter: NotRequired[dict[str, Any] | None]
    input_template: NotRequired[dict[str, Any] | None]
    session_key_template: NotRequired[str | None]
    persona_slug_template: NotRequired[str | None]
    subject_template: NotRequired[SubjectTemplate | None]
    coalescing: NotRequired[CoalescingConfig | None]
    max_depth: NotRequired[int]
    is_active: NotRequired[bool]


class EventTriggerUpdate(TypedDict):
    """
    The fields that are sent are changed, the rest is kept; null clears a field
    """

    name: NotRequired[str]
    agent_id: NotRequired[str]
    event_kind: NotRequired[str]
    prompt_template: NotRequired[str]
    filter: NotRequired[dict[str, Any] | None]
    input_template: NotRequired[dict[str, Any] | None]
    session_key_template: NotRequired[str | None]
    persona_slug_template: NotRequired[str | None]
    subject_template: NotRequired[SubjectTemplate | None]
    coalescing: NotRequired[CoalescingConfig | None]
    max_depth: NotRequired[int]
    is_active: NotRequired[bool]


class EventTriggerView(TypedDict):
    """
    Starts a run of an agent when an event happens
    """

    id: str
    name: str
    agent_id: str
    event_kind: str
    prompt_template: str
    filter: dict[str, Any] | None
    input_template: dict[str, Any] | None
    session_key_template: str | None
    persona_slug_template: str | None
    subject_template: SubjectTemplate | None
    coalescing: CoalescingConfig
    max_depth: int
    is_active: bool
    match_count: int
    created_by_user_id: str | None
    created_at: str
    updated_at: str


class FeedbackView(TypedDict):
    """
    One vote on a run
    """

    id: str
    run_id: str
    agent_id: str
    agent_revision_id: str | None
    subject: Voter
    rating: Literal['up', 'down']
    comment: str | None
    tags: list[Tag]
    correction: str | None
    created_at: str
    updated_at: str


class ImpersonationTokenView(TypedDict):
    """
    An impersonation with its token, which is shown only once and cannot be refreshed
    """

    impersonation: ImpersonationView
    access_token: str
    token_type: Literal['Bearer']
    expires_in: int


class KnowledgeBaseCreate(TypedDict):
    """
    A new, empty base
    """

    slug: str
    name: str
    kind: NotRequired[Literal['documents', 'memory', 'faq', 'playbook', 'code']]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]
    owner_agent_id: NotRequired[str | None]
    owner_persona_id: NotRequired[str | None]
    subject_kind: NotRequired[Literal['user', 'guest'] | None]
    subject_id: NotRequired[str | None]
    is_private: NotRequired[bool | None]
    embedding_model: NotRequired[str | None]
    chunking: NotRequired[KnowledgeChunkingInput]
    retrieval: NotRequired[KnowledgeRetrievalInput]


class KnowledgeBaseStatsView(TypedDict):
    """
    The contents of a base. Items, chunks and tokens only count live items
    """

    kb_id: str
    state: Literal['active', 'building', 'frozen', 'superseded']
    predecessor_id: str | None
    successor_id: str | None
    building_run_id: str | None
    chunking: KnowledgeChunking
    retrieval: KnowledgeRetrieval
    items: Items
    chunk_count: int
    token_count: int
    vectors: list[Vector]
    vector_index: VectorIndex
    sources: Sources


class KnowledgeBaseUpdate(TypedDict):
    """
    Changes to a base; omitted fields are kept
    """

    name: NotRequired[str]
    kind: NotRequired[Literal['documents', 'memory', 'faq', 'playbook', 'code']]
    is_private: NotRequired[bool]
    is_frozen: NotRequired[bool]
    embedding_model: NotRequired[str]
    chunking: NotRequired[KnowledgeChunkingInput]
    retrieval: NotRequired[KnowledgeRetrievalInput]


class KnowledgeGoldenQuery(TypedDict):
    """
    A question with known answers
    """

    query: str
    relevant: list[RelevantItem]
    filters: NotRequired[KnowledgeSearchFilters]


class KnowledgeHit(TypedDict):
    """
    A passage with its location
    """

    kb_id: str
    item_id: str
    chunk_id: str
    source_id: str | None
    title: str | None
    uri: str | None
    page: int | None
    quote: str
    char_start: int
    char_end: int
    score: float
    score_parts: KnowledgeScoreParts
    curation_state: Literal['pending', 'reviewed', 'promoted', 'superseded', 'retired']
    trust: Literal['untrusted', 'workspace', 'reviewed']
    valid_from: str | None
    valid_until: str | None
    superseded_by_id: str | None


class KnowledgeItemBatchView(TypedDict):
    """
    The outcome of each item of a batch, in order
    """

    created: int
    existing: int
    failed: int
    outcomes: list[KnowledgeItemOutcome]


class KnowledgeSearch(TypedDict):
    """
    What to search for in one base, and how
    """

    query: str
    mode: NotRequired[Literal['lexical', 'vector', 'hybrid']]
    top_k: NotRequired[int]
    min_score: NotRequired[float | None]
    filters: NotRequired[KnowledgeSearchFilters]
    valid_at: NotRequired[str | None]
    latest_only: NotRequired[bool]
    include_pending: NotRequired[bool]
    exact: NotRequired[bool]


class KnowledgeSearchAcross(TypedDict):
    """
    What to search for in several bases, and how
    """

    query: str
    mode: NotRequired[Literal['lexical', 'vector', 'hybrid']]
    top_k: NotRequired[int]
    min_score: NotRequired[float | None]
    filters: NotRequired[KnowledgeSearchFilters]
    valid_at: NotRequired[str | None]
    latest_only: NotRequired[bool]
    include_pending: NotRequired[bool]
    exact: NotRequired[bool]
    kb_ids: NotRequired[list[KbId]]


class KnowledgeSearchView(TypedDict):
    """
    Passages that answer a query, with citations
    """

    mode: Literal['lexical', 'vector', 'hybrid']
    hits: list[KnowledgeHit]
    searched_kb_ids: list[SearchedKbId]
    degraded: list[KnowledgeDegradedLeg]


class KnowledgeSourceView(TypedDict):
    """
    A file, a page or a text from which items are created
    """

    id: str
    kb_id: str
    kind: Literal['attachment', 'url', 'text']
    title: str | None
    uri: str | None
    attachment_id: str | None
    media_type: str | None
    content_hash: str | None
    extractor: str | None
    state: Literal['queued', 'fetching', 'parsing', 'indexing', 'ready', 'failed']
    item_count: int
    chunk_count: int
    token_count: int
    warnings: list[KnowledgeSourceWarning]
    error: KnowledgeSourceError | None
    run_id: str | None
    last_synced_at: str | None
    created_at: str
    updated_at: str


class LoginView(TypedDict):
    """
    The tokens of a new session, or a challenge for the second factor
    """

    mfa_required: bool
    access_token: str | None
    token_type: Literal['Bearer'] | None
    expires_in: int | None
    expires_at: str | None
    refresh_token: str | None
    refresh_expires_at: str | None
    session_id: str | None
    user: UserView | None
    challenge_id: str | None
    methods: list[Literal['totp', 'recovery_code']]
    challenge_expires_at: str | None


class MaintenancePolicyPut(TypedDict):
    """
    A complete policy: omitted fields take their defaults
    """

    schedule: NotRequired[str | None]
    timezone: NotRequired[str]
    tasks: NotRequired[list[Literal['verify', 'repair', 'dedupe', 'decay', 'contradictions', 'consolidate', 'evaluate_retrieval']]]
    duplicate_threshold: NotRequired[float]
    auto_merge: NotRequired[bool]
    stale_after_days: NotRequired[int]
    retention_days: NotRequired[int]
    max_pause_hours: NotRequired[int]
    judge_model: NotRequired[str | None]
    decay: NotRequired[KnowledgeDecay]
    allow_missing_embeddings: NotRequired[bool]
    golden_queries: NotRequired[list[KnowledgeGoldenQuery]]


class MaintenancePolicyView(TypedDict):
    """
    How a knowledge base is maintained
    """

    kb_id: str
    schedule: str | None
    timezone: str
    tasks: list[Literal['verify', 'repair', 'dedupe', 'decay', 'contradictions', 'consolidate', 'evaluate_retrieval']]
    duplicate_threshold: float
    auto_merge: bool
    stale_after_days: int
    retention_days: int
    max_pause_hours: int
    judge_model: str | None
    decay: KnowledgeDecay
    allow_missing_embeddings: bool
    golden_queries: list[KnowledgeGoldenQuery]
    updated_at: str | None


class McpAnswer(TypedDict):
    """
    The answer to a message of the Model Context Protocol
    """

    jsonrpc: Literal['2.0']
    id: str | float | None
    result: NotRequired[dict[str, Any]]
    error: NotRequired[McpError]


McpReply: TypeAlias = McpAnswer | list[McpAnswer]


class MeView(TypedDict):
    """
    Who is calling, as whom, and what they can see
    """

    principal_kind: Literal['user', 'service_key', 'oauth_client']
    user: UserView | None
    service_key_id: str | None
    client_id: str | None
    role: Literal['viewer', 'member', 'admin', 'owner', 'operator']
    scope: Literal['workspace', 'organization', 'platform']
    organization_id: str | None
    workspace_id: str | None
    workspace_ids: list[WorkspaceId]
    acting_user: UserView | None
    view: View | None
    session: SessionView | None
    scopes: list[Scope2] | None
    mfa: Mfa1 | None
    impersonation_id: str | None
    locale: str | None
    pending_email: str | None


class MessageView(TypedDict):
    """
    One complete message of a conversation
    """

    id: str
    run_id: str
    turn: int
    pos: int
    step: int | None
    role: Literal['user', 'assistant', 'tool', 'system']
    origin: Literal['user', 'model', 'system', 'injected']
    content: list[ContentBlock]
    tool_call_ids: list[ToolCallId]
    tool_calls: list[MessageToolCall]
    tool_call_id: str | None
    model: str | None
    stop_reason: Literal['stop', 'tool_calls', 'max_output', 'refused', 'cancelled', 'error'] | None
    state: Literal['pending', 'committed', 'discarded']
    created_at: str


class PageAlertRuleView(TypedDict):
    """
    A page of AlertRuleView
    """

    items: list[AlertRuleView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageAlertView(TypedDict):
    """
    A page of AlertView
    """

    items: list[AlertView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageEventTriggerView(TypedDict):
    """
    A page of EventTriggerView
    """

    items: list[EventTriggerView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageKnowledgeSourceView(TypedDict):
    """
    A page of KnowledgeSourceView
    """

    items: list[KnowledgeSourceView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageMessageView(TypedDict):
    """
    A page of MessageView
    """

    items: list[MessageView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PagePersonaView(TypedDict):
    """
    A page of PersonaView
    """

    items: list[PersonaView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PagePriceView(TypedDict):
    """
    A page of PriceView
    """

    items: list[PriceView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageScheduleOccurrenceView(TypedDict):
    """
    A page of ScheduleOccurrenceView
    """

    items: list[ScheduleOccurrenceView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageSecretView(TypedDict):
    """
    A page of SecretView
    """

    items: list[SecretView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageServiceKeyView(TypedDict):
    """
    A page of ServiceKeyView
    """

    items: list[ServiceKeyView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageSessionView(TypedDict):
    """
    A page of SessionView
    """

    items: list[SessionView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageSkillVersionView(TypedDict):
    """
    A page of SkillVersionView
    """

    items: list[SkillVersionView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageSkillView(TypedDict):
    """
    A page of SkillView
    """

    items: list[SkillView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageToolView(TypedDict):
    """
    A page of ToolView
    """

    items: list[ToolView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageToolkitRevisionView(TypedDict):
    """
    A page of ToolkitRevisionView
    """

    items: list[ToolkitRevisionView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageToolkitView(TypedDict):
    """
    A page of ToolkitView
    """

    items: list[ToolkitView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageUsageGroupView(TypedDict):
    """
    A page of UsageGroupView
    """

    items: list[UsageGroupView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageUsageRecordView(TypedDict):
    """
    A page of UsageRecordView
    """

    items: list[UsageRecordView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageUserView(TypedDict):
    """
    A page of UserView
    """

    items: list[UserView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageWebhookDeliveryView(TypedDict):
    """
    A page of WebhookDeliveryView
    """

    items: list[WebhookDeliveryView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageWebhookEndpointView(TypedDict):
    """
    A page of WebhookEndpointView
    """

    items: list[WebhookEndpointView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageWorkspaceMemberView(TypedDict):
    """
    A page of WorkspaceMemberView
    """

    items: list[WorkspaceMemberView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageWorkspaceView(TypedDict):
    """
    A page of WorkspaceView
    """

    items: list[WorkspaceView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class RepoBindingCreate(TypedDict):
    """
    A repository to bind; the installation must be proved to belong to the workspace
    """

    workspace_id: NotRequired[str | None]
    installation_id: int
    repo_full_name: str
    reviewer_agent_id: NotRequired[str | None]
    editor_agent_id: NotRequired[str | None]
    enabled_events: NotRequired[list[Literal['pull_request', 'pull_request.opened', 'pull_request.reopened', 'pull_request.ready_for_review', 'pull_request.synchronize', 'pull_request.edited', 'pull_request.labeled', 'pull_request.review_requested', 'check_run', 'check_run.rerequested', 'check_run.requested_action', 'check_suite', 'check_suite.rerequested', 'command', 'command.review', 'command.fix', 'command.ask', 'command.pause', 'command.resume', 'command.resolve', 'command.dismiss']]]
    review_config: NotRequired[ReviewConfigInput]
    editor_config: NotRequired[EditorConfigInput]
    budget_config: NotRequired[ReviewBudgetConfigInput]
    workspace_config: NotRequired[ReviewWorkspaceConfigInput]
    is_active: NotRequired[bool]


class RepoBindingUpdate(TypedDict):
    """
    The fields that are sent are changed, each configuration as a whole; the rest is kept
    """

    installation_id: NotRequired[int]
    reviewer_agent_id: NotRequired[str | None]
    editor_agent_id: NotRequired[str | None]
    enabled_events: NotRequired[list[Literal['pull_request', 'pull_request.opened', 'pull_request.reopened', 'pull_request.ready_for_review', 'pull_request.synchronize', 'pull_request.edited', 'pull_request.labeled', 'pull_request.review_requested', 'check_run', 'check_run.rerequested', 'check_run.requested_action', 'check_suite', 'check_suite.rerequested', 'command', 'command.review', 'command.fix', 'command.ask', 'command.pause', 'command.resume', 'command.resolve', 'command.dismiss']]]
    review_config: NotRequired[ReviewConfigInput]
    editor_config: NotRequired[EditorConfigInput]
    budget_config: NotRequired[ReviewBudgetConfigInput]
    workspace_config: NotRequired[ReviewWorkspaceConfigInput]
    is_active: NotRequired[bool]


class RepoBindingView(TypedDict):
    """
    A repository whose pull requests are reviewed by agents of a workspace
    """

    id: str
    installation_id: int
    repo_full_name: str
    reviewer_agent_id: str | None
    editor_agent_id: str | None
    enabled_events: list[RepoBindingEvent]
    review_config: ReviewConfig
    editor_config: EditorConfig
    budget_config: ReviewBudgetConfig
    workspace_config: ReviewWorkspaceConfig
    is_active: bool
    organization_id: str
    workspace_id: str
    created_at: str
    updated_at: str


class ReviewPlaybookCreate(TypedDict):
    """
    A new playbook; its revision 1 is active at once
    """

    slug: str
    name: str
    description: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]
    is_default: NotRequired[bool]
    is_active: NotRequired[bool]
    templates: NotRequired[ReviewTemplatesInput]


class ReviewPlaybookRevisionCreate(TypedDict):
    """
    Omitted templates are taken from the platform default
    """

    templates: ReviewTemplatesInput
    note: NotRequired[str | None]
    activate: NotRequired[bool]


class ReviewPlaybookRevisionView(TypedDict):
    """
    An immutable version of a playbook
    """

    id: str
    playbook_id: str
    revision_number: int
    templates: ReviewTemplates
    sha256: str
    is_active: bool
    note: str | None
    created_by_user_id: str | None
    created_at: str


class ReviewPlaybookView(TypedDict):
    """
    A playbook defines how pull requests are reviewed; includes the templates of its active revision
    """

    id: str
    slug: str
    name: str
    description: str | None
    scope: Literal['workspace', 'organization', 'platform']
    is_default: bool
    is_active: bool
    active_revision_id: str | None
    revision_number: int
    templates: ReviewTemplates
    organization_id: str | None
    workspace_id: str | None
    created_at: str
    updated_at: str


class RevisionDocument(TypedDict):
    """
    The definition of an agent: model, instructions, tools and limits. Immutable once stored
    """

    schema_version: NotRequired[int]
    model: NotRequired[str | None]
    fallback_models: NotRequired[list[FallbackModel]]
    instructions: NotRequired[str]
    variables: NotRequired[list[RevisionVariable]]
    model_settings: NotRequired[ModelSettings]
    response_format: NotRequired[ResponseFormat]
    tools: NotRequired[list[ToolBinding]]
    toolkits: NotRequired[list[ToolkitBinding]]
    skills: NotRequired[list[SkillBinding]]
    sub_agents: NotRequired[list[SubAgentBinding]]
    knowledge: NotRequired[list[KnowledgeBinding]]
    approvals: NotRequired[ApprovalRules]
    context: NotRequired[ContextRules]
    input_schema: NotRequired[dict[str, Any] | None]
    limits: NotRequired[RevisionLimits]
    metadata: NotRequired[dict[str, Any]]


class RevisionValidate(TypedDict):
    revision: RevisionDocument
    persona_slug: NotRequired[str | None]


class RunBatchStart(TypedDict):
    """
    A start as in POST /runs, without waiting
    """

    workspace_id: NotRequired[str]
    agent_id: NotRequired[str]
    agent_slug: NotRequired[str]
    revision_id: NotRequired[str | None]
    persona_slug: NotRequired[str | None]
    session_key: NotRequired[str | None]
    subject: NotRequired[SubjectInput | None]
    on_busy: NotRequired[Literal['enqueue', 'reject', 'interrupt', 'rollback', 'steer']]
    mode: NotRequired[Literal['async']]
    start_after: NotRequired[str | None]
    limits: NotRequired[RunLimitsInput]
    metadata: NotRequired[dict[str, Any]]
    input: RunInput


class RunBulkCancel(TypedDict):
    policy: NotRequired[Literal['interrupt', 'rollback']]
    reason: NotRequired[str | None]
    ids: NotRequired[list[Id]]
    filter: NotRequired[RunCancelFilter]


class RunCreate(TypedDict):
    """
    Input for an agent, in a conversation and with limits; agent and input are required
    """

    workspace_id: NotRequired[str]
    agent_id: NotRequired[str]
    agent_slug: NotRequired[str]
    revision_id: NotRequired[str | None]
    persona_slug: NotRequired[str | None]
    input: NotRequired[RunInput]
    review: NotRequired[ReviewInput]
    session_key: NotRequired[str | None]
    subject: NotRequired[SubjectInput | None]
    on_busy: NotRequired[Literal['enqueue', 'reject', 'interrupt', 'rollback', 'steer']]
    mode: NotRequired[Literal['async', 'wait']]
    wait_timeout_s: NotRequired[int]
    start_after: NotRequired[str | None]
    limits: NotRequired[RunLimitsInput]
    metadata: NotRequired[dict[str, Any]]


class RunStepView(TypedDict):
    """
    A model call or tool call of a run
    """

    id: str
    run_id: str
    step: int
    kind: Literal['model', 'tool', 'sub_agent', 'system']
    name: str
    status: Literal['running', 'succeeded', 'failed', 'denied', 'timed_out', 'cancelled']
    attempt: int
    message_id: str | None
    tool_call_id: str | None
    child_run_id: str | None
    args: dict[str, Any] | None
    output_preview: str | None
    error: StepError | None
    retries: list[StepRetry]
    usage: UsageTotals | None
    started_at: str
    first_token_at: str | None
    finished_at: str | None
    duration_ms: int | None
    trace_id: str | None
    span_id: str | None


class RunToolResultsInput(TypedDict):
    """
    Results of calls that the client executes; either all are accepted, or none
    """

    kind: Literal['tool_results']
    results: list[ToolResultInput]


class RunUsage(TypedDict):
    """
    For the run alone, and including its descendants
    """

    own: UsageTotals
    subtree: UsageTotals


class RunView(TypedDict):
    """
    One turn of a conversation with an agent
    """

    id: str
    organization_id: str
    workspace_id: str
    agent_id: str
    agent_revision_id: str
    root_run_id: str
    parent_run_id: str | None
    parent_tool_call_id: str | None
    retry_of_run_id: str | None
    forked_at_message_id: str | None
    trigger_id: str | None
    evaluation_run_id: str | None
    binding_id: str | None
    agent_slug: str
    persona_slug: str | None
    session_key: str | None
    source: Literal['api', 'webhook', 'schedule', 'event', 'channel', 'code_review', 'evaluation', 'sub_agent', 'mcp']
    subject: Subject | None
    created_by: RunCreator
    status: Literal['queued', 'running', 'waiting', 'cancelling', 'succeeded', 'failed', 'cancelled']
    waiting_on: Literal['approval', 'input', 'client_tool', 'auth', 'budget', 'timer'] | None
    waiting_until: str | None
    finish_reason: Literal['stop', 'max_steps', 'max_output', 'timeout', 'budget_exceeded', 'cancelled', 'superseded', 'approval_expired', 'refused', 'error'] | None
    queue_position: int | None
    input: RunInputView
    output: RunOutput | None
    error: RunError | None
    warnings: list[RunWarning]
    limits: RunLimits
    usage: RunUsage
    steps: int
    depth: int
    last_seq: int
    pending_approvals: int
    pending_tool_calls: list[PendingToolCall] | None
    on_busy: Literal['enqueue', 'reject', 'interrupt', 'rollback', 'steer']
    cancel_policy: Literal['interrupt', 'rollback'] | None
    metadata: dict[str, Any]
    start_after: str | None
    started_at: str | None
    finished_at: str | None
    cancel_requested_at: str | None
    created_at: str
    updated_at: str
    admission: NotRequired[Literal['started', 'queued', 'delayed', 'steered']]


class ScheduleCreate(TypedDict):
    """
    A new schedule, with exactly one of cron, every_seconds and run_at
    """

    workspace_id: NotRequired[str | None]
    agent_id: str
    name: str
    prompt_template: str
    cron: NotRequired[str | None]
    every_seconds: NotRequired[int | None]
    run_at: NotRequired[str | None]
    timezone: NotRequired[str]
    dst: NotRequired[ScheduleDst]
    starts_at: NotRequired[str | None]
    ends_at: NotRequired[str | None]
    input_template: NotRequired[dict[str, Any] | None]
    session_key_template: NotRequired[str | None]
    persona_slug_template: NotRequired[str | None]
    subject_template: NotRequired[SubjectTemplate | None]
    overlap: NotRequired[Literal['skip', 'buffer_one', 'cancel_other', 'allow_all']]
    catch_up_seconds: NotRequired[int]
    jitter_seconds: NotRequired[int]
    pause_after_failures: NotRequired[int]
    is_active: NotRequired[bool]
    pause_reason: NotRequired[str | None]


class ScheduleUpdate(TypedDict):
    """
    The fields that are sent are changed, the rest is kept. Each of cron, every_seconds and run_at replaces the others
    """

    name: NotRequired[str]
    prompt_template: NotRequired[str]
    cron: NotRequired[str | None]
    every_seconds: NotRequired[int | None]
    run_at: NotRequired[str | None]
    timezone: NotRequired[str]
    dst: NotRequired[ScheduleDst]
    starts_at: NotRequired[str | None]
    ends_at: NotRequired[str | None]
    input_template: NotRequired[dict[str, Any] | None]
    session_key_template: NotRequired[str | None]
    persona_slug_template: NotRequired[str | None]
    subject_template: NotRequired[SubjectTemplate | None]
    overlap: NotRequired[Literal['skip', 'buffer_one', 'cancel_other', 'allow_all']]
    catch_up_seconds: NotRequired[int]
    jitter_seconds: NotRequired[int]
    pause_after_failures: NotRequired[int]
    is_active: NotRequired[bool]
    pause_reason: NotRequired[str | None]


class ScheduleView(TypedDict):
    """
    A schedule that starts runs of an agent
    """

    id: str
    agent_id: str
    name: str
    description: str
    cron: str | None
    every_seconds: int | None
    run_at: str | None
    timezone: str
    dst: ScheduleDst
    prompt_template: str
    input_template: dict[str, Any] | None
    session_key_template: str | None
    persona_slug_template: str | None
    subject_template: SubjectTemplate | None
    overlap: Literal['skip', 'buffer_one', 'cancel_other', 'allow_all']
    catch_up_seconds: int
    jitter_seconds: int
    starts_at: str | None
    ends_at: str | None
    pause_after_failures: int
    is_active: bool
    pause_reason: str | None
    next_run_at: str | None
    last_occurrence_at: str | None
    sync_state: Literal['synced', 'pending', 'error']
    created_by_user_id: str | None
    created_at: str
    updated_at: str


class SystemStatusView(TypedDict):
    """
    State of the deployment; a part that cannot be read is null and listed in problems
    """

    generated_at: str
    version: VersionView
    draining: bool
    postgres: PostgresStatus | None
    redis: RedisStatus | None
    temporal: TemporalStatus | None
    outbox: OutboxStatus | None
    runs: RunsStatus | None
    schedules: SchedulesStatus | None
    last_backup: BackupStatus | None
    queues: list[Queue]
    workers: list[Worker]
    problems: list[Problem]


class TokenView(TypedDict):
    """
    The tokens of a session
    """

    access_token: str
    token_type: Literal['Bearer']
    expires_in: int
    expires_at: str
    refresh_token: str | None
    refresh_expires_at: str | None
    session_id: str
    user: UserView


class ToolCreateWebFetch(TypedDict):
    """
    Which pages may be read, and how
    """

    slug: str
    kind: Literal['web_fetch']
    display_name: NotRequired[str | None]
    description: str
    input_schema: NotRequired[dict[str, Any]]
    config: NotRequired[WebFetchToolConfig]
    secrets_required: NotRequired[list[SecretsRequiredItem]]
    effect: NotRequired[Literal['read', 'write']]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]
    critical: NotRequired[bool]
    client_owned: NotRequired[bool]
    response_max_chars: NotRequired[int]
    timeout_s: NotRequired[int]
    is_active: NotRequired[bool]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]


class ToolCreateWebSearch(TypedDict):
    """
    Which search service is asked, and how
    """

    slug: str
    kind: Literal['web_search']
    display_name: NotRequired[str | None]
    description: str
    input_schema: NotRequired[dict[str, Any]]
    config: NotRequired[WebSearchToolConfig | dict[str, Any]]
    secrets_required: NotRequired[list[SecretsRequiredItem]]
    effect: NotRequired[Literal['read', 'write']]
    concurrency: NotRequired[Literal['read', 'write', 'exclusive']]
    critical: NotRequired[bool]
    client_owned: NotRequired[bool]
    response_max_chars: NotRequired[int]
    timeout_s: NotRequired[int]
    is_active: NotRequired[bool]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]


ToolkitCreate: TypeAlias = ToolkitCreateMcp | ToolkitCreateOpenapi | ToolkitCreateManual


Violation = TypedDict(
    'Violation',
    {
        'in': Literal['body', 'query', 'path', 'header', 'form'],
        'pointer': str | None,
        'name': str | None,
        'rule': str,
        'message': str,
        'params': NotRequired[ViolationParams],
    },
)


class StreamProtocolView(TypedDict):
    """
    The frames of a run stream and how to resume
    """

    version: int
    heartbeat_s: int
    envelope: dict[str, Any]
    frames: list[StreamProtocolFrame]
    close_codes: list[CloseCode]
    first_frame: dict[str, Any]
    resume: Resume


class AgentCreate(TypedDict):
    """
    A new agent; with revision, it has a first revision; with activate, it can be run at once
    """

    slug: str
    name: str
    description: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    workspace_id: NotRequired[str | None]
    avatar_preset: NotRequired[Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None]
    image_url: NotRequired[str | None]
    is_active: NotRequired[bool]
    attributes: NotRequired[dict[str, Any]]
    revision: NotRequired[RevisionDocument]
    activate: NotRequired[bool]


class AgentExportView(TypedDict):
    """
    An agent in the format that importAgent accepts: no ids and no secrets
    """

    schema_version: NotRequired[int]
    kind: NotRequired[Literal['agent']]
    slug: str
    name: str
    description: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    avatar_preset: NotRequired[Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None]
    image_url: NotRequired[str | None]
    is_active: NotRequired[bool]
    attributes: NotRequired[dict[str, Any]]
    revision: NotRequired[RevisionDocument]
    personas: NotRequired[list[PersonaDocument]]


class AgentImport(TypedDict):
    """
    An agent with its personas as a document; references name their targets by slug
    """

    schema_version: NotRequired[int]
    kind: NotRequired[Literal['agent']]
    slug: str
    name: str
    description: NotRequired[str | None]
    scope: NotRequired[Literal['workspace', 'organization', 'platform'] | None]
    avatar_preset: NotRequired[Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None]
    image_url: NotRequired[str | None]
    is_active: NotRequired[bool]
    attributes: NotRequired[dict[str, Any]]
    revision: NotRequired[RevisionDocument]
    personas: NotRequired[list[PersonaDocument]]


class AgentRevisionCreate(TypedDict):
    """
    A new revision; it has no effect until it is activated
    """

    document: RevisionDocument
    note: NotRequired[str | None]
    base_revision_id: NotRequired[str | None]


class AgentRevisionView(TypedDict):
    """
    One immutable version of an agent; lists omit the document
    """

    id: str
    agent_id: str
    number: int
    is_active: bool
    document: NotRequired[RevisionDocument]
    document_hash: str
    note: str | None
    created_by: Actor
    created_at: str


class AgentView(TypedDict):
    """
    An agent; active_revision and revision_count are only present when a single agent is read
    """

    id: str
    scope: Literal['workspace', 'organization', 'platform']
    organization_id: str | None
    workspace_id: str | None
    slug: str
    name: str
    description: str | None
    avatar_preset: Literal['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] | None
    image_url: str | None
    is_active: bool
    attributes: dict[str, Any]
    active_revision_id: str | None
    created_by_user_id: str | None
    created_at: str
    updated_at: str
    active_revision: NotRequired[AgentRevisionView | None]
    revision_count: NotRequired[int | None]


class ApprovalResolutionView(TypedDict):
    """
    The questions after the answers, and the run
    """

    items: list[ApprovalView]
    applied: int
    unchanged: int
    run: RunView


class EffectiveAgentView(TypedDict):
    """
    What a run of the agent would use now
    """

    agent_id: str
    revision_id: str
    persona_slug: str | None
    hash: str
    model: EffectiveModel | None
    model_settings: ModelSettings
    instructions: str
    tools: list[EffectiveTool]
    skills: list[EffectiveSkill]
    sub_agents: list[EffectiveSubAgent]
    knowledge: list[KnowledgeBinding]
    limits: RevisionLimits
    warnings: list[EffectiveWarning]


class ErrorEnvelope(TypedDict):
    """
    Body of every failing reply
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: Literal['malformed_request', 'oauth_request_invalid', 'unauthenticated', 'credential_invalid', 'token_expired', 'login_failed', 'mfa_required', 'mfa_code_invalid', 'session_revoked', 'refresh_reuse_detected', 'stream_token_invalid', 'stream_token_used', 'signature_invalid', 'budget_exceeded', 'role_insufficient', 'scope_insufficient', 'resource_forbidden', 'registration_disabled', 'not_found', 'method_not_allowed', 'already_exists', 'state_conflict', 'idempotency_in_progress', 'refresh_superseded', 'gone', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'validation_failed', 'cursor_invalid', 'idempotency_key_mismatch', 'resource_frozen', 'precondition_required', 'rate_limited', 'internal_error', 'upstream_failed', 'service_unavailable', 'upstream_timeout']
    retryable: bool
    retry_after_s: int | None
    correlation_id: str
    errors: list[Violation]
    context: ErrorContext
    error: NotRequired[str]
    error_description: NotRequired[str]


EvaluationDataset = TypedDict(
    'EvaluationDataset',
    {
        'format': NotRequired[Literal['inline', 'jsonl', 'csv']],
        'items': NotRequired[list[EvaluationItem]],
        'text': NotRequired[str],
        'attachment_id': NotRequired[str],
        'from': NotRequired[EvaluationDatasetFrom],
    },
)


class EvaluationResultView(TypedDict):
    """
    The result of one repetition of an item
    """

    item_id: str
    repetition: int
    run_id: str | None
    status: Literal['pending', 'running', 'scoring', 'passed', 'failed', 'error', 'skipped']
    score: float | None
    scores: list[EvaluationScore]
    reason: str | None
    output: str | None
    tags: list[Tag]
    latency_ms: int | None
    cost: str | None
    tokens: ResultTokens | None
    turns: int | None
    finished_at: str | None


class EvaluationRunDetailView(TypedDict):
    """
    An evaluation with its figures and results
    """

    id: str
    agent_id: str
    agent_revision_id: str | None
    dataset_name: str | None
    evaluators: list[Evaluator]
    status: Literal['queued', 'running', 'succeeded', 'failed', 'cancelled']
    summary: EvaluationSummary
    created_at: str
    finished_at: str | None
    results: NotRequired[list[EvaluationResultView]]


class EvaluationRunView(TypedDict):
    """
    An evaluation in a list
    """

    id: str
    agent_id: str
    agent_revision_id: str | None
    dataset_name: str | None
    evaluators: list[Evaluator]
    status: Literal['queued', 'running', 'succeeded', 'failed', 'cancelled']
    summary: EvaluationSummaryShort
    created_at: str
    finished_at: str | None


class OauthErrorEnvelope(TypedDict):
    """
    Body of a failing reply to an OAuth client: the error envelope with the fields of its RFC
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: Literal['malformed_request', 'oauth_request_invalid', 'unauthenticated', 'credential_invalid', 'token_expired', 'login_failed', 'mfa_required', 'mfa_code_invalid', 'session_revoked', 'refresh_reuse_detected', 'stream_token_invalid', 'stream_token_used', 'signature_invalid', 'budget_exceeded', 'role_insufficient', 'scope_insufficient', 'resource_forbidden', 'registration_disabled', 'not_found', 'method_not_allowed', 'already_exists', 'state_conflict', 'idempotency_in_progress', 'refresh_superseded', 'gone', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'validation_failed', 'cursor_invalid', 'idempotency_key_mismatch', 'resource_frozen', 'precondition_required', 'rate_limited', 'internal_error', 'upstream_failed', 'service_unavailable', 'upstream_timeout']
    retryable: bool
    retry_after_s: int | None
    correlation_id: str
    errors: list[Violation]
    context: ErrorContext
    error: str
    error_description: str


class PageAgentRevisionView(TypedDict):
    """
    A page of AgentRevisionView
    """

    items: list[AgentRevisionView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageAgentView(TypedDict):
    """
    A page of AgentView
    """

    items: list[AgentView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageEvaluationRunView(TypedDict):
    """
    A page of EvaluationRunView
    """

    items: list[EvaluationRunView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageRepoBindingView(TypedDict):
    """
    A page of RepoBindingView
    """

    items: list[RepoBindingView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageReviewPlaybookRevisionView(TypedDict):
    """
    A page of ReviewPlaybookRevisionView
    """

    items: list[ReviewPlaybookRevisionView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageReviewPlaybookView(TypedDict):
    """
    A page of ReviewPlaybookView
    """

    items: list[ReviewPlaybookView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageRunStepView(TypedDict):
    """
    A page of RunStepView
    """

    items: list[RunStepView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageRunView(TypedDict):
    """
    A page of RunView
    """

    items: list[RunView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class PageScheduleView(TypedDict):
    """
    A page of ScheduleView
    """

    items: list[ScheduleView]
    next_cursor: NotRequired[str | None]
    total: NotRequired[int | None]


class RunBatchCreate(TypedDict):
    items: list[RunBatchStart]


class RunBatchItem(TypedDict):
    """
    The outcome of one start
    """

    index: int
    status: Literal['created', 'failed']
    run: RunView | None
    error: ErrorEnvelope | None


class RunBatchView(TypedDict):
    """
    The outcome of each start, in order
    """

    items: list[RunBatchItem]
    created: int
    failed: int


RunInputAdd: TypeAlias = RunMessageInput | RunAnswerInput | RunToolResultsInput


ToolCreate: TypeAlias = ToolCreateHttp | ToolCreateBuiltin | ToolCreateCodeExec | ToolCreateWebSearch | ToolCreateWebFetch | ToolCreateDelegate | ToolCreateSchedule


class EvaluationCreate(TypedDict):
    """
    An agent, a data set, and how its answers are evaluated
    """

    agent_id: str
    agent_revision_id: NotRequired[str | None]
    dataset_name: NotRequired[str | None]
    dataset: EvaluationDataset
    evaluators: list[Evaluator]
    repetitions: NotRequired[int]
    concurrency: NotRequired[int]
    max_cost: NotRequired[str | None]
    max_error_rate: NotRequired[float]
    item_timeout_s: NotRequired[int]
    tool_mode: NotRequired[Literal['read_only', 'live']]
    metadata: NotRequired[dict[str, Any]]
    baseline_evaluation_run_id: NotRequired[str | None]
