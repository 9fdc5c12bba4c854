import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import type { Changing } from '../../db/scope.ts';
import { sweep } from '../../db/transaction.ts';
import { change, rows } from '../../db/sql.ts';
import { lockGrantee } from '../../db/tenancy/workspaces/grants.ts';
import { putGrant, removeGrant } from '../../domain/tenancy/grants.ts';
import { listMemberRows } from '../../db/tenancy/people/members.ts';
import { handOver } from '../../domain/tenancy/ownership.ts';
import { lockWorkspace } from '../../domain/tenancy/workspaces.ts';
import { callerOf } from '../support/caller.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { withAdmin } from '../support/template.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';
import { asHandler } from './world.ts';

let database: TestDatabase;
let tenant: TestTenant;

beforeAll(async () => {
  database = await testDatabase();
  tenant = await makeTenant(database.db, randomKeyRing(), { workspaces: 2 });
});
afterAll(() => database.drop());

const asOwner = <R>(work: (ctx: Changing) => Promise<R>) =>
  asHandler(database.db, callerOf({ organizationId: tenant.organizationId, workspaceId: null, role: 'owner' }), work);

test('a grant that is made or ended has the open streams of the user looked at at once, one that was held already has not', async () => {
  const { users, workspaceIds } = tenant;

  const told = await asOwner(async (ctx) => {
    const workspace = await lockWorkspace(ctx, workspaceIds[1] ?? '');
    const grantee = () => lockGrantee(ctx, workspace, users.member.id);
    const told: number[] = [];
    for (const role of ['member', 'member', 'viewer'] as const) {
      await putGrant(ctx, { workspace, user: await grantee(), role }, null);
      told.push(ctx.outgoing.revoked.length);
    }
    await removeGrant(ctx, workspace, await grantee());
    expect(new Set(ctx.outgoing.revoked)).toEqual(new Set([`user:${users.member.id}`]));
    return [...told, ctx.outgoing.revoked.length];
  });

  expect(told).toEqual([1, 1, 2, 3]);
});

test('the hand-over of ownership has the open streams of both looked at at once', async () => {
  const { organizationId, organizationOwner, users } = tenant;

  const told = await asOwner(async (ctx) => {
    await handOver(ctx, { organizationId, toUserId: users.member.id, fromUserId: organizationOwner.id });
    return ctx.outgoing.revoked;
  });

  expect(told.toSorted()).toEqual([`user:${users.member.id}`, `user:${organizationOwner.id}`].toSorted());
});

test('operators too read the members of a workspace without the users of other organizations', async () => {
  const { workspaceId } = tenant;
  const foreign = await makeTenant(database.db, randomKeyRing());
  await sweep(database.db, (em) =>
    change(
      em,
      `insert into users (id, email, role, scope, organization_id, workspace_id)
       select gen_random_uuid(), n || '@foreign.example', 'member', 'workspace', ?::uuid, ?::uuid from generate_series(1, 50000) n`,
      [foreign.organizationId, foreign.workspaceId],
    ),
  );
  await withAdmin(database.adminUrl, (admin) => admin.query('analyze'));
  const operator = callerOf({ organizationId: null, workspaceId: null, role: 'operator', scope: 'platform' });

  const plan = await asHandler(database.db, operator, async (ctx) => {
    const statements: { sql: string; params: readonly unknown[] }[] = [];
    const { config } = ctx.em;
    const before = config.get('onQuery');
    config.set('onQuery', (sql, params) => {
      statements.push({ sql, params: [...params] });
      return before(sql, params);
    });
    await listMemberRows(ctx, workspaceId, { filters: {}, page: { limit: 50, offset: null, after: null } }).finally(() =>
      config.set('onQuery', before),
    );
    const [list] = statements;
    return rows<{ 'QUERY PLAN': string }>(ctx.em, `explain ${(list?.sql ?? '').replaceAll(/\$\d+/g, '?')}`, list?.params);
  });

  const scan = plan.map((line) => line['QUERY PLAN']).filter((line) => line.includes('on users'));
  expect(scan).toEqual([expect.stringContaining('using users_organization_idx')]);
});
