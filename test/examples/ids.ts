/** Kinds of rows, each with ids of its own in examples; a new one goes to the end, so that the others keep theirs. */
const kinds = [
  'other',
  'organization',
  'workspace',
  'user',
  'session',
  'service_key',
  'agent',
  'revision',
  'persona',
  'tool',
  'toolkit',
  'skill',
  'run',
  'message',
  'step',
  'tool_call',
  'approval',
  'conversation',
  'attachment',
  'kb',
  'item',
  'source',
  'grant',
  'relation',
  'finding',
  'chunk',
  'schedule',
  'occurrence',
  'backfill',
  'endpoint',
  'delivery',
  'trigger',
  'event',
  'channel',
  'binding',
  'playbook',
  'evaluation_run',
  'rule',
  'alert',
  'price',
  'impersonation',
  'invitation',
  'purge',
  'entry',
  'secret',
  'client',
  'transaction',
  'challenge',
  'correlation',
  'budget',
  'case',
];

/** What fields call a kind beside its name. */
const otherNames: Readonly<Record<string, string>> = {
  acting_user: 'user',
  actor: 'user',
  agent_revision: 'revision',
  active_revision: 'revision',
  cause_run: 'run',
  created_by_user: 'user',
  evaluation: 'evaluation_run',
  impersonator_user: 'user',
  invited_by_user: 'user',
  knowledge_base: 'kb',
  knowledge_item: 'item',
  operator_user: 'user',
  owner: 'user',
  parent_run: 'run',
  playbook_revision: 'revision',
  repo_binding: 'binding',
  reviewer_agent: 'agent',
  root_run: 'run',
  service_keys: 'service_key',
  target_user: 'user',
  toolkit_revision: 'revision',
  webhook_endpoint: 'endpoint',
  webhook_delivery: 'delivery',
};

/** Gives ids of examples: the same for the same id, and alike in all examples for the first row of a kind. */
export function createIds(): (id: string, field: string) => string {
  const given = new Map<string, string>();
  const counts = new Map<number, number>();
  return (id, field) => {
    const known = given.get(id.toLowerCase());
    if (known) return known;
    const kind = Math.max(0, kinds.indexOf(kindOf(field)));
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const made = `01960000-0000-7000-8000-${String(kind * 10_000 + count).padStart(12, '0')}`;
    given.set(id.toLowerCase(), made);
    return made;
  };
}

function kindOf(field: string): string {
  const bare = field.replace(/_ids?$/, '');
  if (kinds.includes(bare)) return bare;
  return otherNames[bare] ?? kinds.find((kind) => kind !== 'other' && bare.endsWith(`_${kind}`)) ?? 'other';
}
