import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { Script } from '../fakes/model-script.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startStack, type Stack } from './stack.ts';

/** One API and one worker for runs, a scripted model, and a server that tools write to. */
export interface Scenario {
  readonly models: ModelServer;
  readonly effects: EffectServer;
  readonly stack: Stack;
  stop(): Promise<void>;
}

export async function startScenario(): Promise<Scenario> {
  const models = await startModelServer();
  const effects = await startEffectServer();
  const closeServers = async () => {
    effects.close();
    await models.close();
  };
  const stack = await startStack({
    processes: ['api', 'worker-runs'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [effects.port],
  }).catch(async (error: unknown) => {
    await closeServers();
    throw error;
  });

  return {
    models,
    effects,
    stack,
    stop: async () => {
      await stack.stop();
      await closeServers();
    },
  };
}

/** A user message that tells the scripted model what to answer in this turn. */
export function scripted(script: Script, words = 'Please go on.'): string {
  return `${words} <script>${JSON.stringify(script)}</script>`;
}

export interface CreatedAgent {
  readonly id: string;
  readonly toolIds: readonly string[];
}

/** Makes tools and an agent with an active revision that binds them, through the API. */
export async function makeAgent(
  stack: Stack,
  tools: readonly Record<string, unknown>[],
  document: Record<string, unknown> = {},
): Promise<CreatedAgent> {
  const toolIds: string[] = [];
  for (const tool of tools) toolIds.push((await created(stack, '/tools', tool)).id);
  const agent = await created(stack, '/agents', {
    slug: `agent-${crypto.randomUUID().slice(0, 8)}`,
    name: 'Test agent',
    revision: { instructions: 'Do what the script says.', tools: toolIds.map((id) => ({ id })), ...document },
    activate: true,
  });
  return { id: agent.id, toolIds };
}

/** Makes what a path makes of a body. An API that has no room for it just now (503) is asked again: the machine may be busy with other tests. */
export async function created(stack: Stack, path: string, body: Record<string, unknown>): Promise<{ id: string }> {
  for (let tries = 1; ; tries++) {
    const answer = await stack.request('POST', path, { body });
    if (answer.status === 201) return answer.body;
    if (answer.status !== 503 || tries === 20) throw new Error(`POST ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    await delay(500);
  }
}

export interface StartedRun {
  readonly id: string;
  readonly status: string;
}

export async function startRun(
  stack: Stack,
  agentId: string,
  text: string,
  options: { sessionKey?: string; headers?: Record<string, string>; process?: 'api' | 'api-2' } = {},
): Promise<StartedRun> {
  const answer = await stack.request('POST', '/runs', {
    body: { agent_id: agentId, input: { text }, ...(options.sessionKey === undefined ? {} : { session_key: options.sessionKey }) },
    ...(options.headers ? { headers: options.headers } : {}),
    ...(options.process ? { process: options.process } : {}),
  });
  if (answer.status !== 202) throw new Error(`POST /runs answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** An HTTP tool that writes to the effect server; `slug` is also its path. */
export function writeTool(slug: string, effects: EffectServer, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    slug,
    kind: 'http',
    description: 'Does something that can not be undone.',
    input_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false },
    config: { method: 'POST', url: `${effects.origin}/${slug}`, body: { mode: 'json', template: { n: '{{ args.n }}' } } },
    timeout_s: 20,
    ...more,
  };
}

/** A server outside the deployment that counts what was done to it. `onEffect` runs after the effect and before the answer, which holds `answer` too. */
export interface EffectServer {
  readonly origin: string;
  readonly port: number;
  readonly effects: { path: string; body: string; key: string | null; traceparent: string | null }[];
  onEffect: ((count: number) => Promise<void> | void) | null;
  answer: Readonly<Record<string, unknown>>;
  close(): void;
}

export async function startEffectServer(): Promise<EffectServer> {
  const effects: EffectServer['effects'] = [];
  const state: Pick<EffectServer, 'onEffect' | 'answer'> = { onEffect: null, answer: {} };
  const server: Server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const part of request) body += String(part);
      const headerOf = (name: string) => (typeof request.headers[name] === 'string' ? request.headers[name] : null);
      effects.push({ path: request.url ?? '', body, key: headerOf('idempotency-key'), traceparent: headerOf('traceparent') });
      await state.onEffect?.(effects.length);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ done: effects.length, ...state.answer }));
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    effects,
    get onEffect() {
      return state.onEffect;
    },
    set onEffect(hook) {
      state.onEffect = hook;
    },
    get answer() {
      return state.answer;
    },
    set answer(more) {
      state.answer = more;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The frames of a run as the archive holds them. */
export async function archivedFrames({ db }: Pick<Stack, 'db'>, runId: string): Promise<string[]> {
  const found = await sweep(db, (em) =>
    rows<{ frame: string }>(
      em,
      'select frame from run_frame_chunks, unnest(frames) with ordinality as f(frame, n) where run_id = ? order by first_seq, n',
      [runId],
    ),
  );
  return found.map((row) => row.frame);
}
