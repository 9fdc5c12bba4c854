import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { keyRingVariables, randomKeyRing } from '../../db/key-ring.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { withAdmin } from '../support/template.ts';
import { startStack, type Stack } from '../support/stack.ts';

let stack: Stack;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  stack = await startStack({
    processes: ['api'],
    adapt: (given) => {
      env = given;
      return { ...given };
    },
  });
});
afterAll(() => stack?.stop());

/** A worker's end, and what it said; it has taken no work. */
async function endOfWorker(file: string, more: Readonly<Record<string, string>> = {}): Promise<{ code: number | null; said: string }> {
  const root = join(import.meta.dirname, '../..');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'workers', file)], {
    cwd: root,
    env: { ...env, ...more },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, said };
}

test.each(['runs.worker.ts', 'bulk.worker.ts'])('%s does not start with keys that open nothing of its database', async (file) => {
  const { LONGHAUL_KEKS: strange = '' } = keyRingVariables(randomKeyRing());

  const { code, said } = await endOfWorker(file, { LONGHAUL_KEKS: strange });

  expect({ code, said }).toEqual({ code: 1, said: expect.stringMatching(/LONGHAUL_KEKS lacks the key \w+/) });
  expect(said).not.toContain('worker ready');
});

test.each([
  [
    'older',
    "delete from schema_migrations where name = '0008-forgotten' returning name",
    'lacks the migrations 0008-forgotten: run `longhaul migrate`',
  ],
  [
    'newer',
    "insert into schema_migrations (name, executed_at) values ('9999-tomorrow', now()) returning name",
    'of a newer version: 9999-tomorrow',
  ],
])('a worker does not start on an %s schema than its code', async (_kind, change, words) => {
  const before = await sweep(stack.db, (em) => rows<{ name: string }>(em, 'select name from schema_migrations order by name'));
  await withAdmin(stack.adminUrl, (admin) => admin.query(change));
  try {
    const { code, said } = await endOfWorker('runs.worker.ts');

    expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining(words) });
  } finally {
    await withAdmin(stack.adminUrl, async (admin) => {
      await admin.query('delete from schema_migrations');
      for (const { name } of before) await admin.query('insert into schema_migrations (name, executed_at) values ($1, now())', [name]);
    });
  }
});
