import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { processEnvironment, root } from '../env.ts';

/** LangGraph's JavaScript server in a process of its own. */
export interface LangGraph {
  /** Makes a thread, runs the graph in it and reads the stream to its end. Gives milliseconds. */
  run(text: string): Promise<{ readonly firstMs: number; readonly totalMs: number }>;
  stop(): Promise<void>;
}

const startMs = 60_000;
const json = { 'content-type': 'application/json' };

/** Installs the pinned packages beside the services, once, and starts the server on a free port. */
export async function startLangGraph(modelBaseUrl: string): Promise<LangGraph> {
  const folder = install();
  const child = spawn(process.execPath, ['serve.mjs'], {
    cwd: folder,
    env: { PATH: processEnvironment()['PATH'], HOME: folder, MODEL_BASE_URL: modelBaseUrl, PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  const end = () => child.kill('SIGKILL');
  process.on('exit', end);
  const url = await Promise.race([addressOf(child.stdout), exited.then(() => null), afterMs(startMs)]);
  if (url === null) {
    end();
    throw new Error('LangGraph’s server did not start');
  }
  // What it logs after its address is read away, so that it never waits for a reader.
  child.stdout.resume();
  return {
    run: (text) => runOnce(url, text),
    async stop() {
      process.off('exit', end);
      end();
      await exited;
    },
  };
}

function install(): string {
  const folder = join(root, '.longhaul', 'langgraph');
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'bench/rivals/langgraph'), folder, { recursive: true });
  if (!existsSync(join(folder, 'node_modules/@langchain/langgraph-api/package.json')))
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder, stdio: 'ignore', timeout: 300_000 });
  return folder;
}

/** The server logs to the same place: its address is the line that is JSON. */
async function addressOf(output: NodeJS.ReadableStream): Promise<string | null> {
  for await (const line of createInterface({ input: output })) {
    if (!line.startsWith('{"url"')) continue;
    return (JSON.parse(line) as { url: string }).url; // written by our serve.mjs
  }
  return null;
}

async function runOnce(url: string, text: string): Promise<{ firstMs: number; totalMs: number }> {
  const startedAt = performance.now();
  const thread = (await (await post(`${url}/threads`, {})).json()) as { thread_id: string }; // the server's documented answer
  const input = { messages: [{ role: 'user', content: text }] };
  const answer = await post(`${url}/threads/${thread.thread_id}/runs/stream`, {
    assistant_id: 'agent',
    input,
    stream_mode: ['messages-tuple'],
  });
  let firstMs = Number.NaN;
  let tail = '';
  for await (const part of answer.body ?? []) {
    tail = (tail + Buffer.from(part).toString('utf8')).slice(-16_384);
    // The first chunk of the model is empty; the second holds text.
    if (Number.isNaN(firstMs) && /"content":"[^"]/.test(tail)) firstMs = performance.now() - startedAt;
  }
  if (tail.includes('event: error')) throw new Error(`LangGraph’s run failed: ${tail.slice(-500)}`);
  return { firstMs, totalMs: performance.now() - startedAt };
}

async function post(url: string, body: unknown): Promise<Response> {
  const answer = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`LangGraph’s server answered ${answer.status}`);
  return answer;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // listening on TCP
  server.close();
  await once(server, 'close');
  return port;
}

function afterMs(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ms, null).unref());
}
