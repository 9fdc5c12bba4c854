import { afterAll, expect, test } from '@jest/globals';
import { startStack, type Stack } from '../support/stack.ts';
import { bootstrap } from '../../cli/bootstrap.ts';
import { startRun } from '../../db/runs/start-run.ts';
import { transact, workspaceTenant } from '../../db/scope.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { archivedFrames } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { createServer } from 'node:http';

let stack: Stack;
afterAll(async () => { await stack?.stop(); });
test('spine', async () => {
  const srv = createServer((q, r) => { r.writeHead(q.url === '/robots.txt' ? 404 : 200, {'content-type':'text/plain'}); r.end('# Ref\n\n## Runs\n\nPOST /runs – Start a run (member)\nGET /runs – List runs (viewer)\nPOST /runs/{run_id}/cancel – Cancel a run (member)\n'); });
  await new Promise<void>((res) => srv.listen(0, '127.0.0.1', res));
  const port = (srv.address() as any).port;
  stack = await startStack({ processes: ['worker-runs'] });
  const { access } = await bootstrap({ db: stack.db, keys: stack.keys }, { publicUrl: `http://127.0.0.1:${port}`, defaultModelId: 'builtin/extractive', known: null });
  const { value, outgoing } = await transact(stack.db, { tenant: workspaceTenant(access.organization_id, access.workspace_id), actor: { kind: 'system', id: null, role: null, actingUserId: null, impersonationId: null }, correlationId: crypto.randomUUID() }, (unit) => startRun(unit, { workspaceId: access.workspace_id, defaultWorkspaceId: null, agent: { id: access.agent_id }, revisionId: null, input: { text: `Read http://127.0.0.1:${port}/llms.txt: which operation starts a run?` }, sessionKey: null, subject: null, source: 'api', createdBy: { kind: 'system', id: null, actingUserId: null }, onBusy: 'enqueue', limits: {}, metadata: {}, priority: 3, currency: 'USD' } as never));
  console.log(value.run.id, outgoing.outboxIds);
  try {
  await until(async () => (await sweep(stack.db, (em) => rows<any>(em, 'select status from runs where id = ?', [value.run.id])))[0].status === 'succeeded', 25000);
  } finally {
  for (const f of await archivedFrames(stack, value.run.id)) console.log(f.slice(0, 400));
  console.log(await sweep(stack.db, (em) => rows<any>(em, 'select status, error, output, usage_own from runs where id = ?', [value.run.id])));
  srv.close(); srv.closeAllConnections();
  }
  expect(1).toBe(1);
}, 60000);
