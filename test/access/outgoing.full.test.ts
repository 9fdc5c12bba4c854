import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import WebSocket from 'ws';
import { createDeliveryActivities } from '../../activities/delivery/send-mail.ts';
import { createActivityMetrics } from '../../ports/metrics/activity-metrics.ts';
import type { Mail } from '../../ports/mail.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { scripted, startEffectServer, writeTool, type EffectServer } from '../support/scenario.ts';
import { startOwnStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { tableFaults } from './checks/table.ts';
import { createLeakWatch } from './leaks.ts';
import { openStage, type Stage } from './stage.ts';
import { actorSpecs } from './world/actors.ts';
import { makeAccessWorld } from './world/world.ts';

jest.setTimeout(900_000);

// G5 for what leaves by another way than a reply.
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

test('frames over a socket are those of the own run', async () => {
  const { rows, ground } = stage.world;
  const runId = String(rows.first('runs', ground.home)?.['id']);
  const { headers } = stage.world.actor('viewer A1');
  const { token } = (await stage.api.app.inject({ method: 'POST', url: `/runs/${runId}/stream-token`, headers })).json();

  const messages = await new Promise<string>((resolve, reject) => {
    const got: string[] = [];
    const socket = new WebSocket(`${stage.api.url.replace('http', 'ws')}/ws/runs/${runId}`);
    socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token })));
    socket.on('message', (message) => got.push(String(message)));
    socket.on('close', (code) => resolve([...got, code].join('\n')));
    socket.on('error', reject);
    setTimeout(() => socket.close(), 2_000).unref();
  });

  expect(messages).toContain('canary.a1.run_frame_chunks.frames');
  expect(stage.leaks.foreignIn(messages, { sight: 'home' })).toEqual([]);
});

test('mails that A’s people cause tell of A alone', async () => {
  const senders = stage.operations.filter(({ operationId }) =>
    [
      'createUser',
      'createInvitation',
      'resendInvitation',
      'changePassword',
      'confirmTotp',
      'regenerateRecoveryCodes',
      'updateMe',
      'forgotPassword',
      'resetPassword',
    ].includes(operationId),
  );
  await tableFaults(
    stage,
    senders,
    actorSpecs.filter(({ name }) => name === 'owner A' || name === 'admin A1' || name === 'nobody'),
  );
  const mails: Mail[] = [];
  const mailer = {
    send: async (mail: Mail) => {
      mails.push(mail);
      return { isTaken: true } as const;
    },
  };
  const mail = { mailer, publicUrl: 'http://longhaul.test', linkUrl: null };
  const deliver = createDeliveryActivities({
    db: stage.api.db,
    keys: stage.api.keys,
    mail,
    log: stage.api.deps.log,
    metrics: createActivityMetrics([]),
  });
  const queued = await stage.world.rows.query<{ id: string }>("select id from outbox where kind = 'mail' and payload ? 'mail'");

  for (const { id } of queued) await deliver.sendMail({ outboxId: id });

  const text = JSON.stringify(mails);
  expect(mails.length).toBeGreaterThan(3);
  expect(text).toContain('canary.a');
  expect(stage.leaks.foreignIn(text, { sight: 'organization' })).toEqual([]);
});

test('what a run of A sends to models and tools tells of A alone', async () => {
  const [models, effects] = await Promise.all([startModelServer(), startEffectServer()]);
  // Rows of its world are sealed under keys that no process has.
  const stack = await startOwnStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, egressPorts: [effects.port] });
  try {
    const text = await playAsA(stack, models, effects);

    expect(text.made).toContain('canary.a1.');
    expect(text.foreign).toEqual([]);
  } finally {
    await stack.stop();
    effects.close();
    await models.close();
  }
});

/** One run with a tool, as the key of A1 in a world of twins; gives what left the deployment. */
async function playAsA(stack: Stack, models: ModelServer, effects: EffectServer): Promise<{ made: string; foreign: string[] }> {
  const world = await makeAccessWorld(stack);
  const { organizationId } = world.a.organization;
  await world.rows.query('update organization_settings set egress_allowlist = $1 where organization_id = $2', [
    JSON.stringify([{ host: '127.0.0.1', port: effects.port, allow_http: true }]),
    organizationId,
  ]);
  const leaks = createLeakWatch(world);
  await leaks.learn();
  const credential = String(world.actor('key A1').headers['authorization']).replace('Bearer ', '');
  const post = async (path: string, body: object): Promise<{ id: string }> =>
    (await stack.request('POST', path, { body, credential })).body;

  const tool = await post('/tools', writeTool('effect', effects));
  const revision = { instructions: 'canary.a1.agent_revisions.document', tools: [{ id: tool.id }] };
  const agent = await post('/agents', { slug: `s-${crypto.randomUUID()}`, name: 'Agent', revision, activate: true });
  const steps = [{ tool_calls: [{ name: 'effect', arguments: { n: 1 } }] }, { text: 'Done.' }];
  const input = { text: scripted({ steps }, 'canary.a1.runs.input') };
  const run = await post('/runs', { agent_id: agent.id, input, session_key: 'twin' });
  await until(async () => (await world.rows.query('select from runs where id = $1 and finished_at is not null', [run.id])).length > 0);

  const made = JSON.stringify([models.calls(), effects.effects]);
  await world.close();
  if (effects.effects.length === 0) throw new Error('the tool was not called');
  return { made, foreign: leaks.foreignIn(made, { sight: 'home' }) };
}
