import { afterAll, beforeAll, jest, test } from '@jest/globals';
import { tableFaults } from './checks/table.ts';
import { openStage, type Stage } from './stage.ts';
import { actorSpecs } from './world/actors.ts';
jest.setTimeout(120_000);
let stage: Stage;
beforeAll(async () => { stage = await openStage({ isUnchecked: true }); });
afterAll(() => stage?.close());
test('debug', async () => {
  const ops = stage.operations.filter(({ operationId }) => /Mcp|deleteAgent|deleteToolkit|createAttachment|testTool/.test(operationId));
  console.log(await tableFaults(stage, ops, actorSpecs));
  await new Promise((r) => setTimeout(r, 3000));
  console.log(await stage.world.rows.query("select kind, dedupe_key, attempts, last_error, payload from outbox where sent_at is null"));
});
