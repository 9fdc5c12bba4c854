import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change } from '../../../db/sql.ts';
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
  const { tokens, workspaceId } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const body = { agent_id: agent.id, input: { text: 'Hi' } };
  return {
    workspaceId,
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

/** What was counted of few runs does not stand any more. */
const untilCountsAreDue = () => delay(1_100);

test('a workspace has at most 20,000 live runs; one that ends makes room for one', async () => {
  const { start, startTwo } = await scene();
  const first = await start();
  await copies(first.body.id, 19_999);
  await untilCountsAreDue();

  const over = await start();
  await run("update runs set status = 'cancelled', finish_reason = 'cancelled', finished_at = now() where id = ?", [first.body.id]);
  const two = await startTwo();
  const overAgain = await start();

  expect(over).toMatchObject(refused);
  expect(Number(over.headers['retry-after'])).toBeGreaterThan(0);
  expect(two.body.items.map((item: { status: string }) => item.status)).toEqual(['created', 'failed']);
  expect(two.body.items[1].error).toMatchObject({ code: 'rate_limited' });
  expect(overAgain).toMatchObject(refused);
});

test('few live runs are counted once a second, many at each start', async () => {
  const { start } = await scene();
  const counts = async () => {
    statements.length = 0;
    const answers = [];
    for (let n = 0; n < 8; n++) answers.push(await start());
    return { answers, counted: statements.filter((sql) => sql.includes('as "liveRuns"')).length };
  };

  const few = await counts();
  await copies(few.answers[0]?.body.id, 10_001);
  await untilCountsAreDue();
  const many = await counts();

  expect([...few.answers, ...many.answers].map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 202));
  expect(few.counted).toBeLessThan(8);
  expect(many.counted).toBe(8);
});

test('what a foreign caller asks for says nothing about the runs of a workspace', async () => {
  const { start, workspaceId } = await scene();
  const { tokens } = await world.tenant();
  const first = await start();
  await copies(first.body.id, 19_999);
  await untilCountsAreDue();

  const body = { agent_id: first.body.agent_id, workspace_id: workspaceId, input: { text: 'Hi' } };
  const foreign = await world.call(tokens.member, 'POST', '/runs', { body });
  const own = await start();

  expect(foreign).toMatchObject({ status: 422, body: { errors: [{ pointer: '/workspace_id', rule: 'reference' }] } });
  expect(own).toMatchObject(refused);
});
