import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pino from 'pino';
import { createToolsChanged } from '../../../activities/mcp/list-changed.ts';
import { sharedPrincipal } from '../../../db/mcp/connection-queries.ts';
import type { McpToolkit } from '../../../db/toolkits/mcp-toolkits.ts';
import { newId } from '../../../db/ids.ts';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { makeWorld } from '../../db/world.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/temporal.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test('a storm of news is one look at our rows at a time, one sync, and no news is lost', async () => {
  const { organizationId } = await makeWorld(database.db);
  const config = {
    url: 'https://mcp.example/',
    transport: 'auto',
    auth: { type: 'none' },
    on_change: 'block',
    sync_interval_s: null,
  } as const;
  const toolkit: McpToolkit = {
    id: newId(),
    scope: 'organization',
    organizationId,
    workspaceId: null,
    slug: 'far',
    config,
    isActive: true,
  };
  const look = (sql: string) => sweep(database.db, (em) => rows<Record<string, unknown>>(em, sql, [toolkit.id]));
  await sweep(database.db, (em) =>
    change(em, "insert into toolkits (id, scope, organization_id, slug, name, kind) values (?, 'organization', ?, 'far', 'Far', 'mcp')", [
      toolkit.id,
      organizationId,
    ]),
  );
  let looks = 0;
  const dispatch = async () => void looks++;
  const changed = createToolsChanged({ db: database.db, log: pino({ level: 'silent' }), dispatch });

  const storm = setInterval(() => changed(toolkit, sharedPrincipal), 5);
  // The second look finds a sync under way: one more is due in a minute.
  await until(async () => (await look('select next_sync_at from toolkits where id = ?'))[0]?.['next_sync_at'] !== null);
  clearInterval(storm);

  expect(looks).toBe(2);
  expect(await look('select state from toolkit_revisions where toolkit_id = ?')).toEqual([{ state: 'syncing' }]);
});
