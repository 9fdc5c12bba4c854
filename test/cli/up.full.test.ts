import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../support/temporal.ts';

const root = join(import.meta.dirname, '../..');
const stateDir = mkdtempSync(join(tmpdir(), 'longhaul-up-'));
let launcher: ChildProcess;
let output = '';

beforeAll(async () => {
  mkdirSync(join(root, '.longhaul/wheels'), { recursive: true });
  symlinkSync(join(root, '.longhaul/wheels'), join(stateDir, 'wheels'));
  launcher = launch();
  await until(() => output.includes('Longhaul is up.') || launcher.exitCode !== null);
});

afterAll(async () => {
  if (launcher.exitCode === null) launcher.kill('SIGKILL');
  await until(() => processes().every(({ pid }) => !isAlive(pid))).catch(() => undefined);
  rmSync(stateDir, { recursive: true, force: true });
});

test("the first start streams a run on the deployment's own reference, and says what works when pasted", async () => {
  const shown = output;
  const commands = shown.split('\n').filter((line) => line.trim().startsWith('curl '));

  expect(shown).toContain('POST /runs – Start a run');
  expect(shown).toMatch(/run\.finished\s+succeeded \(stop\)/);
  expect(commands).toHaveLength(3);
  const answers = [await shell(commands[0] ?? ''), await shell(commands[1] ?? '')];
  expect(JSON.parse(answers[0] ?? '')).toMatchObject({ status: 'succeeded', output: { text: expect.stringContaining('cancel') } });
  expect(JSON.parse(answers[1] ?? '')).toMatchObject({ items: [{ status: 'succeeded' }] });
  expect(await shell(commands[2] ?? '')).toContain('event: run.finished');
});

test('access.json and processes.json tell how to reach and what to watch', async () => {
  const access = readJson<Record<string, string>>('access.json');
  const login = await fetch(`${access['base_url']}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: access['email'], password: access['password'] }),
  });

  expect(Object.keys(access).toSorted()).toEqual([
    'agent_id',
    'base_url',
    'email',
    'operator_email',
    'operator_password',
    'organization_id',
    'password',
    'service_key',
    'workspace_id',
  ]);
  expect(login.status).toBe(200);
  expect(
    processes()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['api', 'postgres', 'redis', 'temporal', 'worker-bulk', 'worker-runs']);
  expect(processes().every(({ pid }) => isAlive(pid))).toBe(true);
});

test('models of a provider with a key have prices from the first start on, and those without one are named', async () => {
  const access = readJson<Record<string, string>>('access.json');
  const listed = await fetch(`${access['base_url']}/prices?model=openai/gpt-5.4-mini&bucket=output`, {
    headers: { authorization: `Bearer ${access['service_key']}` },
  });

  expect(await listed.json()).toMatchObject({
    items: [{ price: '4.50', currency: 'USD', source: expect.stringContaining('genai-prices') }],
  });
  expect(output).toMatch(/left out {3}openai\/gpt-5\.4: /);
});

test('mails become files in the state folder, which the output names', () => {
  expect(output).toContain(`Mails        files in ${join(stateDir, 'mails')}`);
  expect(readJson('deployment.json')).toMatchObject({ MAIL_DIR: join(stateDir, 'mails') });
  expect(statSync(join(stateDir, 'deployment.json')).mode & 0o077).toBe(0);
});

test('a command beside the running deployment works on it', async () => {
  const { email = '' } = readJson<Record<string, string>>('access.json');
  const said = await shell(`LONGHAUL_STATE_DIR='${stateDir}' '${process.execPath}' cli/index.ts users reset-mfa --email '${email}'`);

  expect(said.trim()).toBe('The user has no second factor.');
  expect(launcher.exitCode).toBeNull();
});

test('a command whose shell names another database is refused and names both; one that names this one in other words is not', async () => {
  const { databaseUrl = '' } = readJson<Record<string, string>>('services.json');
  const { port, pathname } = new URL(databaseUrl);
  const run = (url: string, command: string) =>
    shell(`DATABASE_URL='${url}' LONGHAUL_STATE_DIR='${stateDir}' '${process.execPath}' cli/index.ts ${command} 2>&1; echo "exit $?"`);

  for (const command of ['audit verify', 'seed', 'prices import --dry-run']) {
    const said = await run('postgres://me:canary@db.example/other', command);
    expect(said).toContain(
      `DATABASE_URL names db.example:5432/other, but the deployment that runs from ${stateDir} uses localhost:${port}${pathname}.`,
    );
    expect(said).not.toContain('canary');
    expect(said).toContain('exit 1');
  }
  expect(await run(`postgres://me@localhost:${port}${pathname}`, 'audit verify')).toContain('exit 0');
});

test('a second start beside the first attaches and leaves it alone', async () => {
  const second = await shell(`LONGHAUL_STATE_DIR='${stateDir}' '${process.execPath}' cli/index.ts up`);

  expect(second).toContain('already runs');
  expect(launcher.exitCode).toBeNull();
});

test('a killed API comes back on its port, and everything ends with the launcher', async () => {
  const access = readJson<Record<string, string>>('access.json');
  const killed = processes().find(({ name }) => name === 'api')?.pid ?? 0;
  process.kill(killed, 'SIGKILL');

  await until(() =>
    fetch(`${access['base_url']}/health/ready`).then(
      (answer) => answer.status === 200,
      () => false,
    ),
  );
  expect(processes().find(({ name }) => name === 'api')?.pid).not.toBe(killed);

  const pids = processes().map(({ pid }) => pid);
  launcher.kill('SIGINT');
  await until(() => launcher.exitCode !== null);
  expect(launcher.exitCode).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
});

test('a second start on the same folder is up with the same credentials and repeats nothing', async () => {
  const before = readFileSync(join(stateDir, 'access.json'), 'utf8');
  output = '';
  launcher = launch({ NODE_COMPILE_CACHE: '' });
  await until(() => output.includes('Longhaul is up.') || launcher.exitCode !== null);

  expect(output).not.toContain('A first run');
  expect(readFileSync(join(stateDir, 'access.json'), 'utf8')).toBe(before);
  launcher.kill('SIGINT');
  await until(() => launcher.exitCode !== null);
  // What its processes have compiled is there for the next start.
  expect(readdirSync(join(stateDir, 'compile-cache'))).not.toEqual([]);
});

function launch(more: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'cli/index.ts', 'up', '--demo'], {
    cwd: root,
    // A provider with a key that nothing calls: the model is still the built-in one.
    env: { ...ownEnv(), LONGHAUL_STATE_DIR: stateDir, OPENAI_API_KEY: 'none', LONGHAUL_MODEL: 'builtin/extractive', ...more },
  });
  child.stdout.on('data', (part) => (output += String(part)));
  child.stderr.on('data', (part) => (output += String(part)));
  return child;
}

/** The environment of somebody who has only this deployment: that of the tests names services of theirs. */
function ownEnv(): NodeJS.ProcessEnv {
  const { DATABASE_URL: _d, REDIS_URL: _r, TEMPORAL_ADDRESS: _t, SMTP_URL: _s, MAIL_DIR: _m, ...env } = process.env;
  return env;
}

async function shell(command: string): Promise<string> {
  const child = spawn('bash', ['-c', command], { cwd: root, env: ownEnv() });
  let text = '';
  child.stdout.on('data', (part) => (text += String(part)));
  await new Promise((resolve) => child.once('close', resolve));
  return text;
}

function processes(): { name: string; pid: number }[] {
  return existsSync(join(stateDir, 'processes.json')) ? readJson('processes.json') : [];
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(join(stateDir, file), 'utf8')) as T; // written by the command under test
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
