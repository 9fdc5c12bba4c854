import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, openWorld, type World } from '../world.ts';

const statements: string[] = [];
let world: World;

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});

afterAll(() => world.close());

/** Statements of one request, but for its authentication, the tenant's settings and what the dispatcher of an earlier one still sends. */
async function statementsOf(request: () => Promise<{ status: number }>): Promise<string[]> {
  statements.length = 0;
  expect((await request()).status).toBeLessThan(300);
  return statements.filter((sql) => !/gate_|set_config|from "outbox"|update "outbox"/.test(sql));
}

test('POST /runs takes 6 or 7 statements, begin and commit among them, and one more once a second', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const start = (extra: object) => () =>
    world.call(tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hi' }, ...extra } });

  const all = [
    await statementsOf(start({})),
    await statementsOf(start({ session_key: 's' })),
    await statementsOf(start({ session_key: 's' })),
  ];

  const beginSettingsCommit = 3;
  const isCountOfLiveRuns = (sql: string) => sql.includes('as "liveRuns"');
  expect(all.map((sent) => sent.filter((sql) => !isCountOfLiveRuns(sql)).length + beginSettingsCommit)).toEqual([6, 7, 7]);
});

test("reading takes at most two queries beside the tenant's settings", async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const tool = await world.call(tokens.admin, 'POST', '/tools', { body: { slug: 'web', kind: 'web_fetch', description: 'x' } });
  const run = await world.call(tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hi' } } });
  const paths = {
    [`/runs/${run.body.id}`]: 1,
    '/runs': 1,
    '/runs?offset=0': 2,
    [`/runs/${run.body.id}/messages`]: 2,
    [`/runs/${run.body.id}/steps`]: 2,
    [`/runs/${run.body.id}/wait?timeout_s=0`]: 1,
    [`/agents/${agent.id}`]: 1,
    '/agents': 1,
    [`/agents/${agent.id}/revisions`]: 2,
    [`/agents/${agent.id}/revisions/${agent.active_revision_id}`]: 1,
    [`/tools/${tool.body.id}`]: 1,
    '/tools': 1,
  };

  for (const [path, limit] of Object.entries(paths)) {
    const taken = await statementsOf(() => world.call(tokens.viewer, 'GET', path));
    expect([path, taken.length]).toEqual([path, limit]);
  }
});
