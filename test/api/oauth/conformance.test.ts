import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { TestTenant } from '../../support/tenant.ts';
import { openOauth, type OauthWorld } from './client.ts';

// The package starts as a process of its own.
const cli = join(dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')), 'dist/index.js');
const folder = mkdtempSync(join(tmpdir(), 'longhaul-conformance-'));

let world: OauthWorld;
let tenant: TestTenant;
let front: Server;
let url: string;
let callbackPort: number;

beforeAll(async () => {
  // The issuer must be known before the listener is: a port in front of it.
  front = createServer((inbound) => {
    const outbound = connect(Number(new URL(world.api.url).port), '127.0.0.1');
    inbound.on('error', () => outbound.destroy());
    outbound.on('error', () => inbound.destroy());
    inbound.pipe(outbound).pipe(inbound);
  });
  url = `http://127.0.0.1:${await portOf(front)}`;
  const spare = createServer();
  callbackPort = await portOf(spare);
  spare.close();
  world = await openOauth({ env: { PUBLIC_URL: url } });
  tenant = await world.tenant({ publicUrl: url });
});

afterAll(async () => {
  await world.close();
  front.close();
  rmSync(folder, { recursive: true });
});

// A public one: where a server knows public clients, the package never shows a secret.
test('the authorization server scenarios pass', async () => {
  const redirectUri = `http://127.0.0.1:${callbackPort}/callback`;
  const client = await world.client(tenant.tokens.operator, { redirect_uris: [redirectUri] });

  const { names, failed } = await run(['--client-id', client.clientId, '--resource', `${url}/mcp`, '--port', String(callbackPort)]);

  expect(failed).toEqual([]);
  expect(names).toEqual(expect.arrayContaining(['AuthorizationServerMetadata', 'AuthorizationCodeGrant']));
});

/** Runs the scenarios; gives the names of their checks, and those that did not succeed. A link that it prints is followed as a user who approves would. */
async function run(args: readonly string[]): Promise<{ names: string[]; failed: unknown[] }> {
  const results = mkdtempSync(join(folder, 'results-'));
  const child = spawn(process.execPath, [cli, 'authorization', '--url', url, '--verbose', '-o', results, ...args], {
    env: { PATH: process.env['PATH'] },
  });
  let output = '';
  let isFollowed = false;
  const follow = (chunk: Buffer) => {
    output += chunk.toString();
    const [link] = /https?:\/\/\S*\/oauth\/authorize\?[^\s"']+/.exec(output) ?? [];
    if (link === undefined || isFollowed || !/[\s"']$|\n/.test(output.slice(output.indexOf(link) + link.length))) return;
    isFollowed = true;
    void approveAt(new URL(link));
  };
  child.stdout.on('data', follow);
  child.stderr.on('data', follow);
  await new Promise((resolve) => child.on('close', resolve));

  const checks = checksIn(results);
  if (checks.length === 0) throw new Error(`no checks: ${output.slice(-2_000)}`);
  return { names: checks.map(({ name }) => name), failed: checks.filter(({ status }) => status !== 'SUCCESS') };
}

async function approveAt(link: URL): Promise<void> {
  const started = await world.get(link.pathname + link.search);
  const decided = await world.json(tenant.tokens.member, '/oauth/authorize', {
    transaction_id: started.body.transaction_id,
    decision: 'approve',
  });
  await fetch(decided.body.redirect_to);
}

function checksIn(results: string): { status: string; name: string }[] {
  return readdirSync(results, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('checks.json'))
    .flatMap((name) => JSON.parse(readFileSync(join(results, name), 'utf8')));
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A server that listens on a port has such an address.
  return (server.address() as AddressInfo).port;
}
