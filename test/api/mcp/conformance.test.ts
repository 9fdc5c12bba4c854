import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Type from 'typebox';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { area, get } from '../../../api/http/operation/operation.ts';
import { closed } from '../../../api/http/input/schema.ts';
import { areas } from '../../../api/operations.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { TestApi } from '../../support/api.ts';
import { makeTenant } from '../../support/tenant.ts';
import { startMcpApi } from './client.ts';

// The package starts as a process of its own, once for each revision.
const cli = join(dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')), 'dist/index.js');
const folder = mkdtempSync(join(tmpdir(), 'longhaul-mcp-conformance-'));

/** The package calls tools by names of its own: operations that do what it asks of them. */
const Told = closed({ text: Type.String({ maxLength: 100 }) }, { $id: 'DiagnosticView' });
const diagnostic = (name: string, work: () => Promise<{ text: string }>) =>
  get(
    `/diagnostics/${name}`,
    {
      summary: `Diagnostic ${name}`,
      description: 'Only there for the conformance scenarios of tools.',
      access: 'viewer',
      scope: null,
      mcp: true,
      transaction: 'none',
      view: Told,
    },
    work,
  );
const told = async () => ({ text: 'This is a simple text response for testing.' });
const diagnostics = area('Mcp', {
  test_simple_text: diagnostic('text', told),
  test_logging_tool: diagnostic('logging', told),
  test_streaming_elicitation: diagnostic('streaming', told),
  test_error_handling: diagnostic('error', async () => {
    throw fail('state_conflict', { detail: 'This tool intentionally returns an error for testing' });
  }),
  test_tool_with_progress: diagnostic('progress', async () => {
    await delay(4_500);
    return told();
  }),
});

let api: TestApi;
let front: Server;
let url: string;
let token = '';

beforeAll(async () => {
  // The package signs nobody in: a port in front of the listener adds the credential, and is what the deployment calls itself.
  front = createServer((inbound, outbound) => {
    const target = httpRequest(
      {
        host: '127.0.0.1',
        port: new URL(api.url).port,
        method: inbound.method,
        path: inbound.url,
        headers: { ...inbound.headers, authorization: `Bearer ${token}` },
      },
      (reply) => {
        outbound.writeHead(reply.statusCode ?? 500, reply.headers);
        reply.pipe(outbound);
      },
    );
    outbound.on('close', () => target.destroy());
    target.on('error', () => outbound.destroy());
    inbound.pipe(target);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  // A server that listens on a port has such an address.
  url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  api = await startMcpApi({ areas: [...areas, diagnostics], env: { PUBLIC_URL: url } });
  token = (await makeTenant(api.db, api.keys, { publicUrl: url })).tokens.admin;
});

afterAll(async () => {
  front.closeAllConnections();
  front.close();
  await api.close();
  rmSync(folder, { recursive: true });
});

// The package answers 0 only if what stands in the list fails, and nothing else: an entry that passes has to go.
test.each(['2025-11-25', '2026-07-28'])('the server scenarios of %s pass but for the written list', async (revision) => {
  const list = join(import.meta.dirname, `expected-failures-${revision}.yaml`);

  const { code, output } = await run(['--requirements', revision, '--expected-failures', list]);

  if (code !== 0) throw new Error(output.slice(-8_000));
  expect(output).toMatch(/server|scenario/i);
});

async function run(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [cli, 'server', '--url', `${url}/mcp`, '-o', mkdtempSync(join(folder, 'results-')), ...args], {
    env: { PATH: process.env['PATH'] },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, output };
}
