export type TableKind = 'scoped' | 'child' | 'tenant' | 'person' | 'open' | 'append' | 'platform';

/** Stated once more, and not taken from the code: what a table's rows are. */
export const tableKinds: Readonly<Record<string, TableKind>> = {
  organizations: 'tenant',
  organization_settings: 'tenant',
  workspaces: 'tenant',
  workspace_grants: 'tenant',
  users: 'person',
  data_keys: 'open',
  user_credentials: 'person',
  totp_factors: 'person',
  recovery_codes: 'person',
  auth_challenges: 'person',
  oauth_clients: 'open',
  oauth_transactions: 'open',
  oauth_codes: 'person',
  invitations: 'tenant',
  secrets: 'child',
  impersonations: 'tenant',
  purges: 'tenant',
  audit_seals: 'append',
  sessions: 'person',
  refresh_tokens: 'person',
  service_keys: 'tenant',
  login_failures: 'open',
  signing_keys: 'platform',
  stream_tokens: 'tenant',
  audit_entries: 'append',
  outbox: 'open',
  idempotency_keys: 'open',
  system_marks: 'platform',
  agents: 'scoped',
  agent_revisions: 'child',
  agent_refs: 'child',
  tools: 'scoped',
  tool_versions: 'child',
  personas: 'child',
  persona_versions: 'child',
  toolkits: 'scoped',
  toolkit_revisions: 'child',
  mcp_connections: 'child',
  mcp_authorizations: 'child',
  tool_tests: 'child',
  skills: 'scoped',
  skill_versions: 'child',
  conversations: 'tenant',
  runs: 'tenant',
  messages: 'tenant',
  run_steps: 'tenant',
  tool_calls: 'tenant',
  tool_outputs: 'tenant',
  tool_leases: 'tenant',
  skill_uses: 'tenant',
  attachments: 'tenant',
  attachment_links: 'tenant',
  knowledge_bases: 'child',
  knowledge_base_counters: 'child',
  knowledge_grants: 'child',
  knowledge_sources: 'child',
  knowledge_items: 'child',
  knowledge_item_versions: 'child',
  knowledge_chunks: 'child',
  knowledge_vectors: 'child',
  knowledge_terms: 'child',
  knowledge_relations: 'child',
  knowledge_runs: 'child',
  knowledge_run_errors: 'child',
  knowledge_findings: 'child',
  knowledge_policies: 'child',
  knowledge_embedding_cache: 'tenant',
  schedules: 'tenant',
  schedule_occurrences: 'tenant',
  schedule_backfills: 'tenant',
  webhook_endpoints: 'tenant',
  endpoint_counters: 'tenant',
  webhook_deliveries: 'tenant',
  delivery_keys: 'tenant',
  outbound_callbacks: 'tenant',
  events: 'tenant',
  event_triggers: 'tenant',
  event_trigger_counters: 'tenant',
  event_matches: 'tenant',
  event_keys: 'tenant',
  channels: 'tenant',
  channel_messages: 'tenant',
  channel_outbound: 'tenant',
  review_playbooks: 'scoped',
  review_playbook_revisions: 'child',
  repo_bindings: 'tenant',
  review_pull_requests: 'tenant',
  review_files: 'tenant',
  review_events: 'tenant',
  review_commands: 'tenant',
  review_findings: 'tenant',
  review_posts: 'tenant',
  review_answers: 'tenant',
  approvals: 'tenant',
  run_inputs: 'tenant',
  bulk_cancels: 'tenant',
  feedback: 'tenant',
  evaluation_runs: 'tenant',
  evaluation_items: 'tenant',
  evaluation_results: 'tenant',
  evaluation_scores: 'tenant',
  budgets: 'tenant',
  budget_windows: 'tenant',
  budget_holds: 'tenant',
  alert_rules: 'tenant',
  alert_states: 'tenant',
  alerts: 'tenant',
  alert_transitions: 'tenant',
  alert_deliveries: 'tenant',
  run_streams: 'tenant',
  run_stream_scopes: 'tenant',
  run_frame_chunks: 'tenant',
  usage_entries: 'append',
  usage_rollups: 'tenant',
  model_prices: 'platform',
  fx_rates: 'platform',
};

export type Command = 'select' | 'insert' | 'update' | 'delete';

/** The rule of each command by the kind of a table, word for word as the design has it. */
export function designedRules(table: string, kind: TableKind, columns: ReadonlySet<string>): Readonly<Record<Command, string>> {
  const own = ownRule(table, columns);
  const every = (rule: string) => ({ select: rule, insert: rule, update: rule, delete: rule });
  switch (kind) {
    case 'scoped':
      return { ...every(own), select: `${own} or (scope = 'platform' and is_active)` };
    case 'child':
      return { ...every(own), select: `${own} or organization_id is null` };
    case 'tenant':
      // All chunks but one that holds a run's first frame are the gate's to write.
      return table === 'run_frame_chunks'
        ? { ...every(own), insert: `first_seq = 1 and last_seq = 1 and cardinality(frames) = 1 and (${own})` }
        : every(own);
    case 'person':
      return every(
        `(select app_operator()) or organization_id = (select app_org()) or ${table === 'users' ? 'id' : 'user_id'} = (select app_user())`,
      );
    case 'open':
      return every(`${own} or organization_id is null`);
    case 'append':
      return {
        select: own,
        insert: table === 'audit_entries' ? `${own} or organization_id is null` : own,
        update: 'false',
        delete: 'false',
      };
    case 'platform':
      return { ...every('(select app_operator())'), select: 'true' };
    default:
      return kind satisfies never;
  }
}

// In organizations and workspaces their own id stands for the column.
function ownRule(table: string, columns: ReadonlySet<string>): string {
  const organization = `${table === 'organizations' ? 'id' : 'organization_id'} = (select app_org())`;
  const inReach = (column: string) => `(select app_ws_all()) or ${column} = any ((select app_ws())::uuid[])`;
  if (table === 'workspaces') return `(select app_operator()) or (${organization} and (${inReach('id')}))`;
  if (!columns.has('workspace_id')) return `(select app_operator()) or ${organization}`;
  return `(select app_operator()) or (${organization} and (workspace_id is null or ${inReach('workspace_id')}))`;
}
