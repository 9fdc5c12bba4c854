import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createStorage } from '../../ports/storage/storage.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { storageDirOf } from '../support/api.ts';
import { makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

/** A scanner that finds what says so, and says nothing while it is told to. */
interface Scanner {
  readonly port: number;
  readonly seen: { readonly bytes: string; readonly token: string | undefined }[];
  isSilent: boolean;
  readonly server: Server;
}

let models: ModelServer;
let scanner: Scanner;
let stack: Stack;
let folder: string;

beforeAll(async () => {
  [models, scanner] = await Promise.all([startModelServer(), startScanner()]);
  folder = mkdtempSync(join(tmpdir(), 'longhaul-attachments-'));
  writeFileSync(join(folder, 'registry.json'), JSON.stringify(registryOf(models.baseUrl)));
  stack = await startStack({
    processes: ['api', 'worker-runs', 'worker-bulk'],
    env: {
      LONGHAUL_MODEL_REGISTRY: join(folder, 'registry.json'),
      ATTACHMENT_SCAN_URL: `http://127.0.0.1:${scanner.port}/scan`,
      ATTACHMENT_SCAN_TOKEN: 'scan-token',
    },
    egressPorts: [scanner.port],
  });
});

afterAll(async () => {
  await stack?.stop();
  scanner?.server.closeAllConnections();
  scanner?.server.close();
  await models?.close();
  rmSync(folder, { recursive: true, force: true });
});

function registryOf(baseUrl: string): object {
  const capabilities = { tools: true, parallel_tools: true, json: 'tool', reasoning: true, image: false, pdf: false, audio: false };
  const defaults = { context_window: 100_000, capabilities, first_token_s: 20, idle_s: 20 };
  return {
    providers: [{ id: 'fake', adapter: 'openai_compatible', base_url: baseUrl, default_model: 'blind', model_defaults: defaults }],
    models: [
      { provider: 'fake', name: 'blind' },
      { provider: 'fake', name: 'seeing', capabilities: { ...capabilities, image: true } },
    ],
  };
}

async function startScanner(): Promise<Scanner> {
  const seen: Scanner['seen'][number][] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const bytes = Buffer.concat(parts).toString('latin1');
      if (request.url === '/image') return void response.writeHead(200, { 'content-type': 'image/png' }).end(png);
      seen.push({ bytes, token: request.headers.authorization });
      if (state.isSilent) return;
      const verdict = bytes.includes('EICAR') ? 'infected' : 'clean';
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ verdict }));
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const state: Scanner = { port, seen, server, isSilent: false };
  return state;
}

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex'), Buffer.alloc(500, 7)]);

async function upload(content: string | Buffer, filename: string): Promise<{ id: string; state: string }> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(Buffer.from(content))]), filename);
  const answer = await fetch(`${stack.url()}/attachments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` },
    body: form,
  });
  expect(answer.status).toBe(201);
  return (await answer.json()) as { id: string; state: string };
}

const view = async (id: string) =>
  (await stack.request('GET', `/attachments/${id}`, { headers: { accept: 'application/json' } })).body as { state: string };
const isReady = (id: string) => until(async () => (await view(id)).state === 'ready');

async function run(agentId: string, text: string, ids: readonly string[]): Promise<Record<string, never>> {
  const { body } = await stack.request('POST', '/runs', {
    body: { agent_id: agentId, input: { text, attachments: ids.map((id) => ({ attachment_id: id })) } },
  });
  return body as Record<string, never>;
}

async function ended(runId: unknown): Promise<Record<string, unknown>> {
  let last: Record<string, unknown> = {};
  await until(async () => {
    last = (await stack.request('GET', `/runs/${String(runId)}`)).body;
    return last['finished_at'] !== null;
  });
  return last;
}

/** What the model was sent under these words. */
const promptWith = (words: string) => models.calls().find((call) => JSON.stringify(call.body).includes(words))?.body;

test('a file is looked at before it can be used; one that is infected loses its bytes', async () => {
  const [good, bad] = await Promise.all([upload('all well', 'a.txt'), upload('EICAR', 'b.txt')]);

  expect([good.state, bad.state]).toEqual(['scanning', 'scanning']);
  await isReady(good.id);
  await until(async () => (await view(bad.id)).state === 'rejected');
  const bytes = await stack.request('GET', `/attachments/${bad.id}`);

  expect(bytes.status).toBe(409);
  expect(scanner.seen).toContainEqual({ bytes: 'all well', token: 'Bearer scan-token' });
});

test('a worker killed while a file is looked at: another has it looked at, and the run that waits goes on with it', async () => {
  scanner.isSilent = true;
  const agent = await makeAgent(stack, []);
  const file = await upload('The password is swordfish.', 'waiting.txt');
  await until(async () => scanner.seen.some(({ bytes }) => bytes.includes('swordfish')));
  const started = await run(agent.id, scripted({ steps: [{ text: 'Read.' }] }, 'Kill test.'), [file.id]);

  await stack.kill('worker-runs');
  scanner.isSilent = false;
  await stack.start('worker-runs');
  const last = await ended(started['id']);

  expect(last).toMatchObject({ status: 'succeeded', warnings: [] });
  expect((await view(file.id)).state).toBe('ready');
  expect(JSON.stringify(promptWith('Kill test.'))).toContain('The password is swordfish.');
});

test('a picture goes to a model that sees as bytes; to another as a note of what it is', async () => {
  const file = await upload(png, 'dot.png');
  await isReady(file.id);
  const [seeing, blind] = await Promise.all([makeAgent(stack, [], { model: 'fake/seeing' }), makeAgent(stack, [])]);

  await ended((await run(seeing.id, scripted({ steps: [{ text: 'Seen.' }] }, 'Seeing test.'), [file.id]))['id']);
  await ended((await run(blind.id, scripted({ steps: [{ text: 'Blind.' }] }, 'Blind test.'), [file.id]))['id']);

  expect(JSON.stringify(promptWith('Seeing test.'))).toContain(png.toString('base64'));
  const blindPrompt = JSON.stringify(promptWith('Blind test.'));
  expect(blindPrompt).toContain('It can not be read as text.');
  expect(blindPrompt).not.toContain(png.toString('base64').slice(0, 60));
});

test('attachment_read gives the text of a file of the conversation, on from an offset, and of no other', async () => {
  const text = `${'a'.repeat(70_000)}END`;
  const [mine, other] = await Promise.all([upload(text, 'long.txt'), upload('not yours', 'other.txt')]);
  await Promise.all([isReady(mine.id), isReady(other.id)]);
  const tool = { slug: 'read-file', kind: 'builtin', description: 'Reads a file.', config: { name: 'attachment_read' } };
  const agent = await makeAgent(stack, [tool]);
  const call = (id: string) => ({ name: 'read-file', arguments: { attachment_id: id, offset: 69_990 } });

  // One after the other: calls of one step are listed in the order in which they began.
  const steps = [{ tool_calls: [call(mine.id)] }, { tool_calls: [call(other.id)] }, { text: 'Done.' }];
  const last = await ended((await run(agent.id, scripted({ steps }, 'Read test.'), [mine.id]))['id']);
  const found = (await stack.request('GET', `/runs/${String(last['id'])}/steps?kind=tool`)).body as { items: Record<string, never>[] };

  expect(last['status']).toBe('succeeded');
  expect(found.items.map((step) => [step['status'], step['error'] ?? step['output_preview']])).toEqual([
    ['succeeded', `${'a'.repeat(10)}END`],
    ['failed', expect.objectContaining({ code: 'invalid_arguments' })],
  ]);
});

test('a tool that gives a file: it is kept, named in the result and in the output of the run', async () => {
  const tool = {
    slug: 'draw',
    kind: 'http',
    description: 'Draws.',
    config: { method: 'GET', url: `http://127.0.0.1:${scanner.port}/image` },
  };
  const agent = await makeAgent(stack, [tool]);
  const steps = [{ tool_calls: [{ name: 'draw', arguments: {} }] }, { text: 'Here.' }];
  const looks = () => scanner.seen.filter(({ bytes }) => bytes === png.toString('latin1')).length;
  const before = looks();

  const last = await ended((await run(agent.id, scripted({ steps }, 'Draw test.'), []))['id']);
  const [made] = (last['output'] as { attachments: { attachment_id: string }[] }).attachments;
  await isReady(made?.attachment_id ?? '');
  expect(looks()).toBe(before + 1);
  const bytes = await fetch(`${stack.url()}/attachments/${made?.attachment_id}`, {
    headers: { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` },
  });

  expect(last['output']).toMatchObject({ text: 'Here.', attachments: [{ media_type: 'image/png', bytes: png.length, name: 'image' }] });
  expect(Buffer.from(await bytes.arrayBuffer()).equals(png)).toBe(true);
});

test('the sweep takes old bytes that no row names, killed in the middle or not, and leaves the rest', async () => {
  const kept = await upload('kept', 'kept.txt');
  const storage = await createStorage({ kind: 'folder', folder: storageDirOf(stack.redisPrefix) });
  const strays = Array.from({ length: 30 }, () => newStorageKey(stack.tenant.organizationId));
  for (const key of strays) await storage.put(key, [Buffer.from('stray')]);
  const young = newStorageKey(stack.tenant.organizationId);
  await storage.put(young, [Buffer.from('young')]);
  const { utimesSync } = await import('node:fs');
  const old = new Date(Date.now() - 2 * 3_600_000);
  for (const key of strays) utimesSync(join(storageDirOf(stack.redisPrefix), key), old, old);
  const left = async () => {
    const keys = [];
    for await (const { key } of storage.list('')) if (strays.includes(key) || key === young) keys.push(key);
    return keys;
  };

  const schedule = stack.temporal.client.schedule.getHandle('maint:attachments');
  await schedule.trigger();
  await stack.kill('worker-bulk');
  await stack.start('worker-bulk');
  await until(async () => {
    if ((await left()).length === 1) return true;
    await schedule.trigger();
    return false;
  });

  expect(await left()).toEqual([young]);
  await isReady(kept.id);
  expect((await stack.request('GET', `/attachments/${kept.id}`, { headers: { accept: 'application/json' } })).status).toBe(200);
});
