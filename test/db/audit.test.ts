import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { boundedChanges, writeAudit } from '../../db/audit/audit.ts';
import { newId } from '../../db/ids.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/scope.ts';
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
  await transact(database.db, options(), (unit) =>
    writeAudit(unit, { action: 'update', operationId: 'setUserRole', note, ip: '10.0.0.1', userAgent: 'x'.repeat(900) }),
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

function options() {
  return { tenant: workspaceTenant(world.organizationId, world.workspaceIds[0] ?? ''), actor: systemActor, correlationId: newId() };
}
