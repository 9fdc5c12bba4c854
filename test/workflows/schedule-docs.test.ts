import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';

let models: ModelServer;
let stack: Stack;
const folder = mkdtempSync(join(tmpdir(), 'longhaul-docs-'));

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('the example of docs/schedules.md works when pasted', async () => {
  const [, script = ''] = /```sh\n([\s\S]*?)```/.exec(readFileSync(join(import.meta.dirname, '../../docs/schedules.md'), 'utf8')) ?? [];
  const agent = await makeAgent(stack, []);
  const access = { base_url: stack.url(), service_key: stack.tenant.serviceKey.plaintext, agent_id: agent.id };
  mkdirSync(join(folder, '.longhaul'));
  writeFileSync(join(folder, '.longhaul/access.json'), JSON.stringify(access));

  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` };
  // What a command answers ends with its line.
  const told = script.replaceAll(/^api .*$/gm, (line) => `${line}; echo`);
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', told], { cwd: folder, env });
  const [previewed, fired, listed, backfill, ...rest] = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

  expect(previewed).toMatchObject({ description: 'at 02:30 every day (America/New_York)', instants: { length: 3 } });
  expect(fired).toMatchObject({ kind: 'manual', status: 'started' });
  expect(listed).toMatchObject({ items: { length: 4 } });
  expect(backfill).toMatchObject({ id: null, planned: 5, dry_run: true });
  expect(rest).toEqual([]);
});
