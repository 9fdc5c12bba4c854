/** What becomes of what a store holds: `at once`, `within …`, `kept: …`; `-`: it holds nothing of it. */
export type Fate = 'at once' | '-' | `within ${string}` | `kept: ${string}`;

/** A person is deleted (`DELETE /users/{id}`, or homeless after the purge of a workspace); a run is deleted (`DELETE /runs/{id}`). */
export interface Fates {
  readonly person: Fate;
  readonly run: Fate;
  /** When rows go by themselves. */
  readonly age: string;
}

export interface OtherFates extends Fates {
  readonly workspace: Fate;
  readonly organization: Fate;
}

const ids = 'kept: its id alone says who';
const work = 'kept: what people made is the organization’s';
const never = 'never';
const none = { person: '-', run: '-', age: never } satisfies Fates;
const made = { person: work, run: '-', age: never } satisfies Fates;
const ofPerson = (age: string): Fates => ({ person: 'at once', run: '-', age });
const ofRun = (person: Fate, age = never): Fates => ({ person, run: 'at once', age });

/** Every table. What a purge of a workspace or an organization empties follows from the tables' columns. */
export const tables: Readonly<Record<string, Fates>> = {
  organizations: none,
  organization_settings: none,
  workspaces: none,
  users: { person: 'at once', run: '-', age: never },
  workspace_grants: ofPerson(never),
  data_keys: none,
  user_credentials: ofPerson(never),
  totp_factors: ofPerson(never),
  recovery_codes: ofPerson(never),
  auth_challenges: ofPerson('at their end, hourly'),
  sessions: ofPerson('90 days after their end'),
  refresh_tokens: ofPerson('7 days after their end'),
  service_keys: { person: ids, run: '-', age: never },
  oauth_clients: { ...none, age: '30 days unused, if they registered themselves' },
  oauth_transactions: { person: 'within an hour: its id alone says who', run: '-', age: 'at their end, hourly' },
  oauth_codes: ofPerson('at their end, hourly'),
  invitations: ofPerson(never),
  impersonations: { person: ids, run: '-', age: never },
  purges: { person: ids, run: '-', age: never },
  login_failures: {
    person: 'kept: a digest of the address and a shortened one of the network, for failed_login_retention_days',
    run: '-',
    age: 'failed_login_retention_days',
  },
  signing_keys: { ...none, age: '90 days and what their tokens live' },
  audit_entries: {
    person: 'kept: no address and no name stands in it; id, network address and user agent are the record',
    run: 'kept: ids and counts are the record',
    age: 'audit_retention_days',
  },
  audit_seals: none,
  outbox: {
    person: 'within 24 hours: of a mail under way the address, with its last try',
    run: 'kept: ids alone',
    age: '24 hours after they were sent, mails that nobody settled 7 days',
  },
  idempotency_keys: {
    person: 'at once',
    run: 'at once',
    age: '24 hours',
  },
  system_marks: none,
  agents: made,
  agent_revisions: made,
  personas: none,
  persona_versions: made,
  agent_refs: none,
  toolkits: none,
  toolkit_revisions: made,
  mcp_connections: ofPerson(never),
  mcp_authorizations: ofPerson('ten minutes'),
  tools: none,
  tool_versions: none,
  tool_tests: { person: work, run: '-', age: '24 hours' },
  secrets: { person: ids, run: '-', age: never },
  skills: made,
  skill_versions: made,
  conversations: { person: ids, run: 'at once', age: never },
  runs: { person: work, run: 'at once', age: never },
  messages: ofRun(work),
  run_steps: ofRun(work),
  tool_calls: ofRun(work),
  tool_outputs: ofRun(work),
  approvals: ofRun(work),
  run_inputs: ofRun(work),
  bulk_cancels: none,
  feedback: { person: work, run: 'kept: rating and ids; comment, correction and tags go at once', age: never },
  budgets: none,
  budget_windows: none,
  budget_holds: none,
  tool_leases: none,
  skill_uses: { person: '-', run: 'kept: ids and counts', age: never },
  attachments: {
    person: work,
    run: 'within an hour: what its tools made; within a day what people brought and no other run has',
    age: 'a day, unless something links to it',
  },
  attachment_links: { person: '-', run: 'at once', age: never },
  schedules: made,
  schedule_occurrences: { person: '-', run: 'at once', age: never },
  stream_tokens: { person: 'within an hour: its id alone says who', run: 'at once', age: 'at their end, hourly' },
  run_streams: ofRun('-'),
  run_stream_scopes: ofRun('-'),
  run_frame_chunks: { person: work, run: 'at once', age: 'deltas are compacted 30 days after the end' },
  usage_entries: { person: ids, run: 'kept: the ledger; ids, numbers and cost', age: never },
  model_prices: none,
};

const byOperator = 'kept: the operator’s, by their own rules';

/** What holds something outside the tables. */
export const others: Readonly<Record<string, OtherFates>> = {
  'Redis: streams of runs': {
    person: '-',
    run: 'at once',
    workspace: 'at once',
    organization: 'at once',
    age: 'an hour after the last frame',
  },
  'Redis: counters of limits': {
    person: 'within an hour: digests under a secret, network addresses',
    run: '-',
    workspace: '-',
    organization: '-',
    age: 'an hour at most',
  },
  'Redis: sessions of MCP clients': {
    person: 'within an hour: its id alone says who',
    run: '-',
    workspace: '-',
    organization: '-',
    age: 'when idle',
  },
  'Redis: channels': { person: '-', run: '-', workspace: '-', organization: '-', age: 'nothing is kept' },
  'Memory of processes': {
    person: '-',
    run: 'within minutes: frames of runs that are watched',
    workspace: 'within minutes: frames of runs that are watched',
    organization: 'within minutes: frames of runs that are watched',
    age: 'with the last reader',
  },
  'Files of attachments (STORAGE_DIR, S3)': {
    person: 'kept: what people brought is the organization’s',
    run: 'within a day: with its attachments',
    workspace: 'within a day: what no row knows is swept',
    organization: 'at once',
    age: 'with their rows',
  },
  'Temporal: histories, search attributes, memos': {
    person: '-',
    run: 'kept: ids alone, for the namespace’s retention',
    workspace: 'kept: ids alone, for the namespace’s retention',
    organization: 'kept: ids alone, for the namespace’s retention',
    age: 'the namespace’s retention',
  },
  'Mails that were sent, files of MAIL_DIR': {
    person: byOperator,
    run: '-',
    workspace: byOperator,
    organization: byOperator,
    age: byOperator,
  },
  'Logs': {
    person: 'kept: ids alone, by the operator’s own rules',
    run: byOperator,
    workspace: byOperator,
    organization: byOperator,
    age: byOperator,
  },
  'Anchor file of the audit log': { person: '-', run: '-', workspace: '-', organization: 'kept: the id, digests and counts', age: never },
  'Backups': { person: byOperator, run: byOperator, workspace: byOperator, organization: byOperator, age: byOperator },
};
