import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { asArray, asObject, type Json } from '../contract/newcomer.ts';
import { startStack, type Stack } from '../support/stack.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'longhaul-samples-'));
let stack: Stack;
let operations: Json[];

beforeAll(async () => {
  stack = await startStack({ processes: ['api', 'worker-runs'] });
  const document = asObject(await (await fetch(`${stack.url()}/openapi.json`)).json());
  operations = Object.values(asObject(document['paths'])).flatMap((item) => Object.values(asObject(item)).map(asObject));
  const tool = { slug: 'web_fetch', kind: 'web_fetch', description: 'Reads the page at an address.' };
  expect((await stack.request('POST', '/tools', { body: tool })).status).toBe(201);
}, 180_000);

afterAll(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true });
});

test('the samples for curl make an agent, put it into force, run it and stream the run', async () => {
  const agent = asObject(JSON.parse(await curl('createAgent')));
  const revision = asObject(JSON.parse(await curl('createAgentRevision', { AGENT_ID: agent['id'] })));
  const etag = (await stack.request('GET', `/agents/${String(agent['id'])}`)).headers.get('etag');
  const variables = { AGENT_ID: agent['id'], REVISION_ID: revision['id'], ETAG: etag };
  const active = asObject(JSON.parse(await curl('activateAgentRevision', variables)));
  const started = asObject(JSON.parse(await curl('createRun')));
  const stream = await curl('streamRun', { RUN_ID: started['id'] });
  const ended = asObject(JSON.parse(await curl('getRun', { RUN_ID: started['id'] })));

  expect(active).toMatchObject({ id: agent['id'], slug: 'guide', active_revision_id: revision['id'] });
  expect(started).toMatchObject({ agent_id: agent['id'], session_key: 'chat-42' });
  expect(stream).toMatch(/event: run\.started\n[^]*event: run\.finished\n/);
  expect(ended).toMatchObject({ id: started['id'], status: 'succeeded' });
  expect(asArray(asObject(JSON.parse(await curl('listRunMessages', { RUN_ID: started['id'] })))['items']).length).toBeGreaterThan(1);
}, 180_000);

test('the samples for TypeScript start a run and stream it', async () => {
  const started = await typescript('createRun');
  const [, runId] = /id: '([0-9a-f-]{36})'/.exec(started) ?? [];

  expect(await typescript('streamRun', { RUN_ID: runId })).toMatch(/event: run\.started\n[^]*event: run\.finished\n/);
}, 180_000);

test('a sample for a file uploads it', async () => {
  writeFileSync(join(folder, 'notes.txt'), 'Meeting notes\n');

  expect(JSON.parse(await curl('createAttachment'))).toMatchObject({ filename: 'notes.txt', size_bytes: 14 });
  expect(await typescript('createAttachment')).toContain("filename: 'notes.txt'");
}, 180_000);

function sampleOf(operationId: string, label: string): string {
  const operation = operations.find((candidate) => candidate['operationId'] === operationId);
  const sample = asArray(operation?.['x-codeSamples'])
    .map(asObject)
    .find((candidate) => candidate['label'] === label);
  return String(sample?.['source']);
}

async function curl(operationId: string, variables: Json = {}): Promise<string> {
  const { stdout } = await run('sh', ['-c', sampleOf(operationId, 'curl')], { cwd: folder, env: environment(variables) });
  return stdout;
}

async function typescript(operationId: string, variables: Json = {}): Promise<string> {
  const file = join(folder, `${operationId}.mts`);
  writeFileSync(file, sampleOf(operationId, 'TypeScript'));
  const { stdout } = await run(process.execPath, [file], { cwd: folder, env: environment(variables) });
  return stdout;
}

function environment(variables: Json): NodeJS.ProcessEnv {
  const given = Object.entries(variables).map(([name, value]) => [name, String(value)]);
  return { PATH: process.env['PATH'], LONGHAUL_KEY: stack.tenant.serviceKey.plaintext, ...Object.fromEntries(given) };
}
