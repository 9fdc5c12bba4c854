import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createRoster } from '../../cli/services/roster.ts';
import type { Child } from '../../cli/services/child.ts';
import { fileFault } from '../../cli/setup-error.ts';
import { openState } from '../../cli/state.ts';
import { until } from '../support/temporal.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-unwritable-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** As a full disk does it: the next write of the state file by this process finds no room. */
function fill(file: string): () => void {
  const temporary = join(folder, `${file}.${process.pid}.tmp`);
  symlinkSync('/dev/full', temporary);
  return () => rmSync(temporary);
}

test.each([
  [
    'of a system that takes no files',
    () => '/sys/longhaul',
    /^\/sys.* cannot be written: .+\. Fix that, or choose another state folder \(LONGHAUL_STATE_DIR\)\.$/,
  ],
  ['below a file', () => join(folder, 'file', 'state'), /cannot be written: a part of the path is a file, not a folder\./],
])('a state folder %s is said in one sentence, with exit 1', (_what, place, sentence) => {
  writeFileSync(join(folder, 'file'), '');

  const said = longhaul(place());

  expect([said.status, said.stdout]).toEqual([1, '']);
  expect(said.stderr.trim()).toMatch(sentence);
  expect(said.stderr.trim().split('\n')).toHaveLength(1);
});

test('a full disk is said in one sentence', () => {
  fill('owner.json');

  const error = thrownBy(() => openState(folder));

  expect(fileFault(error, folder)?.message).toBe(
    `${folder} cannot be written: no space is left on its disk. Fix that, or choose another state folder (LONGHAUL_STATE_DIR).`,
  );
});

test('a disk that fills up under a running deployment does not end who keeps it alive: its files are written once there is room', async () => {
  const state = openState(folder);
  const roster = createRoster(state);
  const free = fill('children.json');

  roster.set('api', { name: 'api', pid: process.pid } as Child); // the two members that are written

  expect(roster.entries).toEqual([{ name: 'api', pid: process.pid }]);
  expect(state.read('processes.json')).toEqual([]);
  free();
  await until(() => readFileSync(join(folder, 'processes.json'), 'utf8').includes('"api"'));
  state.release();
});

function longhaul(stateDir: string) {
  const env = { PATH: process.env['PATH'], LONGHAUL_STATE_DIR: stateDir };
  return spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'cli/index.ts'), 'migrate'], {
    env,
    encoding: 'utf8',
  });
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
