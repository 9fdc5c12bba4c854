import { randomBytes } from 'node:crypto';
import { completePersona } from '../../../db/agents/persona-document.ts';
import { completeDocument, noBindings } from '../../../db/agents/revision-document.ts';
import { newId } from '../../../db/ids.ts';
import { canary, type Place } from './places.ts';

/** What one column of a table must hold beyond its type: a rule of the schema, of a view, or the shape of its JSON. */
export type ColumnRules = Readonly<Record<string, (place: Place, row: { readonly id: string; readonly isFirst: boolean }) => unknown>>;

const tokens = { input: 1, output: 1, cached_read: 0, cached_write: 0, reasoning: 0 };
const usage = () => ({ model_calls: 1, tokens, cost_amount: '0', currency: 'USD', estimated: false });
const limits = () => ({
  max_steps: 50,
  max_duration_s: 3_600,
  max_output_tokens: null,
  max_cost: null,
  max_children: 0,
  max_depth: 0,
  approval_ttl_s: 3_600,
  on_expiry: 'deny',
  on_budget: 'fail',
});
const same = (value: unknown) => () => value;
const none = same(null);
/** The same words on both sides, so that a name alone never finds the right row. */
const twin = (_place: Place, row: { readonly id: string; readonly isFirst: boolean }) => (row.isFirst ? 'twin' : `twin-${row.id}`);
const note = (table: string, column: string) => (place: Place) => ({ note: canary(place, table, column) });
const text = (table: string, column: string) => (place: Place) => ({ text: canary(place, table, column) });
const unique = (table: string, column: string) => (place: Place) => `${canary(place, table, column)}.${newId()}`;
const docsOf = (table: string) => (place: Place) => {
  const content = canary(place, table, 'reference_docs');
  return [{ name: 'a.md', media_type: 'text/markdown', size_chars: content.length, sha256: '0'.repeat(64), content }];
};
const inADay = () => new Date(Date.now() + 86_400_000);

/** By table and column; every other column is filled by its type. */
export const columnRules: Readonly<Record<string, ColumnRules>> = {
  organizations: { slug: unique('organizations', 'slug'), timezone: same('UTC') },
  organization_settings: { allowed_email_domains: same([]) },
  workspaces: { slug: (place) => `twin-${place.name.slice(1)}`, timezone: same('UTC') },
  users: {
    email: (place, row) => `${canary(place, 'users', 'email')}.${row.id}@canary.test`,
    role: (place) => (place.scope === 'platform' ? 'operator' : 'viewer'),
    locale: same('en'),
  },
  // A live one must open with the keys of the deployment; this one only stands there.
  data_keys: { retired_at: () => new Date() },
  workspace_grants: { role: same('viewer') },
  user_credentials: { email_verified_at: () => new Date() },
  totp_factors: { confirmed_at: none, expires_at: inADay },
  auth_challenges: { token_hash: () => randomBytes(32) },
  sessions: {
    kind: same('login'),
    client_id: none,
    client_name: none,
    oauth_scope: none,
    resource: none,
    revoke_reason: none,
    mfa_level: same('none'),
  },
  service_keys: { scopes: same(['*']), role: same('viewer'), prefix: same('lh_sk_twin12'), last4: same('twin') },
  oauth_clients: {
    client_id: unique('oauth_clients', 'client_id'),
    redirect_uris: same(['https://canary.test/callback']),
    token_endpoint_auth_method: same('none'),
    secret_hash: none,
    grant_types: same(['authorization_code', 'refresh_token']),
    scope: same('agents:read'),
    role: same('viewer'),
    document: none,
    registration_hash: none,
  },
  oauth_transactions: { request: note('oauth_transactions', 'request') },
  oauth_codes: { resource: same('http://longhaul.test'), scope: same('agents:read') },
  invitations: {
    email: (place, row) => `${canary(place, 'invitations', 'email')}.${row.id}@canary.test`,
    role: same('viewer'),
    status: same('pending'),
    accepted_user_id: none,
    queued_at: () => new Date(Date.now() - 3_600_000),
  },
  purges: { status: same('succeeded'), counts: same({ agents: 1 }) },
  audit_entries: {
    changes: (place) => ({ name: { from: null, to: canary(place, 'audit_entries', 'changes') } }),
    actor_kind: same('user'),
    actor_role: same('member'),
    ip: same('127.0.0.1'),
    impersonation_id: none,
  },
  outbox: { kind: same('mail'), dedupe_key: unique('outbox', 'dedupe_key'), payload: note('outbox', 'payload'), sent_at: () => new Date() },
  idempotency_keys: {
    key: unique('idempotency_keys', 'key'),
    state: same('done'),
    status: same(200),
    headers: same({}),
    principal_kind: same('user'),
  },
  login_failures: { ip_truncated: same('127.0.0.0/24') },

  attachments: {
    media_type: same('text/plain'),
    sha256: same('0'.repeat(64)),
    size_bytes: same(4),
    state: same('ready'),
    purpose: same('run_input'),
    created_by: same({ kind: 'system', id: null }),
    storage_key: unique('attachments', 'storage_key'),
    expires_at: inADay,
  },
  attachment_links: { owner_kind: same('run'), conversation_id: none, until: none },
  agents: {
    slug: twin,
    attributes: note('agents', 'attributes'),
    image_url: (place) => `https://canary.test/${canary(place, 'agents', 'image_url')}`,
    active_revision_id: none,
  },
  agent_revisions: {
    number: same(1),
    document: (place) =>
      completeDocument(
        { model: 'builtin/extractive', instructions: canary(place, 'agent_revisions', 'document'), metadata: {} },
        noBindings,
      ),
    created_by: same({ kind: 'system', id: null }),
  },
  agent_refs: { kind: same('tool'), persona_id: none, target_id: () => newId() },
  personas: { slug: twin, is_default: same(false), version: same(1), document: (place) => personaOf(place, 'personas') },
  persona_versions: {
    version: same(1),
    document: (place) => personaOf(place, 'persona_versions'),
    created_by: same({ kind: 'system', id: null }),
  },
  tools: {
    slug: twin,
    kind: same('builtin'),
    config: same({ name: 'current_time' }),
    input_schema: same({ type: 'object', properties: {}, additionalProperties: false }),
    secrets_required: same([]),
    effect: same('read'),
    concurrency: same('read'),
    remote_name: none,
    toolkit_id: none,
  },
  toolkits: {
    // One character shorter than elsewhere: 40 at most.
    slug: (_place, row) => (row.isFirst ? 'twin' : `kit-${row.id}`),
    kind: same('manual'),
    config: same({}),
    secrets_required: same([]),
    active_revision_id: none,
    server: note('toolkits', 'server'),
    protocol_version: same('2025-11-25'),
    next_sync_at: none,
  },
  toolkit_revisions: {
    number: same(1),
    state: same('inactive'),
    origin: same('manual'),
    tools: same([]),
    diff: same([]),
    quarantined: same([]),
    server: note('toolkit_revisions', 'server'),
    protocol_version: same('2025-11-25'),
    created_by: same({ kind: 'system', id: null }),
  },
  skills: {
    slug: twin,
    version: same(1),
    promoted_version: none,
    promoted_versions: same([]),
    superseded_by: none,
    curation_state: same('pending'),
    origin: same('human'),
    owner_user_id: none,
    reference_docs: docsOf('skills'),
    front_matter: note('skills', 'front_matter'),
    content_hash: same('0'.repeat(64)),
    created_by: same({ kind: 'system', id: null }),
  },
  skill_versions: {
    version: same(1),
    origin: same('human'),
    reference_docs: docsOf('skill_versions'),
    front_matter: note('skill_versions', 'front_matter'),
    content_hash: same('0'.repeat(64)),
    created_by: same({ kind: 'system', id: null }),
  },
  tool_versions: { version: same(1), descriptor: note('tool_versions', 'descriptor') },
  secrets: { name: twin, tool_id: none, value_version: same(1) },

  conversations: { session_key: twin, subject_kind: same('guest'), subject_id: same('twin'), active_run_id: none, persona_slug: none },
  runs: {
    agent_slug: twin,
    session_key: twin,
    subject_kind: same('guest'),
    subject_id: twin,
    root_run_id: (_place, row) => row.id,
    source: same('api'),
    created_by_kind: same('user'),
    created_by_acting_user_id: none,
    status: same('succeeded'),
    finish_reason: same('stop'),
    finished_at: () => new Date(),
    waiting_on: none,
    waiting_until: none,
    input: text('runs', 'input'),
    output: text('runs', 'output'),
    metadata: note('runs', 'metadata'),
    limits,
    usage_own: usage,
    usage_subtree: usage,
    parent_run_id: none,
    retry_of_run_id: none,
    persona_slug: none,
    queue_no: none,
    lineage: same([]),
    path: same([]),
    waiting_since: none,
  },
  messages: {
    content: (place) => [{ type: 'text', text: canary(place, 'messages', 'content') }],
    state: same('committed'),
    pos: same(1),
    turn: same(1),
    provider_state: none,
  },
  run_steps: {
    retries: same([]),
    args: note('run_steps', 'args'),
    usage: usage,
    trace_id: same('0'.repeat(32)),
    span_id: same('0'.repeat(16)),
  },
  tool_calls: {
    slug: twin,
    args: note('tool_calls', 'args'),
    output: note('tool_calls', 'output'),
    args_hash: none,
    state: same('succeeded'),
  },
  tool_outputs: { media_type: same('text/plain') },
  run_streams: { root_run_id: none, head_seq: same(1), ended: same(true) },
  run_stream_scopes: { scope: same('run') },
  run_frame_chunks: { first_seq: same(1), last_seq: same(1), frames: (place) => [frameOf(place)] },
  schedules: {
    cron: same('0 8 * * *'),
    every_seconds: none,
    run_at: none,
    timezone: same('UTC'),
    dst: same({ gap: 'shift', repeat: 'once' }),
    input_template: note('schedules', 'input_template'),
    subject_template: none,
    compiled: same({}),
    tool_call_id: none,
    tool_id: none,
  },
  schedule_occurrences: { status: same('missed'), run_id: none, backfill_id: none, rendered: note('schedule_occurrences', 'rendered') },
  approvals: {
    status: same('approved'),
    reason: same('tool_call'),
    decisions: same(['approve', 'reject']),
    tool_slug: twin,
    prompt: (place) => canary(place, 'approvals', 'prompt'),
    args: note('approvals', 'args'),
    args_hash: same('0'.repeat(64)),
    response_schema: none,
    edited_args: none,
    response: note('approvals', 'response'),
    resolved_by_kind: same('system'),
    resolved_by_id: none,
    resolved_at: () => new Date(),
  },
  run_inputs: { content: (place) => [{ type: 'text', text: canary(place, 'run_inputs', 'content') }], read_at_step: same(1) },
  bulk_cancels: { filter: note('bulk_cancels', 'filter') },
  feedback: { subject_kind: same('guest'), subject_id: unique('feedback', 'subject_id') },
  budgets: {
    period_start: same('2026-01-01'),
    period: (_place, row) => (row.isFirst ? 'month' : 'day'),
    currency: same('USD'),
    alert_rule_id: none,
  },
  budget_windows: {
    period: same('cap'),
    cap_key: unique('budget_windows', 'cap_key'),
    budget_id: none,
    window_end: none,
    currency: same('USD'),
    closed_at: () => new Date(),
  },
  budget_holds: { call_key: unique('budget_holds', 'call_key'), state: same('settled') },
  // Without a target a test of it has nothing to wait for: no worker runs here.
  alert_rules: { kind: same('spend'), budget_id: none, targets: same([]), warning_threshold: none, agent_id: none },
  alert_states: { fingerprint: unique('alert_states', 'fingerprint'), alert_id: none },
  alerts: {
    window_key: unique('alerts', 'window_key'),
    labels: note('alerts', 'labels'),
    status: same('firing'),
    resolved_at: none,
    resolution: none,
  },
  alert_deliveries: {
    target: same({ kind: 'user', user_id: newId() }),
    snapshot: note('alert_deliveries', 'snapshot'),
    status: same('dead'),
    alert_id: none,
  },
  stream_tokens: { principal_kind: same('user') },
  usage_entries: { call_key: unique('usage_entries', 'call_key'), cost: same('0'), price_ids: same([]) },
};

function personaOf(place: Place, table: string) {
  return completePersona({ slug: 'twin', name: 'Twin', instructions: canary(place, table, 'document') }, []);
}

function frameOf(place: Place): string {
  return JSON.stringify({ v: 2, seq: 1, type: 'run.finished', note: canary(place, 'run_frame_chunks', 'frames') });
}
