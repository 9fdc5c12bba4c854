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

/** Servers of the npm registry as they are: by themselves, or behind a bridge from stdio. */
export const publishedServers = {
  everythingOverHttp: () => startServer('http', '/mcp', (port) => everything('streamableHttp', port)),
  everythingOverSse: () => startServer('sse', '/sse', (port) => everything('sse', port)),
  memoryOverBridge: () => startServer('http', '/mcp', (port, folder) => bridge('server-memory', 'streamableHttp', { port, folder })),
  filesystemOverBridge: () => startServer('sse', '/sse', (port, folder) => bridge('server-filesystem', 'sse', { port, folder })),
};

/** What the file says that `server-filesystem` serves as `hello.txt`. */
export const servedText = 'Served by others';

const resolve = createRequire(import.meta.url).resolve;
const scope = '@modelcontextprotocol';

interface Program {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function everything(transport: 'streamableHttp' | 'sse', port: number): Program {
  return { args: [scriptOf(`${scope}/server-everything`), transport], env: { PORT: String(port) } };
}

function bridge(name: string, output: 'streamableHttp' | 'sse', { port, folder }: { port: number; folder: string }): Program {
  const words = [process.execPath, scriptOf(`${scope}/${name}`), ...(name === 'server-filesystem' ? [folder] : [])];
  const options = ['--outputTransport', output, '--port', String(port), '--logLevel', 'none', ...(output === 'sse' ? [] : ['--stateful'])];
  return {
    args: [scriptOf('supergateway'), '--stdio', words.map((word) => `'${word}'`).join(' '), ...options],
    env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
  };
}

/** Each of the packages has its program there. */
function scriptOf(name: string): string {
  return join(dirname(resolve(`${name}/package.json`)), 'dist/index.js');
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
    }, 60_000);
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
