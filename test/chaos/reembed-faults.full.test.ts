import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { isWholeMatrix } from './whole.ts';
import { paid, startPaidStack, type PaidStack } from '../workflows/paid-stack.ts';
import { holdStatements, type Stop } from '../support/held-statements.ts';
import {
  expectCopied,
  leftOf,
  mixedBase,
  pictureOf,
  reembedWorld,
  runOf,
  startedReembed,
  type ReembedWorld,
  type StartedReembed,
} from '../workflows/reembed-world.ts';

let deployment: PaidStack;
let stack: Stack;
let world: ReembedWorld;

beforeAll(async () => {
  deployment = await startPaidStack({ processes: ['api', 'worker-bulk'] });
  ({ stack } = deployment);
  world = reembedWorld(stack);
});
beforeEach(() => deployment.reset());
afterAll(() => deployment?.stop());

const filledBase = () => mixedBase(world);
const expectCutOver = (kbId: string, run: StartedReembed, before: unknown) =>
  expectCopied(world, { kbId, before, inputs: deployment.inputs }, run);

async function expectAsBefore(kbId: string, { target }: { target: string }, before: unknown): Promise<void> {
  expect(await leftOf(world, target)).toEqual({});
  expect(await pictureOf(world, kbId)).toEqual(before);
  const [base] = await world.sql('select is_frozen, successor_id from knowledge_bases where id = ?', [kbId]);
  expect(base).toEqual({ is_frozen: false, successor_id: null });
  expect(
    await world.sql('select id from knowledge_chunks c where not exists (select from knowledge_bases b where b.id = c.kb_id)'),
  ).toEqual([]);
}

const stops: readonly (readonly [string, Stop])[] = [
  ['copies items', { table: 'knowledge_items', event: 'insert', when: 'new.predecessor_item_id is not null' }],
  ['writes chunks', { table: 'knowledge_chunks', event: 'insert', when: 'new.predecessor_chunk_id is not null' }],
  ['writes vectors', { table: 'knowledge_vectors', event: 'insert' }],
  ['keeps what a call gave', { table: 'knowledge_embedding_cache', event: 'insert' }],
  [
    'notes how far it is',
    { table: 'knowledge_runs', event: 'update', when: 'new.cursor is distinct from old.cursor and new.cursor is not null' },
  ],
  ['copies relations', { table: 'knowledge_relations', event: 'insert' }],
  ['moves grants', { table: 'knowledge_grants', event: 'update' }],
  ['cuts over', { table: 'knowledge_bases', event: 'update', when: 'new.activated_at is not null and old.activated_at is null' }],
  ['ends the run', { table: 'knowledge_runs', event: 'update', when: 'new.finished_at is not null and old.finished_at is null' }],
];

/** In `npm test` one place of each fault, before the cut-over or in it. */
const played = <T extends string | readonly [string, ...unknown[]]>(places: readonly T[], always: readonly string[]): T[] =>
  places.filter((place) => isWholeMatrix || always.includes(typeof place === 'string' ? place : place[0]));

const stopOf = (name: string) =>
  stops.find(([known]) => known === name)?.[1] ?? stops[0]?.[1] ?? { table: 'knowledge_items', event: 'insert' };
/** Longer than an activity may be silent. */
const givenUpMs = 15_000;

test.each(played(stops, ['cuts over']))(
  'a worker that is killed while it %s leaves the same in the end; nothing is billed twice',
  async (_, stop) => {
    const kbId = await filledBase();
    await world.asked('POST', `/knowledge-bases/${kbId}/grants`, { principal_kind: 'role', role: 'viewer', access: 'write' });
    const before = await pictureOf(world, kbId);
    const held = await holdStatements(stack.adminUrl, stop);
    const run = await startedReembed(world, kbId, paid.id);
    await held.reached();

    await stack.kill('worker-bulk');
    await held.letGo();
    await stack.start('worker-bulk');

    await expectCutOver(kbId, run, before);
  },
);

const takenBack = [
  ['deletes items', { table: 'knowledge_items', event: 'delete' }],
  ['deletes the base', { table: 'knowledge_bases', event: 'delete' }],
] as const satisfies readonly (readonly [string, Stop])[];

test.each(played<readonly [string, Stop]>(takenBack, ['deletes items']))(
  'a worker that is killed while it %s of a cancelled re-embed leaves what was before',
  async (_, stop) => {
    const kbId = await filledBase();
    const before = await pictureOf(world, kbId);
    const cutting = await holdStatements(stack.adminUrl, { table: 'knowledge_relations', event: 'insert' });
    const run = await startedReembed(world, kbId, paid.id);
    await cutting.reached();
    await world.asked('POST', `/knowledge-maintenance-runs/${run.runId}/cancel`).catch(() => undefined);
    await cutting.letGo();
    const held = await holdStatements(stack.adminUrl, stop);
    await held.reached();

    await stack.kill('worker-bulk');
    await held.letGo();
    await stack.start('worker-bulk');

    expect((await world.ended(run.runId)).status).toBe('cancelled');
    await expectAsBefore(kbId, run, before);
  },
);

test.each(played(['writes vectors', 'cuts over'], ['writes vectors']))(
  'a worker that is frozen while it %s, given up and thawed leaves the same in the end',
  async (name) => {
    const kbId = await filledBase();
    await world.asked('POST', `/knowledge-bases/${kbId}/grants`, { principal_kind: 'role', role: 'viewer', access: 'write' });
    const before = await pictureOf(world, kbId);
    const held = await holdStatements(stack.adminUrl, stopOf(name));
    const run = await startedReembed(world, kbId, paid.id);
    await held.reached();

    await stack.kill('worker-bulk', 'SIGSTOP');
    await delay(givenUpMs);
    await held.letGo();
    await stack.kill('worker-bulk', 'SIGCONT');

    await expectCutOver(kbId, run, before);
  },
);

test.each(played(['copies items', 'writes vectors', 'cuts over'], ['cuts over']))(
  'connections that PostgreSQL ends while a worker %s leave the same in the end',
  async (name) => {
    const kbId = await filledBase();
    const before = await pictureOf(world, kbId);
    const held = await holdStatements(stack.adminUrl, stopOf(name));
    const run = await startedReembed(world, kbId, paid.id);
    await held.reached();

    await held.endConnections();
    await held.letGo();

    await expectCutOver(kbId, run, before);
  },
);

test('an API killed between a re-embed and its answer: the same key gives the same base', async () => {
  const kbId = await filledBase();
  const before = await pictureOf(world, kbId);
  const asks = () =>
    stack.request('POST', `/knowledge-bases/${kbId}/reembed`, {
      body: { slug: `copy-${kbId}`, embedding_model: paid.id },
      headers: { 'idempotency-key': `copy-${kbId}` },
    });
  deployment.server.reply = () => true; // no answer: the API waits for the cut-over
  const first = asks().then(
    () => 'answered',
    () => 'cut off',
  );
  const run = await runOf(world, kbId);
  await stack.kill('api');
  expect(await first).toBe('cut off');
  await stack.start('api');

  // The key is the dead process's for 90 s.
  let again = await asks();
  await until(async () => (again = await asks()).status !== 409);

  expect([again.status, again.headers.get('x-run-id')]).toEqual([201, run.runId]);
  expect(again.body).toMatchObject({ id: run.target });
  expect(await world.sql('select id from knowledge_runs where kb_id = ?', [kbId])).toEqual([{ id: run.runId }]);
  deployment.server.reply = null;
  await stack.kill('worker-bulk'); // whose call hangs
  await stack.start('worker-bulk');
  await expectCutOver(kbId, run, before);
});
