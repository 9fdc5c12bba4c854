import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { beginRun } from '../../../domain/runs/start/begin-run.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import { row, rows } from '../../../db/sql.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

/** How many other transactions wait for this one. */
async function blockedBy(em: Parameters<typeof row>[0]): Promise<number> {
  const found = await row<{ n: number }>(
    em,
    'select count(*)::int as n from pg_stat_activity a where pg_backend_pid() = any (pg_blocking_pids(a.pid))',
  );
  return found?.n ?? 0;
}

async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await isSo()) return;
    await setTimeout(25);
  }
  throw new Error('it never came to that');
}

const start = (token: string, agent: { id: string }) =>
  world.call(token, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hello' } } });

test('a deleted agent is gone at once and its slug is free', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);

  expect((await world.call(tokens.member, 'DELETE', `/agents/${agent.id}`)).status).toBe(403);
  expect((await world.call(tokens.admin, 'DELETE', `/agents/${agent.id}`)).status).toBe(204);

  expect((await world.call(tokens.viewer, 'GET', `/agents/${agent.id}`)).status).toBe(404);
  expect((await start(tokens.member, agent)).body.errors[0]).toMatchObject({ pointer: '/agent_id', rule: 'reference' });
  expect((await world.call(tokens.member, 'POST', '/agents', { body: { slug: agent.slug, name: 'Again' } })).status).toBe(201);
});

test('live runs stand against a deletion; force cancels each through the outbox', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const run = await start(tokens.member, agent);

  const refused = await world.call(tokens.admin, 'DELETE', `/agents/${agent.id}`);
  await sweep(world.api.db, (em) => rows(em, "update runs set status = 'running', started_at = now() where id = ?", [run.body.id]));
  const forced = await world.call(tokens.admin, 'DELETE', `/agents/${agent.id}?force=true`);
  const after = await world.call(tokens.viewer, 'GET', `/runs/${run.body.id}`);
  const outbox = await sweep(world.api.db, (em) =>
    row<{ n: number }>(em, "select count(*)::int as n from outbox where kind = 'workflow.cancel' and dedupe_key = ?", [
      `run:${run.body.id}`,
    ]),
  );

  expect(refused).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'runs_live', live_runs: 1 } } });
  expect(forced.status).toBe(204);
  expect(after.body.status).toBe('cancelling');
  expect(outbox?.n).toBe(1);
});

test('a run that ends while it is about to be cancelled does not stand against a forced deletion', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const run = await start(tokens.member, agent);
  let deletion: ReturnType<World['call']> | undefined;

  await sweep(world.api.db, async (em) => {
    await rows(em, 'select id from conversations where id = (select conversation_id from runs where id = ?) for update', [run.body.id]);
    deletion = world.call(tokens.admin, 'DELETE', `/agents/${agent.id}?force=true`);
    await waitFor(async () => (await blockedBy(em)) > 0);
    await rows(
      em,
      "update runs set status = 'cancelled', finish_reason = 'cancelled', started_at = null, finished_at = now(), queue_no = null where id = ?",
      [run.body.id],
    );
  });

  expect((await deletion)?.status).toBe(204);
  expect((await world.call(tokens.viewer, 'GET', `/agents/${agent.id}`)).status).toBe(404);
});

test('a run that slipped in while its agent was being deleted does not begin', async () => {
  const { tokens, organizationId, workspaceId } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const run = await start(tokens.member, agent);
  // As two transactions leave it that do not see each other.
  await sweep(world.api.db, (em) => rows(em, 'update agents set deleted_at = now() where id = ?', [agent.id]));

  const options = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() };
  const begun = transact(world.api.db, options, (tx) => beginRun(tx, run.body.id, { model: world.api.deps.models.resolve }));

  await expect(begun).rejects.toMatchObject({ code: 'not_found' });
});

test('schedules of a deleted agent pause with the reason', async () => {
  const { tokens, organizationId, workspaceId } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const scheduleId = newId();
  await sweep(world.api.db, (em) =>
    rows(
      em,
      `insert into schedules (id, organization_id, workspace_id, agent_id, name, description, every_seconds, dst, prompt_template, compiled, evaluated_until)
       values (?, ?, ?, ?, 'Hourly', 'every hour', 3600, '{"gap":"shift","repeat":"once"}', 'Go', '{}', now())`,
      [scheduleId, organizationId, workspaceId, agent.id],
    ),
  );

  await world.call(tokens.admin, 'DELETE', `/agents/${agent.id}`);

  const found = await sweep(world.api.db, (em) => row(em, 'select is_active, pause_reason from schedules where id = ?', [scheduleId]));
  expect(found).toEqual({ is_active: false, pause_reason: 'agent_deleted' });
});
