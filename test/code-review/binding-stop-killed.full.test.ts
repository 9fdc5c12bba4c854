import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { deliver, payloadOf } from '../fakes/github/hooks.ts';
import { until } from '../support/temporal.ts';
import { openFollowed, type FollowedWorld } from './followed-world.ts';
import { found } from './review-world.ts';

let world: FollowedWorld;
let admin: pg.Client;

beforeAll(async () => {
  world = await openFollowed({ files: { 'src/a.ts': 'const a = 1;\n' } });
  admin = new pg.Client({ connectionString: world.stack.adminUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin?.end();
  expect(world?.host.mistakes).toEqual([]);
  await world?.stop();
});

/** Whether a statement of the stack waits for a lock that the test holds. */
async function isBlocked(): Promise<boolean> {
  const { rows } = await admin.query("select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
  return rows.length > 0;
}

test('a worker killed while it stops a binding: all reviews of it end, and the change is told once', async () => {
  const held = new Set<string>();
  world.answers = {
    pass: (prompt) => {
      for (const line of ['const a = 2;', 'const a = 3;']) if (prompt.includes(line)) held.add(line);
      return { ...found(), first_token_ms: 600_000 };
    },
  };
  const pulls = [await world.opened('one', { 'src/a.ts': 'const a = 2;\n' }), await world.opened('two', { 'src/a.ts': 'const a = 3;\n' })];
  await until(() => held.size === 2);

  const { scene, host, stack, bindingId } = world;
  await admin.query('begin');
  await admin.query('select id from repo_bindings where id = $1 for no key update', [bindingId]);
  const payload = payloadOf('installation', 'suspend', { installation: scene.installation, repository: scene.repository });
  await deliver(host.state, scene.app, { event: 'installation', payload });
  await until(isBlocked);
  await stack.kill('worker-bulk', 'SIGKILL');
  await admin.query('rollback');
  await stack.start('worker-bulk');

  for (const pull of pulls) expect((await world.settled(pull, 1)).map(({ status }) => status)).toEqual(['cancelled']);
  const [binding] = await world.sql('select installation_state from repo_bindings where id = ?', [bindingId]);
  expect(binding).toEqual({ installation_state: 'suspended' });
  expect(await world.sql("select id from events where event_kind = 'review.installation_changed'")).toHaveLength(1);
  expect(pulls.flatMap(({ comments, reviews }) => [...comments, ...reviews])).toEqual([]);
});
