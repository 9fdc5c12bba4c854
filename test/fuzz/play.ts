import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRoleAccess } from '../../api/http/credentials/scopes.ts';
import { aim, groundFor } from '../access/aim.ts';
import type { Stage } from '../access/stage.ts';
import { pythonPackages } from '../support/python-packages.ts';
import { createCredentials, type CredentialName } from './credentials.ts';

/** What one credential is played with. */
interface Plan {
  readonly credential: CredentialName;
  readonly seed: number;
  /** Requests that each operation gets at random, beside those that its schema suggests. */
  readonly examples: number;
  /** Only this operation. */
  readonly operation: string | null;
}

interface Finding {
  readonly operation: string;
  readonly kind: string;
  readonly message: string;
  readonly status: number;
  readonly reply: string;
  readonly curl: string;
}

interface Found {
  /** Replies by operation and status. */
  readonly statuses: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Operations that were told that the credential is none, or has ended. */
  readonly refused: readonly string[];
  readonly findings: readonly Finding[];
}

/** What came of it: a text for each fault, with the command that repeats it; how much was played. */
interface Played {
  readonly faults: readonly string[];
  readonly operations: number;
  readonly requests: number;
}

const resultFolder = join(import.meta.dirname, '../../.longhaul/fuzz');

/** Plays the whole document against the API with one credential. Everything that was found is also in `.longhaul/fuzz/<credential>.json`. */
export async function play(stage: Stage, plan: Plan): Promise<Played> {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-fuzz-'));
  const aims = await serveAims(stage, plan.credential);
  const faultsBefore = stage.api.check.faults.length;
  const linesBefore = stage.lines.length;
  try {
    const { status, output } = await runSchemathesis(stage, { plan, folder, aimPort: portOf(aims) });
    const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
    const found: Found = read('found.json');
    const report: { errors: { title: string }[] } = read('report.json');
    mkdirSync(resultFolder, { recursive: true });
    writeFileSync(join(resultFolder, `${plan.credential}.json`), JSON.stringify({ plan, status, ...found, output }, null, 2));

    const counts = Object.values(found.statuses).map((byStatus) => Object.values(byStatus).reduce((sum, count) => sum + count, 0));
    const ended = found.refused.filter((id) =>
      stage.operations.some((operation) => operation.operationId === id && isRoleAccess(operation)),
    );
    return {
      operations: counts.length,
      requests: counts.reduce((sum, count) => sum + count, 0),
      faults: [
        ...found.findings.map((finding) => told(plan, finding)),
        ...report.errors.map(({ title }) => `Schemathesis: ${title}\n${sectionOf(output, 'ERRORS')}`),
        ...ended.map((id) => `${id}: the credential had ended; add what ends it to test/fuzz/credentials.ts`),
        ...new Set(stage.api.check.faults.slice(faultsBefore).map((fault) => `differs from the document: ${fault}`)),
        ...stage.lines.slice(linesBefore).filter((line) => line.includes('"level":50')),
      ],
    };
  } finally {
    aims.close();
    rmSync(folder, { recursive: true });
  }
}

function told({ credential, seed }: Plan, { operation, kind, message, status, reply, curl }: Finding): string {
  const again = `FUZZ_SEED=${seed} FUZZ_CREDENTIAL=${credential} FUZZ_OPERATION=${operation} npm run test:fuzz`;
  return [`${operation}: ${kind} (${status})`, message, reply, curl, `Repeat: ${again}`].join('\n');
}

function sectionOf(output: string, title: string): string {
  const start = output.indexOf(`= ${title} =`);
  return start < 0 ? output.slice(-2_000) : output.slice(start, start + 4_000);
}

interface Parts {
  readonly plan: Plan;
  readonly folder: string;
  readonly aimPort: number;
}

function runSchemathesis(stage: Stage, { plan, folder, aimPort }: Parts): Promise<{ status: number | null; output: string }> {
  const packages = pythonPackages({ requirements: 'schemathesis.requirements.txt', folder: 'schemathesis' });
  const { url } = stage.api;
  const own = ['-m', 'schemathesis.cli', '--config-file', join(import.meta.dirname, 'schemathesis.toml'), '--no-color'];
  const chosen = ['--seed', String(plan.seed), '--max-examples', String(plan.examples), '--phases', 'examples,coverage,fuzzing'];
  const only = plan.operation === null ? [] : ['--include-operation-id', plan.operation];
  const reports = ['--report', 'json', '--report-json-path', join(folder, 'report.json')];
  // One worker: two would share rows and the order of requests would be chance.
  const args = [...own, 'run', `${url}/openapi.json`, '--url', url, '--workers', '1', ...chosen, ...only, ...reports];
  const env = {
    PATH: process.env['PATH'],
    PYTHONPATH: packages,
    PYTHONDONTWRITEBYTECODE: '1',
    SCHEMATHESIS_HOOKS: join(import.meta.dirname, 'hooks.py'),
    FUZZ_AIM_PORT: String(aimPort),
    FUZZ_FOUND: join(folder, 'found.json'),
  };

  return new Promise((resolve, reject) => {
    const child = spawn('python3', args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, output }));
  });
}

/** Tells the hooks how an operation is reached: with rows of its own for what its path names, and a credential that lives. */
async function serveAims(stage: Stage, name: CredentialName): Promise<Server> {
  const credentials = createCredentials(stage, name);
  const aimed = async (operationId: string) => {
    const operation = stage.operations.find((candidate) => candidate.operationId === operationId);
    if (!operation) throw new Error(`no operation ${operationId}`);
    const ground = await groundFor(stage, operation);
    const actor = await credentials.forOperation(operation, ground);
    const ask = await aim(stage, operation, { actor, ground, isFresh: operation.method !== 'GET' });
    const [path = '', search = ''] = ask.url.split('?');
    return {
      path: path.split('/').map(decodeURIComponent).join('/'),
      query: Object.fromEntries(new URLSearchParams(search)),
      body: ask.body ?? null,
      headers: { ...ask.headers, ...actor.headers },
    };
  };
  // The hooks keep one connection, however long a case takes to be generated.
  const server = createServer({ keepAliveTimeout: 3_600_000 }, (request, response) => {
    aimed(String(request.url).slice(1)).then(
      (found) => response.end(JSON.stringify(found)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port; // it listens on a port, not on a socket file
}
