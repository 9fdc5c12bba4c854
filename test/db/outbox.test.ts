import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { addOutbox, withdrawStarts } from '../../db/outbox.ts';
import { loadOutbox, markOutboxFailed, markOutboxSent, sweepOutbox, takeDueOutbox } from '../../db/outbox-sending.ts';
import { runStartMessage } from '../../db/runs/start/conversations.ts';
import { isRunStart } from '../../workflows/contracts/outbox.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { change, rows } from '../../db/sql.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeWorld, type World } from './world.ts';

let database: TestDatabase;
let world: World;

beforeAll(async () => {
  database = await testDatabase();
  world = await makeWorld(database.db);
});
afterAll(() => database.drop());

const inWorld = <R>(work: Parameters<typeof transact<R>>[2]) =>
  transact(
    database.db,
    { tenant: workspaceTenant(world.organizationId, world.workspaceIds[0] ?? ''), actor: systemActor, correlationId: newId() },
    work,
  );
const runStart = (id: string) =>
  runStartMessage(
    { id, organizationId: world.organizationId, workspaceId: world.workspaceIds[0] ?? '', agentId: newId(), source: 'api' },
    newId(),
  );
const cancel = (workflowId: string) => ({ kind: 'workflow.cancel' as const, workflowId });
const take = (limit: number, withRunStarts = true) =>
  sweep(database.db, (em) => takeDueOutbox(em, { limit, olderThanMs: 0, withRunStarts }));

test('one key is one message, also when two transactions write it at once', async () => {
  const key = newId();

  const outcomes = await Promise.all([1, 2, 3].map(() => inWorld((tx) => addOutbox(tx, cancel(key), { dedupeKey: key }))));
  const again = await inWorld((tx) => addOutbox(tx, cancel(key), { dedupeKey: key }));

  const ids = outcomes.flatMap(({ value }) => (value === null ? [] : [value]));
  expect(ids).toHaveLength(1);
  expect(outcomes.flatMap(({ outgoing }) => outgoing.outboxIds)).toEqual(ids);
  expect(again).toMatchObject({ value: null, outgoing: { outboxIds: [] } });
});

test('a message stands with its row in the tenant, and a rolled back one never was', async () => {
  const { value } = await inWorld((tx) => addOutbox(tx, cancel('run:1'), { dedupeKey: newId() }));
  await expect(
    inWorld(async (tx) => {
      await addOutbox(tx, cancel('run:gone'), { dedupeKey: newId() });
      throw new Error('no');
    }),
  ).rejects.toThrow('no');

  const loaded = await sweep(database.db, (em) => loadOutbox(em, [value ?? '']));
  const gone = await sweep(database.db, (em) => rows(em, "select from outbox where target = 'run:gone'"));

  expect(loaded).toMatchObject([
    { id: value, kind: 'workflow.cancel', message: cancel('run:1'), attempts: 0, organizationId: world.organizationId },
  ]);
  expect(loaded[0]?.createdAt).toBeInstanceOf(Date);
  expect(gone).toEqual([]);
});

test('a taken message is leased: nobody else gets it until the lease ends, and never once it was sent', async () => {
  await clear();
  const { value: id } = await inWorld((tx) => addOutbox(tx, cancel('run:2'), { dedupeKey: newId() }));

  const [first, second] = await Promise.all([take(10), take(10)]);
  await sweep(database.db, (em) => markOutboxFailed(em, id ?? '', 'unreachable'));
  const [left] = await sweep(database.db, (em) =>
    rows<{ attempts: number; last_error: string; leased: boolean }>(
      em,
      'select attempts, last_error, not_before > now() as leased from outbox where id = ?',
      [id],
    ),
  );
  await sweep(database.db, (em) => markOutboxSent(em, [id ?? '']));
  await sweep(database.db, (em) => change(em, "update outbox set not_before = now() - interval '1 hour'"));

  expect([...first, ...second].map((message) => message.id)).toEqual([id]);
  expect(left).toEqual({ attempts: 1, last_error: 'unreachable', leased: true });
  expect(await take(10)).toEqual([]);
  expect(await sweep(database.db, (em) => loadOutbox(em, [id ?? '']))).toEqual([]);
});

test('a try that fails after its message was taken back or sent does not change how the message ended', async () => {
  const [withdrawn, sent] = [newId(), newId()];
  const { value: ids } = await inWorld(async (tx) => [
    await addOutbox(tx, runStart(withdrawn), { dedupeKey: withdrawn }),
    await addOutbox(tx, runStart(sent), { dedupeKey: sent }),
  ]);
  const [withdrawnId = '', sentId = ''] = ids.map(String);
  await inWorld((tx) => withdrawStarts(tx, [withdrawn]));
  await sweep(database.db, (em) => markOutboxSent(em, [sentId]));

  await sweep(database.db, async (em) => {
    for (const id of [withdrawnId, sentId]) await markOutboxFailed(em, id, 'late');
  });

  const ends = await sweep(database.db, (em) =>
    rows(em, 'select last_error from outbox where id in (?, ?) order by last_error', [withdrawnId, sentId]),
  );
  expect(ends).toEqual([{ last_error: 'withdrawn' }, { last_error: null }]);
});

test('workspaces take turns: one with a crowd of messages keeps no other waiting', async () => {
  await clear();
  const [crowded = '', small = ''] = [world.workspaceIds[0], newId()];
  const of = (workspaceId: string, count: number) =>
    transact(
      database.db,
      { tenant: workspaceTenant(world.organizationId, workspaceId), actor: systemActor, correlationId: newId() },
      async (tx) => {
        const made = [];
        for (let n = 0; n < count; n++) made.push(await addOutbox(tx, cancel(`run:${workspaceId}:${n}`), { dedupeKey: newId() }));
        return made;
      },
    );
  await of(crowded, 300);
  const { value: late } = await of(small, 1);

  const [first, second] = await Promise.all([take(5), take(5)]);

  expect([...first, ...second].map((message) => message.id)).toContain(late[0]);
  expect(new Set([...first, ...second].map((message) => message.id)).size).toBe(10);
});

test('within a workspace what tells of work goes before what starts more', async () => {
  await clear();
  await inWorld(async (tx) => {
    for (let n = 0; n < 20; n++) {
      const message = runStart(newId());
      await addOutbox(tx, message, { dedupeKey: message.workflowId });
    }
    await addOutbox(tx, cancel('run:4'), { dedupeKey: newId() });
    const other = { ...runStart(newId()), workflowType: 'bulkCancel', workflowId: 'cancel:5' };
    await addOutbox(tx, other, { dedupeKey: other.workflowId });
  });

  const [first, rest] = [await take(3), await take(20, false)];

  expect(first.map(({ message }) => isRunStart(message)).toSorted()).toEqual([false, false, true]);
  expect(rest).toEqual([]);
});

test('a message with a time waits for it, and is not handed to the committing process', async () => {
  await clear();
  const { outgoing } = await inWorld((tx) =>
    addOutbox(tx, cancel('run:3'), { dedupeKey: newId(), notBefore: new Date(Date.now() + 60_000) }),
  );

  expect(outgoing.outboxIds).toEqual([]);
  expect(await take(10)).toEqual([]);
});

test('sent messages go after a day, unsent ones stay', async () => {
  await clear();
  await inWorld((tx) => addOutbox(tx, cancel('old'), { dedupeKey: newId() }));
  await inWorld((tx) => addOutbox(tx, cancel('unsent'), { dedupeKey: newId() }));
  await sweep(database.db, (em) => change(em, "update outbox set sent_at = now() - interval '25 hours' where target = 'old'"));

  expect(await sweep(database.db, (em) => sweepOutbox(em, 100))).toBe(1);
  expect(await sweep(database.db, (em) => rows(em, 'select target from outbox'))).toEqual([{ target: 'unsent' }]);
});

async function clear(): Promise<void> {
  await sweep(database.db, (em) => change(em, 'delete from outbox'));
}
