import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { knowledgeCalls } from '../support/knowledge.ts';
import { execute, grantAgent, itemsOf, makeBase, played } from './knowledge-run.ts';
import { holdStatements } from '../support/held-statements.ts';
import { reembedWorld, startedReembed, type ReembedWorld } from './reembed-world.ts';

let models: ModelServer;
let stack: Stack;
let world: ReembedWorld;
const { sql, addItems } = knowledgeCalls(() => stack);

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs', 'worker-bulk'], modelBaseUrl: models.baseUrl });
  world = reembedWorld(stack);
});
afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

const tool = (name: string) => ({ slug: name, kind: 'builtin', description: name, config: { name } });

interface Cited {
  readonly kb_id: string;
  readonly quote: string;
}

const known = ['The harbour is deep in spring.', 'The harbour is shallow in autumn.', 'Ships leave the harbour at dawn.'];

/** A person with a grant, who searches every base that they may read and writes into the one that is found. */
function personOf(grantee: { readonly token: string }) {
  const lacking: string[] = [];
  const written: string[] = [];
  const refused = new Set<number>();
  let turns = 0;
  return {
    lacking,
    written,
    refused,
    turns: () => turns,
    async turn() {
      const credential = grantee.token;
      const found: { status: number; body: { hits: Cited[] } } = await stack.request('POST', '/knowledge/search', {
        credential,
        body: { query: 'harbour', mode: 'lexical', top_k: 50 },
      });
      const hits = found.body.hits.filter(({ quote }) => known.includes(quote));
      lacking.push(...known.filter((quote) => hits.filter((hit) => hit.quote === quote).length !== 1));
      const content = `A person was here, turn ${written.length}.`;
      const { status } = await stack.request('POST', `/knowledge-bases/${hits[0]?.kb_id ?? ''}/items`, {
        credential,
        body: { content },
      });
      if (status === 201) written.push(content);
      else refused.add(status);
      turns += 1;
    },
  };
}

/** An agent with a grant, whose runs search and write. */
function agentOf(agentId: string) {
  const lacking: string[] = [];
  const written: string[] = [];
  const outcomes = new Set<unknown>();
  let turns = 0;
  return {
    lacking,
    written,
    outcomes,
    turns: () => turns,
    async turn() {
      const content = `The agent was here, turn ${turns}.`;
      const calls = [
        { name: 'knowledge_search', arguments: { query: 'harbour' } },
        { name: 'knowledge_write', arguments: { content } },
      ];
      const { results } = await played(
        stack,
        agentId,
        scripted({ steps: [...calls.map((call) => ({ tool_calls: [call] })), { text: 'Done.' }] }),
      );
      lacking.push(...known.filter((quote) => !JSON.stringify(results[0]).includes(quote)));
      outcomes.add((results[1]?.['output'] as { status?: unknown } | undefined)?.status);
      written.push(content);
      turns += 1;
    },
  };
}

test('who searches and writes through a grant while the base is embedded afresh loses no hit, and each write lands once', async () => {
  const base = await makeBase(stack, { isPrivate: true });
  const { organizationId, workspaceId, users } = stack.tenant;
  const grant = (kind: string, id: string | null, more: { role: string | null; access: string }) =>
    execute(
      stack,
      `insert into knowledge_grants (id, kb_id, organization_id, workspace_id, principal_kind, principal_id, role, access) values (?, ?, ?, ?, ?, ?, ?, ?)`,
      [newId(), base.id, organizationId, workspaceId, kind, id, more.role, more.access],
    );
  await grant('role', null, { role: 'admin', access: 'manage' });
  await grant('user', users.member.id, { role: null, access: 'write' });
  const agent = await makeAgent(stack, [tool('knowledge_search'), tool('knowledge_write')]);
  await grantAgent(stack, base.id, agent.id, 'write');
  await addItems(
    base.id,
    known.map((content) => ({ content })),
  );
  const [person, robot] = [personOf(users.member), agentOf(agent.id)];
  const over = new AbortController();
  const loop = async (one: { turn(): Promise<void> }) => {
    while (!over.signal.aborted) {
      await one.turn();
      await delay(100); // the machine has other tests
    }
  };
  const turns = async (n: number) => {
    const from = [person, robot].map((one) => one.turns());
    await until(() => [person, robot].every((one, at) => one.turns() >= (from[at] ?? 0) + n));
  };

  const loops = Promise.all([loop(person), loop(robot)]);
  await turns(1);
  const held = await holdStatements(stack.adminUrl, { table: 'knowledge_vectors', event: 'insert' });
  const { runId, target } = await startedReembed(world, base.id, 'hash-v1');
  await held.reached();
  await turns(2); // of which one has begun meanwhile
  await held.letGo();
  expect((await world.ended(runId)).status).toBe('succeeded');
  over.abort();
  await loops;
  await Promise.all([person.turn(), robot.turn()]);

  expect([person.lacking, robot.lacking]).toEqual([[], []]);
  expect([...person.refused]).toEqual([423]);
  expect([...robot.outcomes].toSorted()).toEqual(['deferred', 'written']);
  const wanted = [...known, ...person.written, ...robot.written].toSorted();
  await until(async () => (await itemsOf(stack, target)).length >= wanted.length);
  expect((await itemsOf(stack, target)).map(({ content }) => content).toSorted()).toEqual(wanted);
  const [old] = await sql<{ n: number }>(
    'select count(*)::int as n from knowledge_items where kb_id = ? and created_at > (select cut_over_at from knowledge_runs where id = ?)',
    [base.id, runId],
  );
  expect(old?.n).toBe(0);
});
