import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/scope.ts';
import { change } from '../../../db/sql.ts';
import { until } from '../../support/temporal.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

const statements: string[] = [];
let world: World;

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});

afterAll(() => world.close());

const run = (sql: string, params: unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const refused = { status: 429, body: { code: 'rate_limited', context: { reason: 'live_runs' } } };

async function scene() {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const body = { agent_id: agent.id, input: { text: 'Hi' } };
  return {
    start: () => world.call(tokens.member, 'POST', '/runs', { body }),
    startTwo: () => world.call(tokens.member, 'POST', '/runs/batch', { body: { items: [body, body] } }),
  };
}

/** Live runs in the place of the one given. */
const copies = (runId: string, count: number) =>
  run(
    `insert into runs select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid()))).* from runs r, generate_series(1, ?::int) where r.id = ?`,
    [count, runId],
  );

test('a workspace has at most 20,000 live runs; one that ends makes room for one', async () => {
  const { start, startTwo } = await scene();
  const first = await start();
  await copies(first.body.id, 19_999);

  // A count of few runs stands for a second.
  await until(async () => (await start()).status === 429, 10_000);
  const over = await start();
  await run("update runs set status = 'cancelled', finish_reason = 'cancelled', finished_at = now() where id = ?", [first.body.id]);
  const two = await startTwo();

  expect(over).toMatchObject(refused);
  expect(Number(over.headers['retry-after'])).toBeGreaterThan(0);
  expect(two.body.items.map((item: { status: string }) => item.status)).toEqual(['created', 'failed']);
  expect(two.body.items[1].error).toMatchObject({ code: 'rate_limited' });
  expect(await start()).toMatchObject(refused);
});

test('the live runs of a workspace are counted about once a second while they are few, and at each start when they are many', async () => {
  const { start } = await scene();
  const counted = async () => {
    statements.length = 0;
    for (let n = 0; n < 8; n++) expect((await start()).status).toBe(202);
    return statements.filter((sql) => sql.includes('as live_runs') && sql.includes('from runs l')).length;
  };

  const few = await counted();
  await copies((await start()).body.id, 10_001);
  await until(async () => (await counted()) === 8, 10_000);

  expect(few).toBeLessThan(8);
});
