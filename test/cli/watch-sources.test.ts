import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { restartOnChange } from '../../cli/watch-sources.ts';
import { until } from '../support/temporal.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'longhaul-watch-'));
  for (const folder of ['activities', 'api/http', 'db', 'domain', 'ports', 'temporal', 'workers', 'workflows'])
    mkdirSync(join(root, folder), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('several changes at once restart each process once; one that does not start is tried again at the next change', async () => {
  const restarted: string[] = [];
  const said: string[] = [];
  const restart = async (name: string) => {
    restarted.push(name);
    if (restarted.length === 1) throw new Error('api ended (exit 1)');
  };
  const stop = restartOnChange({ restart }, { root, names: ['api', 'worker-runs'], log: (line) => said.push(line) });

  for (const n of [1, 2, 3]) writeFileSync(join(root, 'api/http', `file-${n}.ts`), '');
  await until(() => said.includes('api ended (exit 1)'));
  expect(restarted).toEqual(['api', 'worker-runs']);

  writeFileSync(join(root, 'db', 'file.ts'), '');
  await until(() => restarted.length === 4);
  stop();
  expect(said.filter((line) => line.includes('has changed'))).toHaveLength(2);
  expect(said[0]).toMatch(/^api\/http\/file-\d\.ts has changed: restarting api, worker-runs$/);
});
