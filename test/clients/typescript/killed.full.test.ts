import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Longhaul, type Frame } from '../../../clients/typescript/src/index.ts';
import { startModelServer, type ModelServer } from '../../fakes/model-server.ts';
import { archivedFrames, makeAgent, scripted, type CreatedAgent } from '../../support/scenario.ts';
import { startStack, type Stack } from '../../support/stack.ts';
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.ts';

const starts = 200;
const atOnce = 20;
const kills = 6;
let models: ModelServer;
let stack: Stack;
let proxy: CuttingProxy;
let agent: CreatedAgent;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
  proxy = await startCuttingProxy(() => stack.url());
  agent = await makeAgent(stack, []);
});

afterAll(async () => {
  await proxy?.close();
  await stack?.stop();
  await models?.close();
});

interface Read {
  readonly id: string;
  readonly frames: readonly Frame[];
}

async function startAndRead(longhaul: Longhaul): Promise<Read> {
  const text = scripted({ steps: [{ tokens: 6, delay_ms: 20 }] }, `Words ${crypto.randomUUID()}.`);
  // As long as the deployment may be away here: a start, too, is tried until it is acknowledged, under one key.
  const idempotencyKey = crypto.randomUUID();
  for (let tries = 1; ; tries++) {
    try {
      const run = await longhaul.start({ agent_id: agent.id, input: { text } }, { idempotencyKey });
      const frames: Frame[] = [];
      for await (const frame of run.frames()) frames.push(frame);
      return { id: run.id, frames };
    } catch (error) {
      if (tries === 20) throw error;
    }
  }
}

test('200 starts while API and worker are killed again and again: 200 runs, all frames once and in order', async () => {
  const longhaul = new Longhaul({ baseUrl: proxy.url, serviceKey: stack.tenant.serviceKey.plaintext });
  const read: Read[] = [];
  let begun = 0;
  const reader = async () => {
    for (; begun < starts;) {
      begun += 1;
      read.push(await startAndRead(longhaul));
    }
  };
  const reading = Promise.all(Array.from({ length: atOnce }, reader));

  for (let kill = 1; kill <= kills; kill++) {
    const due = Math.floor((starts / (kills + 1)) * kill);
    while (read.length < due) await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, 50))]);
    const name = kill % 3 === 0 ? 'worker-runs' : 'api';
    await stack.kill(name);
    await stack.start(name);
  }
  await reading;
  const listed = new Set<string>();
  for await (const { id } of longhaul.listRuns({ agent_id: agent.id, limit: 200 })) listed.add(id);
  const faults: string[] = [];
  for (const { id, frames } of read) {
    const archive = (await archivedFrames(stack, id)).map((text) => JSON.parse(text));
    if (JSON.stringify(frames) !== JSON.stringify(archive))
      faults.push(`${id}: ${frames.map(({ seq }) => seq).join(' ')} of ${archive.length}`);
  }

  expect(faults).toEqual([]);
  expect(read).toHaveLength(starts);
  expect(listed.size).toBe(starts);
});
