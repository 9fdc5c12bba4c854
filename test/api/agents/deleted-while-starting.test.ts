import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { until } from '../../support/temporal.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const ask = <T>(sql: string, params: readonly unknown[] = []) => sweep(world.api.db, (em) => rows<T>(em, sql, params));

test.each(['/runs', '/runs/batch'])('an agent deleted between the look-up and the insert of POST %s starts nothing', async (path) => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const start = { agent_id: agent.id, input: { text: 'Hi' }, session_key: 'held' };
  const earlier = await world.call(tokens.member, 'POST', '/runs', { body: start });
  await world.call(tokens.member, 'POST', `/runs/${earlier.body.id}/cancel`);

  // Holds the conversation, so that a start waits there: it has found its agent, and has written nothing.
  const gate = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  const holding = sweep(world.api.db, async (em) => {
    await rows(em, 'select id from conversations where agent_id = ? for update', [agent.id]);
    isHeld.resolve();
    await gate.promise;
  });
  await isHeld.promise;
  const body = path === '/runs' ? start : { runs: [start] };
  const starting = world.call(tokens.member, 'POST', path, { body });
  await until(async () => {
    const waiting = await ask(
      "select from pg_locks where locktype = 'tuple' and relation = 'conversations'::regclass and database = (select oid from pg_database where datname = current_database())",
    );
    return waiting.length > 0;
  });
  const deleted = await world.call(tokens.admin, 'DELETE', `/agents/${agent.id}`);
  gate.resolve();
  await holding;
  const refused = await starting;

  expect(deleted.status).toBe(204);
  const failure = path === '/runs' ? refused.body : refused.body.items[0].error;
  expect(failure).toMatchObject({
    code: 'validation_failed',
    errors: [{ pointer: expect.stringMatching(/agent_id$/), rule: 'reference' }],
  });
  expect(await ask('select id from runs where agent_id = ?', [agent.id])).toHaveLength(1);
});

test('of starts and a deletion at once, either the deletion is refused or no start is accepted', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const start = () => world.call(tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hi' } } });

  const [deletion, ...starts] = await Promise.all([
    world.call(tokens.admin, 'DELETE', `/agents/${agent.id}`),
    ...Array.from({ length: 4 }, start),
  ]);
  const accepted = starts.filter(({ status }) => status === 202);

  expect(await ask('select id from runs where agent_id = ?', [agent.id])).toHaveLength(accepted.length);
  expect(deletion.status).toBe(accepted.length === 0 ? 204 : 409);
});
