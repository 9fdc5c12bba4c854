import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AgentRevision } from '../../db/agents/revisions/agent-revision.entity.ts';
import { Agent } from '../../db/agents/agent.entity.ts';
import { newId } from '../../db/ids.ts';
import { removeOne, see, seeForChange, visibleTo } from '../../db/scope.ts';
import {
  openTransaction,
  nobodyTenant,
  organizationTenant,
  sweep,
  systemActor,
  tenantOf,
  transact,
  workspaceTenant,
} from '../../db/transaction.ts';
import { resolveNewRowScope, resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import { change, iso, row, rows } from '../../db/sql.ts';
import { Organization } from '../../db/tenancy/organizations/organization.entity.ts';
import { callerOf } from '../support/caller.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { minMs } from '../support/least.ts';
import { withAdmin } from '../support/template.ts';
import { asHandler, makePlatformAgent, makeWorld, type World } from './world.ts';

const statements: string[] = [];
let database: TestDatabase;
let a: World;
let b: World;

beforeAll(async () => {
  database = await testDatabase({ onQuery: (sql) => statements.push(sql) });
  a = await makeWorld(database.db, 2);
  b = await makeWorld(database.db);
});
afterAll(() => database.drop());

const transactionIn = (world: World) => ({
  tenant: workspaceTenant(world.organizationId, world.workspaceIds[0] ?? ''),
  actor: systemActor,
  correlationId: newId(),
});
const agentIds = "select id from agents where scope <> 'platform' order by id";

describe('transact', () => {
  test('sets the five settings in one statement and commits', async () => {
    statements.length = 0;
    const { value } = await transact(database.db, transactionIn(a), ({ em }) => rows<{ id: string }>(em, agentIds));

    expect(value.map((found) => found.id)).toEqual([a.agentId, a.organizationAgentId].toSorted());
    expect(statements).toHaveLength(2);
    expect(statements[0]).toMatch(/^select set_config(.*set_config){4}/);
  });

  test('runs in a session that frees its locks by itself', async () => {
    const read = ['lock_timeout', 'idle_in_transaction_session_timeout'].map((name) => `current_setting('${name}') as ${name}`);
    const { value } = await transact(database.db, transactionIn(a), ({ em }) => row(em, `select ${read.join(', ')}`));

    expect(value).toEqual({ lock_timeout: '5s', idle_in_transaction_session_timeout: '10s' });
  });

  test('rolls everything back when the work fails', async () => {
    const slug = newId();
    const work = transact(database.db, transactionIn(a), async ({ em, outgoing }) => {
      em.create(Agent, { scope: 'workspace', organizationId: a.organizationId, workspaceId: a.workspaceIds[0], slug, name: 'Gone' });
      await em.flush();
      outgoing.outboxIds.push(slug);
      throw new Error('no');
    });

    await expect(work).rejects.toThrow('no');
    expect(await sweep(database.db, (em) => rows(em, 'select from agents where slug = ?', [slug]))).toEqual([]);
  });

  test('one connection serves two tenants in turn and shows neither a row of the other', async () => {
    const narrow = await testDatabase({ poolMax: 1 });
    const worlds = [await makeWorld(narrow.db), await makeWorld(narrow.db)];

    for (const world of [...worlds, ...worlds]) {
      await expect(transact(narrow.db, transactionIn(world), ({ em }) => rows(em, 'select 1 / 0'))).rejects.toThrow('division');
      const { value } = await transact(narrow.db, transactionIn(world), ({ em }) => rows<{ id: string }>(em, agentIds));
      expect(value.map((found) => found.id)).toEqual([world.agentId, world.organizationAgentId].toSorted());
    }
    await narrow.drop();
  });

  test('a deadlock runs the loser again, and both are done', async () => {
    const first = await transactLocking([a.agentId, a.organizationAgentId]);
    // The loser may be quick enough to lose once more.
    expect([
      [1, 2],
      [1, 3],
    ]).toContainEqual(first.toSorted());
  });

  test('a deadlock that returns each time is given up after three tries', async () => {
    let tries = 0;
    const work = transact(database.db, transactionIn(a), async () => {
      tries += 1;
      throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
    });

    await expect(work).rejects.toMatchObject({ code: 'service_unavailable', retryable: true });
    expect(tries).toBe(3);
  });

  test.each([
    ['a lost connection', () => 'select pg_terminate_backend(pg_backend_pid())', 'service_unavailable'],
    ['a statement that takes too long', () => "select set_config('statement_timeout', '20', true), pg_sleep(0)", 'service_unavailable'],
  ])('%s is 503, and the pool keeps its connections', async (_name, statement, code) => {
    const narrow = await testDatabase({ poolMax: 1 });
    for (let round = 0; round < 3; round++) {
      const work = transact(narrow.db, { ...transactionIn(a), tenant: organizationTenant(a.organizationId) }, async ({ em }) => {
        await rows(em, statement());
        await rows(em, 'select pg_sleep(0.5)');
      });
      await expect(work).rejects.toMatchObject({ code });
    }
    expect((await transact(narrow.db, transactionIn(a), ({ em }) => rows(em, 'select 1 as one'))).value).toEqual([{ one: 1 }]);
    await narrow.drop();
  });

  test('an exhausted pool is 503 after two seconds', async () => {
    const narrow = await testDatabase({ poolMax: 1, hasUsualTimeouts: true });
    const held = await openTransaction(narrow.db, transactionIn(a));
    const refused = () =>
      expect(transact(narrow.db, transactionIn(a), ({ em }) => rows(em, 'select 1'))).rejects.toMatchObject({
        code: 'service_unavailable',
      });

    const least = await minMs(4_000, async () => {
      const startedAt = Date.now();
      await refused();
      return Date.now() - startedAt;
    });

    expect(least).toBeLessThan(4_000);
    await held.rollback();
    await narrow.drop();
  });

  test.each([
    ['a taken slug', 'already_exists', async (em: Em) => void em.create(Organization, { name: 'Twin', slug: a.organizationId })],
    [
      'a missing reference',
      'validation_failed',
      (em: Em) =>
        change(em, 'update agents set organization_id = ?, workspace_id = null, scope = ? where id = ?', [
          newId(),
          'organization',
          b.organizationAgentId,
        ]),
    ],
    ['a row still in use', 'state_conflict', (em: Em) => change(em, 'delete from organizations where id = ?', [b.organizationId])],
  ])('%s is %s', async (_name, code, work) => {
    await expect(sweep(database.db, async (em) => void (await work(em)))).rejects.toMatchObject({ code });
  });
});

describe('beginUnit', () => {
  test('renew commits, keeps connection and tenant, and gives what is to be sent', async () => {
    const open = await openTransaction(database.db, transactionIn(a));
    const { em, outgoing } = open.tx;
    const here = () =>
      row<{ pid: number; org: string; started: string }>(
        em,
        "select pg_backend_pid() as pid, current_setting('app.org') as org, now() as started",
      );
    const before = await here();
    outgoing.outboxIds.push('kept');
    await change(em, "update agents set name = 'Kept' where id = ?", [a.agentId]);

    const kept = await open.renew();
    const after = await here();
    await change(em, "update agents set name = 'Lost' where id = ?", [a.agentId]);
    outgoing.outboxIds.push('lost');
    await open.rollback();

    expect(kept.outboxIds).toEqual(['kept']);
    expect(after).toMatchObject({ pid: before?.pid, org: before?.org });
    expect(after?.started).not.toEqual(before?.started);
    expect(await sweep(database.db, (sweeper) => rows(sweeper, 'select name from agents where id = ?', [a.agentId]))).toEqual([
      { name: 'Kept' },
    ]);
  });

  test('a fault at the commit rolls back and frees the connection', async () => {
    const narrow = await testDatabase({ poolMax: 1 });
    const open = await openTransaction(narrow.db, { ...transactionIn(a), tenant: organizationTenant(a.organizationId) });
    open.tx.em.create(Agent, { scope: 'organization', organizationId: a.organizationId, slug: 'x', name: 'No such organization' });

    await expect(open.commit()).rejects.toMatchObject({ code: 'validation_failed' });
    await expect(transact(narrow.db, transactionIn(a), ({ em }) => rows(em, 'select 1 as one'))).resolves.toMatchObject({
      value: [{ one: 1 }],
    });
    await narrow.drop();
  });
});

describe('what a caller sees', () => {
  const member = () => callerOf({ organizationId: a.organizationId, workspaceId: a.workspaceIds[0] ?? '' });
  const sees = (caller = member()) =>
    asHandler(database.db, caller, async (ctx) => {
      const { sql, params } = visibleTo(ctx, Agent, 't');
      return (await rows<{ id: string }>(ctx.em, `select t.id from agents t where ${sql}`, params)).map((found) => found.id).toSorted();
    });

  test('own, organization and active platform rows; an operator all, and narrowed no more than a caller there', async () => {
    const common = await makePlatformAgent(database.db);
    const idle = await makePlatformAgent(database.db, false);
    const operator = callerOf({ organizationId: null, workspaceId: null, scope: 'platform', role: 'operator', workspaces: 'all' });
    const narrowed = { ...operator, view: { organizationId: b.organizationId, workspaceId: b.workspaceIds[0] ?? null } };

    expect(await sees()).toEqual([a.agentId, a.organizationAgentId, common].toSorted());
    expect(await sees(callerOf({ organizationId: a.organizationId, workspaceId: a.workspaceIds[1] ?? '' }))).toEqual(
      [a.organizationAgentId, common].toSorted(),
    );
    expect(await sees(operator)).toEqual(expect.arrayContaining([a.agentId, b.agentId, common, idle]));
    expect(await sees(narrowed)).toEqual([b.agentId, b.organizationAgentId, common].toSorted());
  });

  test('a foreign id is the 404 of an unknown one, to read and to change', async () => {
    for (const id of [b.agentId, b.organizationAgentId, newId()]) {
      await expect(asHandler(database.db, member(), (ctx) => see(ctx, Agent, id))).rejects.toMatchObject({
        code: 'not_found',
        context: {},
      });
      await expect(asHandler(database.db, member(), (ctx) => seeForChange(ctx, Agent, id))).rejects.toMatchObject({
        code: 'not_found',
        context: {},
      });
    }
    await expect(asHandler(database.db, member(), (ctx) => see(ctx, Agent, a.agentId))).resolves.toMatchObject({ id: a.agentId });
  });

  test('visible and not modifiable is 403: platform and organization rows, and a rank below the floor', async () => {
    const common = await makePlatformAgent(database.db);
    const granted = callerOf({
      organizationId: a.organizationId,
      workspaceId: a.workspaceIds[0] ?? '',
      workspaces: new Map([[a.workspaceIds[0] ?? '', 'viewer' as const]]),
    });
    const forChange = (caller = member(), id = a.agentId) => asHandler(database.db, caller, (ctx) => seeForChange(ctx, Agent, id));

    await expect(forChange(member(), common)).rejects.toMatchObject({ code: 'resource_forbidden' });
    await expect(forChange(member(), a.organizationAgentId)).rejects.toMatchObject({ code: 'resource_forbidden' });
    await expect(forChange(granted)).rejects.toMatchObject({ code: 'role_insufficient' });
    await expect(
      forChange(callerOf({ organizationId: a.organizationId, workspaceId: null }), a.organizationAgentId),
    ).resolves.toMatchObject({ slug: 'shared' });
  });

  test('If-Match: an old version is 412 with the present one, none is 428 where it is demanded', async () => {
    const forChange = (options: object) => asHandler(database.db, member(), (ctx) => seeForChange(ctx, Agent, a.agentId), options);

    await expect(forChange({ ifMatch: ['7'] })).rejects.toMatchObject({ code: 'precondition_failed', context: { etag: '"1"' } });
    await expect(forChange({ isIfMatchRequired: true })).rejects.toMatchObject({ code: 'precondition_required' });
    await expect(forChange({ ifMatch: ['7', '1'] })).resolves.toBeInstanceOf(Agent);
    await expect(forChange({ ifMatch: '*' })).resolves.toBeInstanceOf(Agent);
  });

  test('children of scoped rows follow them, and a foreign row is never removed', async () => {
    const revisionId = newId();
    const document = {} as never; // what it holds is of no matter here
    await sweep(database.db, async (em) => {
      em.create(AgentRevision, {
        id: revisionId,
        agentId: b.agentId,
        organizationId: b.organizationId,
        workspaceId: b.workspaceIds[0],
        number: 1,
        document,
        documentHash: '',
        createdBy: { kind: 'system', id: null },
      });
    });

    await expect(asHandler(database.db, member(), (ctx) => see(ctx, AgentRevision, revisionId))).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(asHandler(database.db, member(), (ctx) => removeOne(ctx.em, Agent, b.agentId))).rejects.toThrow('changed 0');
  });
});

describe('where a new row goes', () => {
  test('the caller’s own scope and workspace, or a narrower one', async () => {
    const [first = '', second = ''] = a.workspaceIds;
    const member = callerOf({ organizationId: a.organizationId, workspaceId: first });
    const owner = callerOf({ organizationId: a.organizationId, workspaceId: null, role: 'owner' });
    const home = (caller = member, asked = {}) => asHandler(database.db, caller, (ctx) => resolveNewRowScope(ctx, asked));

    await expect(home()).resolves.toEqual({ scope: 'workspace', organizationId: a.organizationId, workspaceId: first });
    await expect(home(owner)).resolves.toEqual({ scope: 'organization', organizationId: a.organizationId, workspaceId: null });
    await expect(home(owner, { workspace_id: second })).resolves.toEqual({
      scope: 'workspace',
      organizationId: a.organizationId,
      workspaceId: second,
    });
    await expect(home(member, { scope: 'organization' })).rejects.toMatchObject({
      code: 'role_insufficient',
      context: { reason: 'scope_too_wide' },
    });
    await expect(home(owner, { scope: 'platform' })).rejects.toMatchObject({ context: { reason: 'scope_too_wide' } });
    await expect(home(owner, { scope: 'organization', workspace_id: first })).rejects.toMatchObject({ code: 'validation_failed' });
  });

  test('a foreign, unknown or unseen workspace is 422; none named is the only one or 422', async () => {
    const owner = callerOf({ organizationId: a.organizationId, workspaceId: null });
    const ownerOfB = callerOf({ organizationId: b.organizationId, workspaceId: null });
    const member = callerOf({ organizationId: a.organizationId, workspaceId: a.workspaceIds[0] ?? '' });
    const place = (caller: typeof owner, id?: string) => asHandler(database.db, caller, (ctx) => resolveNewRowWorkspace(ctx, id));

    for (const id of [b.workspaceIds[0], newId()])
      await expect(place(owner, id)).rejects.toMatchObject({ errors: [{ rule: 'reference', pointer: '/workspace_id' }] });
    await expect(place(member, a.workspaceIds[1])).rejects.toMatchObject({ errors: [{ rule: 'reference' }] });
    await expect(place(owner)).rejects.toMatchObject({ errors: [{ rule: 'workspace_required' }] });
    await expect(place(ownerOfB)).resolves.toEqual({ organizationId: b.organizationId, workspaceId: b.workspaceIds[0] });
  });

  test('a frozen organization or workspace takes no writes: 423', async () => {
    const frozen = await makeWorld(database.db);
    const caller = callerOf({ organizationId: frozen.organizationId, workspaceId: frozen.workspaceIds[0] ?? '' });
    const set = (sql: string) => withAdmin(database.adminUrl, (admin) => admin.query(sql, [frozen.organizationId]));
    const refused = async (reason: string) => {
      await expect(asHandler(database.db, caller, (ctx) => resolveNewRowScope(ctx, {}))).rejects.toMatchObject({
        code: 'resource_frozen',
        context: { reason },
      });
      await expect(asHandler(database.db, caller, (ctx) => seeForChange(ctx, Agent, frozen.agentId))).rejects.toMatchObject({
        code: 'resource_frozen',
      });
    };

    await set('update workspaces set is_active = false where organization_id = $1');
    await refused('workspace_archived');
    await set("update organizations set status = 'suspended' where id = $1");
    await refused('organization_suspended');
    await expect(
      asHandler(database.db, caller, (ctx) => seeForChange(ctx, Agent, frozen.agentId, { openWhenSuspended: true })),
    ).resolves.toBeInstanceOf(Agent);
  });
});

test('statements bind what they are given, and times go to the wire with three digits', async () => {
  const { value } = await transact(database.db, { tenant: nobodyTenant, actor: systemActor, correlationId: newId() }, ({ em }) =>
    row<{ list: string[]; odd: string; has: boolean; n: number; at: string }>(
      em,
      `select ?::text[] as list, ?::text as odd, ?::jsonb \\? 'key' as has, 9007199254740991::int8 as n, '2026-02-03 04:05:06.7+02'::timestamptz(3) as at`,
      [['NULL', "it's", 'a"b\\c,{}'], "'; drop table agents; --", JSON.stringify({ key: 1 })],
    ),
  );

  expect(value).toMatchObject({
    list: ['NULL', "it's", 'a"b\\c,{}'],
    odd: "'; drop table agents; --",
    has: true,
    n: Number.MAX_SAFE_INTEGER,
  });
  expect(iso(value?.at ?? '')).toBe('2026-02-03T02:05:06.700Z');
  expect(tenantOf(callerOf({ organizationId: null, workspaceId: null, scope: 'platform', role: 'operator' })).isOperator).toBe(true);
});

type Em = Parameters<Parameters<typeof sweep>[1]>[0];

// Two transactions take the same two rows in opposite orders, each after the other holds its first.
async function transactLocking(ids: readonly string[]): Promise<number[]> {
  const gates = [0, 1].map(() => Promise.withResolvers<void>());
  const tries = [0, 0];
  const work = (mine: number) =>
    transact(database.db, { ...transactionIn(a), tenant: organizationTenant(a.organizationId) }, async ({ em }) => {
      tries[mine] = (tries[mine] ?? 0) + 1;
      const order = mine === 0 ? ids : ids.toReversed();
      await rows(em, 'select from agents where id = ? for update', [order[0]]);
      gates[mine]?.resolve();
      await gates[1 - mine]?.promise;
      await rows(em, 'select from agents where id = ? for update', [order[1]]);
    });
  await Promise.all([work(0), work(1)]);
  return tries;
}
