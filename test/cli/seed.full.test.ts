import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { testPassword } from '../support/tenant.ts';
import { runLonghaul } from './command.ts';

let stack: Stack;
let stateDir: string;

beforeAll(async () => {
  stack = await startStack({ processes: ['api', 'worker-runs'] });
  stateDir = mkdtempSync(join(tmpdir(), 'longhaul-seed-'));
  const { tenant } = stack;
  const access = {
    base_url: stack.url(),
    email: tenant.organizationOwner.email,
    password: testPassword,
    operator_email: tenant.users.operator.email,
    operator_password: testPassword,
    service_key: tenant.serviceKey.plaintext,
    organization_id: tenant.organizationId,
    workspace_id: tenant.workspaceId,
    agent_id: tenant.workspaceId,
  };
  writeFileSync(join(stateDir, 'access.json'), JSON.stringify(access));
});

afterAll(async () => {
  await stack?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

const seed = (dir = stateDir) => runLonghaul(['seed'], { LONGHAUL_STATE_DIR: dir });
const ask = <T>(sql: string) => sweep(stack.db, (em) => rows<T>(em, sql, []));
const seeded = "(select id from organizations where slug in ('acme', 'globex'))";

test('a seed makes two organizations with people of each role, agents and runs of each end; a second one makes nothing', async () => {
  const first = await seed();
  const counted = await counts();
  const second = await seed();

  expect([first.code, second.code, second.output]).toEqual([0, 0, expect.stringContaining('0 made, ')]);
  expect(second.output).not.toMatch(/^made/m);
  expect(await counts()).toEqual(counted);
  expect(counted).toMatchObject({ organizations: 2, workspaces: 4, users: 8, service_keys: 2, tools: 2, skills: 2, agents: 6, runs: 8 });
  expect(await ask(`select role, count(*)::int as n from users where organization_id in ${seeded} group by 1 order by 1`)).toEqual(
    ['admin', 'member', 'owner', 'viewer'].map((role) => ({ role, n: 2 })),
  );
  expect(await ask(`select status, count(*)::int as n from runs where organization_id in ${seeded} group by 1 order by 1`)).toEqual(
    ['cancelled', 'failed', 'succeeded', 'waiting'].map((status) => ({ status, n: 2 })),
  );
});

test('it prints how to sign in, and keeps that where its owner alone reads it', async () => {
  const { output } = await seed();
  const file = join(stateDir, 'seed.json');
  const { password, service_keys: keys } = JSON.parse(readFileSync(file, 'utf8'));

  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(output).toContain(password);
  for (const role of ['owner', 'admin', 'member', 'viewer']) {
    const { status } = await stack.request('POST', '/auth/login', { body: { email: `${role}@acme.example`, password } });
    expect([role, status, output.includes(`${role}@acme.example`)]).toEqual([role, 200, true]);
  }
  const waiting = await stack.request('GET', '/runs?waiting_on=approval', { credential: keys.globex });
  expect(waiting.body).toMatchObject({ items: [{ session_key: 'seed-waiting', status: 'waiting' }] });
});

test('what a killed seed left half done is finished by the next: a key that it did not write down, a run that it did not cancel', async () => {
  await seed();
  const file = join(stateDir, 'seed.json');
  const saved = JSON.parse(readFileSync(file, 'utf8'));
  const credential = saved.service_keys.acme;
  const found = await stack.request('GET', '/runs?session_key=seed-cancelled', { credential });
  const { items }: { items: { id: string }[] } = found.body;
  await stack.request('DELETE', `/runs/${items[0]?.id}`, { credential });
  const left = await stack.request('POST', '/runs', {
    credential,
    body: {
      agent_slug: 'reader',
      input: { text: 'Hello' },
      session_key: 'seed-cancelled',
      start_after: new Date(Date.now() + 3_600_000).toISOString(),
    },
  });
  writeFileSync(file, JSON.stringify({ ...saved, service_keys: { globex: saved.service_keys.globex } }));

  const { code, output } = await seed();

  expect([code, left.status, output]).toEqual([0, 202, expect.stringContaining('there  run acme/seed-cancelled (cancelled)')]);
  const { acme, globex } = JSON.parse(readFileSync(file, 'utf8')).service_keys;
  expect([output.includes(acme), globex]).toEqual([true, saved.service_keys.globex]);
  const { id }: { id: string } = left.body;
  const run = await stack.request('GET', `/runs/${id}`, { credential: acme });
  expect(run.body).toMatchObject({ status: 'cancelled' });
});

test('a password that the API refuses is named with the file that it was read from', async () => {
  const file = join(stateDir, 'seed.json');
  const saved = readFileSync(file, 'utf8');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(saved), password: 'was changed by somebody' }));
  const refused = await seed();
  writeFileSync(file, saved);

  expect([refused.code, refused.output]).toEqual([
    1,
    expect.stringContaining(`owner@acme.example cannot sign in with the password in ${file}`),
  ]);
});

test('without a deployment, or one that does not answer, it says so in a line', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'longhaul-seed-'));
  const none = await seed(empty);
  const access = JSON.parse(readFileSync(join(stateDir, 'access.json'), 'utf8'));
  writeFileSync(join(empty, 'access.json'), JSON.stringify({ ...access, base_url: 'http://127.0.0.1:9' }));
  const away = await seed(empty);
  rmSync(empty, { recursive: true });

  expect([none.code, none.output]).toEqual([1, expect.stringContaining('npm start')]);
  expect([away.code, away.output]).toEqual([1, expect.stringContaining('No API answers at http://127.0.0.1:9')]);
  expect([none.output, away.output].filter((output) => /\n\s+at /.test(output))).toEqual([]);
});

async function counts(): Promise<Record<string, number>> {
  const tables = ['workspaces', 'users', 'service_keys', 'tools', 'skills', 'agents', 'agent_revisions', 'runs'];
  const lines = await ask<{ name: string; n: number }>(
    [
      `select 'organizations' as name, count(*)::int as n from organizations where id in ${seeded}`,
      ...tables.map((table) => `select '${table}', count(*)::int from ${table} where organization_id in ${seeded}`),
    ].join(' union all '),
  );
  return Object.fromEntries(lines.map(({ name, n }) => [name, n]));
}
