import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { boundedChanges, writeAudit } from '../../db/audit/audit.ts';
import { newId } from '../../db/ids.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeWorld, type World } from './world.ts';

let database: TestDatabase;
let world: World;

beforeAll(async () => {
  database = await testDatabase();
  world = await makeWorld(database.db);
});
afterAll(() => database.drop());

test('an audit entry says who did what in the tenant, without secrets, addresses and names', async () => {
  const note = {
    resourceType: 'user',
    resourceId: 'u1',
    changes: { email: { from: 'a@b.c', to: 'd@e.f' }, role: { from: 'member', to: 'admin' }, password: { to: 'hunter2' } },
  };
  await transact(database.db, options(), (tx) =>
    writeAudit(tx, { action: 'update', operationId: 'setUserRole', note, ip: '10.0.0.1', userAgent: 'x'.repeat(900) }),
  );

  const [entry] = await sweep(database.db, (em) => rows<Record<string, unknown>>(em, 'select * from audit_entries'));

  expect(entry).toMatchObject({
    organization_id: world.organizationId,
    actor_kind: 'system',
    action: 'update',
    outcome: 'success',
    operation_id: 'setUserRole',
    seal_no: null,
  });
  expect(entry?.['changes']).toEqual({ email: { changed: true }, role: { from: 'member', to: 'admin' }, password: { changed: true } });
  expect(entry?.['user_agent']).toHaveLength(400);
});

test('changes are bounded: 50 fields, 500 characters, 16 KiB, and say that they were cut', () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`f${at}`, { from: at, to: at + 1 }]));
  const big = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, { from: 'ä'.repeat(600), to: 'x' }]));

  expect(Object.keys(boundedChanges(many))).toHaveLength(51);
  expect(boundedChanges(many)['truncated']).toBe(true);
  expect(boundedChanges(big)['f0']).toEqual({ from: 'ä'.repeat(500), to: 'x', truncated: true });
  expect(Buffer.byteLength(JSON.stringify(boundedChanges(big)))).toBeLessThanOrEqual(16_384);
  expect(boundedChanges({})).toEqual({});
});

test('times are written as on the wire, wherever they come from; text that only looks like one stays', () => {
  const wire = '2026-01-31T10:20:30.500Z';
  const changes = {
    ended_at: { from: null, to: '2026-01-31 10:20:30.5+00' },
    expires_at: { from: '2026-01-31T12:20:30.5+02:00', to: new Date(wire) },
    purge_after: { to: '2026-01-31 10:20:30+00' },
    seen: { to: new Date(wire) },
    name: { to: '2026-01-31 10:20:30+00' },
    asked_at: { to: 'never' },
  };

  expect(boundedChanges(changes)).toEqual({
    ended_at: { from: null, to: wire },
    expires_at: { from: wire, to: wire },
    purge_after: { from: null, to: '2026-01-31T10:20:30.000Z' },
    seen: { from: null, to: wire },
    name: { from: null, to: '2026-01-31 10:20:30+00' },
    asked_at: { from: null, to: 'never' },
  });
});

function options() {
  return { tenant: workspaceTenant(world.organizationId, world.workspaceIds[0] ?? ''), actor: systemActor, correlationId: newId() };
}
