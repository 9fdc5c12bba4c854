import type { ToolServer } from '../../fakes/tool-server.ts';
import { created } from '../../support/scenario.ts';
import type { Stack } from '../../support/stack.ts';
import type { Slugs } from './kinds.ts';

/** The agent of one deployment, with every kind of tool, and its helper as a sub-agent. */
export interface Cast {
  readonly slugs: Slugs;
  readonly agentId: string;
}

/** Makes tools and agents through the API. */
export async function makeCast(stack: Stack, tools: ToolServer): Promise<Cast> {
  const end = crypto.randomUUID().slice(0, 8);
  const helper = `helper-${end}`;
  const slugs: Slugs = {
    write: `write-${end}`,
    keyed: `keyed-${end}`,
    read: `read-${end}`,
    hang: `hang-${end}`,
    huge: `huge-${end}`,
    killer: `killer-${end}`,
    gated: `gated-${end}`,
    critical: `critical-${end}`,
    client: `client-${end}`,
    ask: `ask-user-${end}`,
    delegate: `ask_${helper}`,
  };
  const bindings: object[] = [];
  for (const tool of toolsOf(slugs, tools)) {
    const id = await create(stack, '/tools', tool);
    bindings.push({ id, approval: tool['slug'] === slugs.gated ? 'always' : 'default' });
  }
  await create(stack, '/agents', agent(helper, { tools: bindings }));
  return { slugs, agentId: await create(stack, '/agents', agent(`main-${end}`, { tools: bindings, sub_agents: [{ slug: helper }] })) };
}

function toolsOf(slugs: Slugs, server: ToolServer): Record<string, unknown>[] {
  const http = (slug: string, more: Record<string, unknown> = {}, config: Record<string, unknown> = {}) => ({
    slug,
    kind: 'http',
    description: 'Does something that can not be undone.',
    input_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false },
    config: { method: 'POST', url: `${server.origin}/${slug}`, body: { mode: 'json', template: { n: '{{ args.n }}' } }, ...config },
    timeout_s: 20,
    ...more,
  });
  return [
    http(slugs.write),
    http(slugs.keyed, {}, { idempotency_header: 'Idempotency-Key' }),
    http(slugs.read, { effect: 'read' }),
    http(slugs.hang, { effect: 'read', timeout_s: 3 }),
    http(slugs.huge, { effect: 'read', response_max_chars: 2_000 }),
    http(slugs.killer, { effect: 'read' }),
    http(slugs.gated),
    http(slugs.critical, { critical: true }),
    { ...http(slugs.client), config: {}, client_owned: true, timeout_s: 120 },
    { slug: slugs.ask, kind: 'builtin', description: 'Asks a person.', config: { name: 'ask_user' } },
  ];
}

function agent(slug: string, revision: Record<string, unknown>): Record<string, unknown> {
  return { slug, name: 'Agent under test', revision: { instructions: 'Do what the script says.', ...revision }, activate: true };
}

async function create(stack: Stack, path: string, body: Record<string, unknown>): Promise<string> {
  return (await created(stack, path, body)).id;
}
