/** Where a text stands. */
interface Place {
  readonly field: string;
  readonly area: string;
}

/** Readable words for the marks of the world of the access tests, by table and column, or by column alone. */
const byColumn: Readonly<Record<string, string>> = {
  'organizations.name': 'Acme',
  'organizations.slug': 'acme',
  'workspaces.name': 'Support',
  'workspaces.description': 'Answers the questions of customers',
  'users.full_name': 'Ada Lovelace',
  'users.email': 'ada@example.com',
  'invitations.email': 'grace@example.com',
  'service_keys.name': 'Order desk',
  'agents.name': 'Support',
  'agents.description': 'Answers the questions of customers.',
  'agents.image_url': 'support.png',
  'agent_revisions.document': 'Answer the customer, briefly.',
  'agent_revisions.note': 'shorter answers',
  'personas.name': 'Formal',
  'personas.document': 'Address the user formally.',
  'tools.display_name': 'Find an order',
  'tools.description': 'Finds an order by its number.',
  'toolkits.name': 'Orders',
  'toolkits.description': 'Finds and changes orders.',
  'skills.name': 'Refunds',
  'skills.description': 'How to decide on a refund.',
  'skills.instructions': 'Read the order, then compare with the limits.',
  'runs.input': 'Where is my order 1007?',
  'runs.output': 'It left the warehouse this morning.',
  'messages.content': 'Where is my order 1007?',
  'knowledge_bases.name': 'Handbook',
  'knowledge_bases.description': 'How we work.',
  'knowledge_items.title': 'Refunds',
  'knowledge_items.content': 'Refunds up to 50 EUR need no approval.',
  'knowledge_items.external_id': 'handbook/refunds',
  'knowledge_sources.title': 'Refund rules',
  'knowledge_chunks.content': 'Refunds up to 50 EUR need no approval.',
  'schedules.name': 'Morning report',
  'schedules.prompt_template': 'Write the report of {{ schedule.local_time }}.',
  'webhook_endpoints.prompt_template': 'An order came in: {{ body | json | fence }}',
  'event_triggers.name': 'Large orders',
  'event_triggers.prompt_template': 'An order was paid: {{ event.payload | json | fence }}',
  'channels.name': 'Support desk',
  'repo_bindings.repo_full_name': 'acme/shop',
  'repo_bindings.repo_key': 'acme/shop',
  'review_playbooks.name': 'Strict',
  'review_findings.title': 'The total is rounded twice',
  'alert_rules.name': 'Spend of an hour',
  'alerts.title': 'Spend of an hour is above 25 EUR',
  'approvals.prompt': 'Refund 40 EUR for order 1007?',
  'oauth_clients.client_name': 'Dashboard',
  'oauth_clients.client_id': 'lh_oc_example',
  'impersonations.reason': 'Support case 4711',
};

const byName: Readonly<Record<string, string>> = {
  slug: 'support',
  agent_slug: 'support',
  tool_slug: 'find_order',
  session_key: 'chat-42',
  subject_id: 'customer-7',
  name: 'orders_key',
  note: 'checked',
  model: 'builtin/extractive',
  provider: 'builtin',
  tier: 'standard',
  provider_request_id: 'req_example',
  attributes: 'example',
  metadata: 'example',
  args: 'example',
  user_agent: 'Firefox',
};

const slugByArea: Readonly<Record<string, string>> = {
  'Tools': 'find_order',
  'Skills': 'refunds',
  'Knowledge': 'handbook',
  'Knowledge maintenance': 'handbook',
  'Triggers': 'orders',
  'Code review': 'strict',
  'Organizations & workspaces': 'support',
};

const canary = /canary\.[a-z0-9]+\.([a-z_]+)\.([a-z_]+)(?:\.[0-9a-f-]{36})?(?:@canary\.test)?/gi;

/** A text of a test as a reader would write it. */
export function wordFor(text: string, { field, area }: Place): string {
  return text
    .replaceAll(canary, (_, table: string, column: string) => byColumn[`${table}.${column}`] ?? byName[column] ?? spelt(column))
    .replaceAll(/\btwin(?:-[0-9a-f-]{36})?\b/g, () => (field === 'slug' ? (slugByArea[area] ?? 'support') : (byName[field] ?? 'example')))
    .replaceAll(/\bs-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, slugByArea[area] ?? 'support')
    .replaceAll(/\be-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}@canary\.test/g, 'grace@example.com')
    .replaceAll(/-zz\d+\b/g, '')
    .replaceAll('canary.test', 'example.com')
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'https://longhaul.test')
    .replaceAll('http://longhaul.test', 'https://longhaul.test')
    .replaceAll('127.0.0.1', '192.0.2.10')
    .replaceAll('127.0.0.0/', '192.0.2.0/');
}

function spelt(column: string): string {
  const words = column.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
