import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from './stack.ts';
import { until } from './temporal.ts';

/** An MCP server that others publish, as a process of its own. */
export interface PublishedServer {
  readonly port: number;
  readonly url: string;
  readonly transport: 'http' | 'sse';
  close(): Promise<void>;
}

const { resolve } = createRequire(import.meta.url);
/** The program of a package, by its description. */
const script = (description: string) => join(dirname(description), 'dist/index.js');
const scripts = {
  everything: script(resolve('@modelcontextprotocol/server-everything/package.json')),
  memory: script(resolve('@modelcontextprotocol/server-memory/package.json')),
  filesystem: script(resolve('@modelcontextprotocol/server-filesystem/package.json')),
  bridge: script(resolve('supergateway/package.json')),
};

/** Servers of the npm registry as they are: by themselves, or behind a bridge from stdio. */
export const publishedServers = {
  everythingOverHttp: () => startServer('http', '/mcp', (port) => everything('streamableHttp', port)),
  everythingOverSse: () => startServer('sse', '/sse', (port) => everything('sse', port)),
  memoryOverBridge: () => startServer('http', '/mcp', (port, folder) => bridge([scripts.memory], 'streamableHttp', { port, folder })),
  filesystemOverBridge: () => startServer('sse', '/sse', (port, folder) => bridge([scripts.filesystem, folder], 'sse', { port, folder })),
};

/** What the file says that `server-filesystem` serves as `hello.txt`. */
export const servedText = 'Served by others';

interface Program {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function everything(transport: 'streamableHttp' | 'sse', port: number): Program {
  return { args: [scripts.everything, transport], env: { PORT: String(port) } };
}

function bridge(
  command: readonly string[],
  output: 'streamableHttp' | 'sse',
  { port, folder }: { readonly port: number; readonly folder: string },
): Program {
  const words = [process.execPath, ...command].map((word) => `'${word}'`).join(' ');
  const options = ['--outputTransport', output, '--port', String(port), '--logLevel', 'none', ...(output === 'sse' ? [] : ['--stateful'])];
  return { args: [scripts.bridge, '--stdio', words, ...options], env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } };
}

async function startServer(
  transport: 'http' | 'sse',
  path: string,
  programOf: (port: number, folder: string) => Program,
): Promise<PublishedServer> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-published-'));
  await writeFile(join(folder, 'hello.txt'), servedText);
  const { args, env } = programOf(port, folder);
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'], ...env }, stdio: 'ignore' });
  const close = async () => {
    await end(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`${args[0]} ended with ${child.exitCode}`);
      return listens(port);
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { port, url: `http://127.0.0.1:${port}${path}`, transport, close };
}

/** A bridge ends its own child when it is asked to. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
  child.kill('SIGTERM');
  await gone;
  clearTimeout(late);
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
