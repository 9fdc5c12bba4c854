import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { validateRevision } from '../../domain/agents/validate-revision.ts';
import type { TenantSettings } from '../../db/caller.ts';
import { readMe } from '../../db/identity/people/me.ts';
import { newId } from '../../db/ids.ts';
import { readRunRow } from '../../db/runs/read/run-queries.ts';
import { resolveStart } from '../../domain/runs/start/start-target.ts';
import { emptyOutgoing, sweep, systemActor, workspaceTenant } from '../../db/transaction.ts';
import { change } from '../../db/sql.ts';
import { readUser } from '../../db/identity/people/users.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { makeAgent, openWorld, type World } from '../api/world.ts';
import { callerOf } from '../support/caller.ts';
import type { TestTenant } from '../support/tenant.ts';
import type { StartRun } from '../../db/runs/start/start-run.ts';

// On the sweeper's pool the policies hide nothing: what is left out here is left out by the queries themselves.
let world: World;
let a: TestTenant;
let b: TestTenant;
let agentId: string;
let runId: string;
beforeAll(async () => {
  world = await openWorld();
  [a, b] = [await world.tenant({ workspaces: 2 }), await world.tenant()];
  agentId = (await makeAgent(world, a.tokens.admin)).id;
  runId = (await world.call(a.tokens.member, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' } } })).body.id;
});
afterAll(() => world.close());

const within = <R>(tenant: TenantSettings, work: (tx: TenantTransaction) => Promise<R>): Promise<R> =>
  sweep(world.api.db, (em) => work({ em, tenant, actor: systemActor, correlationId: newId(), outgoing: emptyOutgoing() }));
const placeOf = ({ organizationId, workspaceId }: TestTenant) => workspaceTenant(organizationId, workspaceId);
const elsewhereInA = () => workspaceTenant(a.organizationId, a.workspaceIds[1] ?? '');
const operator: TenantSettings = { organizationId: null, userId: null, workspaceIds: [], hasAllWorkspaces: true, isOperator: true };

test('a run is read in its workspace alone', async () => {
  const read = async (tenant: TenantSettings) => (await within(tenant, (tx) => readRunRow(tx, runId)))?.id ?? null;

  expect([await read(placeOf(a)), await read(operator), await read(elsewhereInA()), await read(placeOf(b))]).toEqual([
    runId,
    runId,
    null,
    null,
  ]);
});

test('a user is read in their organization and by themselves', async () => {
  const { id } = a.users.viewer;
  const read = async (tenant: TenantSettings) => (await within(tenant, (tx) => readUser(tx, id)))?.id ?? null;

  expect([await read(placeOf(a)), await read(operator), await read({ ...placeOf(b), userId: id }), await read(placeOf(b))]).toEqual([
    id,
    id,
    id,
    null,
  ]);
});

test('a start finds no agent of another tenant or workspace, and no platform agent that is off', async () => {
  const off = (await makeAgent(world, a.tokens.operator, { scope: 'platform', is_active: false })).id;
  const resolve = (tenant: TenantSettings, workspaceId: string, id: string) =>
    within(tenant, (tx) => resolveStart(tx, startOf(workspaceId, id))).then(
      (target) => target.agentId,
      (failure: { errors?: { pointer: string }[] }) => failure.errors?.[0]?.pointer,
    );

  expect(await resolve(placeOf(a), a.workspaceId, agentId)).toBe(agentId);
  expect(await resolve(placeOf(b), b.workspaceId, agentId)).toBe('/agent_id');
  expect(await resolve(elsewhereInA(), a.workspaceIds[1] ?? '', agentId)).toBe('/agent_id');
  expect(await resolve(placeOf(a), a.workspaceId, off)).toBe('/agent_id');
  expect(await resolve(operator, a.workspaceId, off)).toBe(off);
});

test('a revision binds no platform tool that is off, unless an operator asks', async () => {
  const id = newId();
  await sweep(world.api.db, (em) =>
    change(
      em,
      `insert into tools (id, scope, slug, kind, description, input_schema, config, concurrency, effect, response_max_chars, timeout_s, is_active)
       values (?, 'platform', ?, 'builtin', 'Tells the time.', '{}', '{"name":"current_time"}', 'read', 'read', 1000, 60, false)`,
      [id, `t${Math.random().toString(36).slice(2)}`],
    ),
  );
  const subject = {
    rowScope: { scope: 'workspace', organizationId: a.organizationId, workspaceId: a.workspaceId },
    draft: { tools: [{ id }] },
  } as const;
  const checks = {
    model: () => ({ lacks: [], optionKeys: [], canJson: true }),
    template: async () => undefined,
    schema: async () => [],
    shape: async () => ({ problems: [], ignored: [] }),
  };
  const rules = async (tenant: TenantSettings) =>
    (await within(tenant, (tx) => validateRevision(tx, subject as never, checks))).problems.map((problem) => problem.rule);

  expect([await rules(placeOf(a)), await rules(operator)]).toEqual([['reference'], ['inactive']]);
});

test('what surrounds a caller is of its tenant: key and acting user of another are not read', async () => {
  await sweep(world.api.db, (em) => change(em, 'update service_keys set version = 7 where id = ?', [a.serviceKey.id]));
  const me = (of: TestTenant) =>
    within(placeOf(of), (tx) =>
      readMe(tx, callerOf({ ...of, kind: 'service_key', principalId: a.serviceKey.id, actingUserId: a.users.viewer.id })),
    );

  expect(await me(a)).toMatchObject({ version: 7, actingUser: { id: a.users.viewer.id } });
  expect(await me(b)).toMatchObject({ version: 1, actingUser: null });
});

function startOf(workspaceId: string, id: string): StartRun {
  return {
    workspaceId: null,
    defaultWorkspaceId: workspaceId,
    agent: { id },
    revisionId: null,
    personaSlug: null,
    input: { text: 'Hi' },
    sessionKey: null,
    subject: null,
    source: 'api',
    createdBy: { kind: 'system', id: null, actingUserId: null },
    onBusy: 'enqueue',
    limits: {},
    metadata: {},
    currency: 'USD',
  };
}
