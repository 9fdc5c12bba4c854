import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startS3Server, s3Keys, type S3Server } from '../../fakes/s3-server.ts';
import { startStack, type ProcessName, type Stack } from '../../support/stack.ts';

const atOnce = 12;
const fileBytes = 25 * 1024 * 1024;
const budgetBytes = 2 * 1024 * 1024;
const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
const tail = '\r\n--b--\r\n';
const block = Buffer.alloc(262_144, 'words ');

interface Measured {
  readonly stack: Stack;
  readonly probe: string;
}

let folder: string;
let s3: S3Server;
const measured: Partial<Record<'folder' | 's3', Measured>> = {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-memory-'));
  s3 = await startS3Server();
  const bucket = {
    STORAGE_S3_BUCKET: 'files',
    STORAGE_S3_ENDPOINT: s3.endpoint,
    STORAGE_S3_ACCESS_KEY_ID: s3Keys.accessKeyId,
    STORAGE_S3_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
  };
  for (const [kind, env] of [
    ['folder', {}],
    ['s3', bucket],
  ] as const) {
    const probe = join(folder, `${kind}.sock`);
    const preload = pathToFileURL(join(import.meta.dirname, '../../support/memory-probe.ts')).href;
    const stack = await startStack({ processes: ['api'], env: { ...env, NODE_OPTIONS: `--import ${preload}`, MEMORY_PROBE: probe } });
    measured[kind] = { stack, probe };
  }
});

afterAll(async () => {
  for (const { stack } of Object.values(measured)) await stack.stop();
  s3?.close();
  rmSync(folder, { recursive: true, force: true });
});

function of(kind: 'folder' | 's3'): Measured {
  const found = measured[kind];
  if (!found) throw new Error('not started');
  return found;
}

/** What the API process holds after a collection, in bytes. */
function held(probe: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(probe, () => socket.write('held'));
    socket.on('data', (part) => (answer += String(part)));
    socket.on('end', () => resolve(Number(answer))).on('error', reject);
  });
}

function open({ stack }: Measured, method: string, path: string, headers: Record<string, string | number> = {}): ClientRequest {
  const process: ProcessName = 'api';
  return httpRequest(stack.url(process) + path, {
    method,
    agent: false,
    headers: { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}`, ...headers },
  });
}

const answerTo = (request: ClientRequest) =>
  new Promise<IncomingMessage>((resolve, reject) => void request.on('response', resolve).on('error', reject));

async function write(request: ClientRequest, bytes: number): Promise<void> {
  for (let sent = 0; sent < bytes; sent += block.length) {
    const part = block.subarray(0, Math.min(block.length, bytes - sent));
    if (!request.write(part)) await new Promise((resolve) => request.once('drain', resolve));
  }
}

async function upload(at: Measured): Promise<string> {
  const request = startUpload(at);
  const answer = answerTo(request);
  await write(request, fileBytes);
  request.end(tail);
  let text = '';
  for await (const part of await answer) text += String(part);
  return (JSON.parse(text) as { id: string }).id;
}

function startUpload(at: Measured): ClientRequest {
  const length = head.length + fileBytes + tail.length;
  const request = open(at, 'POST', '/attachments', { 'content-type': 'multipart/form-data; boundary=b', 'content-length': length });
  request.write(head);
  return request;
}

/** What is held once it shrinks no more: what a start and first requests leave goes by and by. */
async function settled(probe: string): Promise<number> {
  for (let last = await held(probe); ;) {
    await delay(1_000);
    const now = await held(probe);
    if (now > last - 102_400) return now;
    last = now;
  }
}

/** How much each of some transfers holds while all of them stall in the middle. */
async function heldEach(probe: string, before: number): Promise<number> {
  await delay(500); // what the kernel's buffers took is read
  return ((await held(probe)) - before) / atOnce;
}

/** What each of some uploads holds that stall in the middle and are broken off then. */
async function uploading(at: Measured, count = atOnce): Promise<number> {
  const idle = await settled(at.probe);
  const uploads = Array.from({ length: count }, () => startUpload(at).on('error', () => undefined));
  await Promise.all(uploads.map((request) => write(request, fileBytes / 2)));
  const each = await heldEach(at.probe, idle);
  for (const request of uploads) request.destroy();
  return each;
}

/** On a busy machine PostgreSQL may be slow for a moment, which is 503: a client comes back. */
async function startDownload(at: Measured, id: string): ReturnType<typeof answerTo> {
  for (;;) {
    const answer = await answerTo(open(at, 'GET', `/attachments/${id}`).end());
    if (answer.statusCode !== 503) return answer;
    answer.resume();
    await delay(1_000);
  }
}

/** What each of some downloads holds that nobody reads on after the head. */
async function downloading(at: Measured, id: string): Promise<number> {
  const idle = await settled(at.probe);
  const answers = await Promise.all(Array.from({ length: atOnce }, () => startDownload(at, id)));
  const each = await heldEach(at.probe, idle);
  for (const answer of answers) answer.on('error', () => undefined).destroy();
  expect(answers.map((answer) => answer.statusCode)).toEqual(Array(atOnce).fill(200));
  return each;
}

test.each(['folder', 's3'] as const)('an upload into a %s holds no more than 2 MiB of memory, and so does a download', async (kind) => {
  const at = of(kind);
  const id = await upload(at);
  // The first of each loads and compiles what it needs.
  await uploading(at, 3);
  await downloading(at, id);

  const ofUpload = await uploading(at);
  const ofDownload = await downloading(at, id);

  if (process.env['PRINT']) process.stderr.write(`${kind}: upload ${ofUpload >> 10} KiB, download ${ofDownload >> 10} KiB\n`);
  expect(ofUpload).toBeLessThan(budgetBytes);
  expect(ofDownload).toBeLessThan(budgetBytes);
});
