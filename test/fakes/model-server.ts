import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import {
  beatsOf,
  chooseScript,
  readRequest,
  stepOf,
  type Beat,
  type Fault,
  type Script,
  type ScriptedRequest,
  type ScriptStep,
} from './model-script.ts';
import { answerRaw, leave } from './model-raw.ts';
import { chatAnswer, chatWire, messagesWire, responsesWire, type End, type Wire } from './model-wire.ts';

export type { Fault, Script, ScriptStep } from './model-script.ts';

/** One request that the server saw. `completionTokens` counts pieces that were sent, whatever became of them. */
export interface ModelCall {
  readonly path: string;
  /** What the answer calls it in `x-request-id`. */
  readonly requestId: string;
  readonly at: number;
  readonly model: string;
  readonly turn: number;
  /** 1 for the first request with this content, 2 for its first repeat, … */
  readonly attempt: number;
  readonly body: Record<string, unknown>;
  readonly promptTokens: number;
  completionTokens: number;
  /** The client's end of the connection. */
  readonly peerPort: number;
  outcome: 'open' | 'completed' | 'client_gone' | Fault['kind'];
}

export interface ModelServer {
  readonly url: string;
  /** For LONGHAUL_MODEL_BASE_URL. */
  readonly baseUrl: string;
  readonly port: number;
  /** Registers a script under a name that a user message or a model name can pick. */
  script(name: string, script: Script): void;
  calls(): readonly ModelCall[];
  /** The most requests that it answered at the same time since the last reset. */
  readonly peak: number;
  /** Befalls every request, whatever its script says, until it is null again. */
  weather: Fault | null;
  /** Forgets calls, tries and scripts. */
  reset(): void;
  close(): Promise<void>;
}

interface State {
  readonly scripts: Map<string, Script>;
  readonly attempts: Map<string, number>;
  calls: ModelCall[];
  weather: Fault | null;
  open: number;
  peak: number;
}

const wires = { '/v1/chat/completions': chatWire, '/v1/responses': responsesWire, '/v1/messages': messagesWire };

/**
 * A scripted model server (Chat Completions, streamed or not; Responses and Messages, streamed). Which step of a script
 * answers depends on the request alone, so repeats and restarts of either side get the same answer.
 * Control: POST /control/script {name, script}, GET /control/calls, POST /control/reset.
 */
export async function startModelServer(options: { readonly port?: number } = {}): Promise<ModelServer> {
  const state: State = { scripts: new Map(), attempts: new Map(), calls: [], weather: null, open: 0, peak: 0 };
  const server = createServer((request, response) => {
    serve(state, request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: String(error) } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const url = `http://127.0.0.1:${port}`;

  return {
    url,
    baseUrl: `${url}/v1`,
    port,
    script: (name, script) => void state.scripts.set(name, script),
    calls: () => state.calls,
    get peak() {
      return state.peak;
    },
    get weather() {
      return state.weather;
    },
    set weather(fault) {
      state.weather = fault;
    },
    reset: () => reset(state),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function reset(state: State): void {
  state.scripts.clear();
  state.attempts.clear();
  state.calls = [];
  state.weather = null;
  state.peak = state.open;
}

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  const text = await bodyOf(request);
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>); // requests of our own tests and product

  if (path === '/control/script') {
    state.scripts.set(String(body['name']), body['script'] as Script); // written by a test
    return answerJson(response, { ok: true });
  }
  if (path === '/control/reset') {
    reset(state);
    return answerJson(response, { ok: true });
  }
  if (path === '/control/calls') return answerJson(response, summary(state));
  if (path === '/v1/models')
    return answerJson(response, { object: 'list', data: [...state.scripts.keys()].map((id) => ({ id, object: 'model' })) });
  if (path in wires) return answerModel(state, { path: path as keyof typeof wires, body, response }); // checked by `in`
  answerJson(response, { error: { message: `no such path: ${path}`, type: 'invalid_request_error' } }, { status: 404 });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer); // no encoding is set

  return Buffer.concat(chunks).toString('utf8');
}

function answerJson(
  response: ServerResponse,
  value: unknown,
  head: { readonly status?: number; readonly headers?: Record<string, string> } = {},
): void {
  response.writeHead(head.status ?? 200, { 'content-type': 'application/json', 'x-request-id': 'req_fake', ...head.headers });
  response.end(JSON.stringify(value));
}

function summary(state: State) {
  const sum = (pick: (call: ModelCall) => number) => state.calls.reduce((total, call) => total + pick(call), 0);

  return {
    calls: state.calls.length,
    completed: state.calls.filter((call) => call.outcome === 'completed').length,
    prompt_tokens: sum((call) => call.promptTokens),
    completion_tokens: sum((call) => call.completionTokens),
    log: state.calls.slice(-10_000).map(({ body: _body, ...call }) => call),
  };
}

interface ModelExchange {
  readonly path: keyof typeof wires;
  readonly body: Record<string, unknown>;
  readonly response: ServerResponse;
}

async function answerModel(state: State, { path, body, response }: ModelExchange): Promise<void> {
  const request = readRequest(body);
  const step = stepOf(chooseScript(request, state.scripts), request);
  const attempt = (state.attempts.get(request.fingerprint) ?? 0) + 1;
  state.attempts.set(request.fingerprint, attempt);
  const call: ModelCall = {
    path,
    requestId: `req_${request.fingerprint.slice(0, 16)}_${attempt}`,
    at: Date.now(),
    model: request.model,
    turn: request.turn,
    attempt,
    body,
    promptTokens: request.promptTokens,
    completionTokens: 0,
    peerPort: response.socket?.remotePort ?? 0,
    outcome: 'open',
  };
  state.calls.push(call);
  const gone = new AbortController();
  state.open += 1;
  state.peak = Math.max(state.peak, state.open);
  response.on('close', () => {
    state.open -= 1;
    if (response.writableFinished) return;
    if (call.outcome === 'open') call.outcome = 'client_gone';
    gone.abort();
  });

  if (step.raw) {
    call.outcome = 'completed';
    return answerRaw(response, step.raw, call.requestId);
  }
  const isTooLong = request.promptTokens > (step.limit_tokens ?? Infinity);
  const fault = isTooLong ? tooLong : (state.weather ?? step.fault ?? step.faults?.[attempt - 1] ?? null);
  const answer: Answer = { request, step, fault, call, response, gone: gone.signal, beats: beatsOf(step, request.fingerprint) };
  if (fault && refusesAtOnce(answer, fault)) return;
  await pause(step.first_token_ms ?? 0, answer);
  if (request.isStream) await streamAnswer(answer, wires[path](request));
  else answerWhole(answer);
}

const tooLong: Fault = {
  kind: 'status',
  status: 400,
  body: { error: { message: 'the prompt is longer than the context', type: 'invalid_request_error', code: 'context_length_exceeded' } },
};

interface Answer {
  readonly request: ScriptedRequest;
  readonly step: ScriptStep;
  readonly fault: Fault | null;
  readonly call: ModelCall;
  readonly response: ServerResponse;
  readonly gone: AbortSignal;
  readonly beats: readonly Beat[];
}

/** Faults that come instead of an answer. */
function refusesAtOnce({ call, response }: Answer, fault: Fault): boolean {
  if (fault.kind === 'refuse') response.socket?.resetAndDestroy();
  else if (fault.kind === 'html')
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Welcome to the proxy</body></html>');
  else if (fault.kind === 'status')
    answerJson(response, fault.body ?? { error: { message: `status ${fault.status}`, type: 'fake_error', code: null } }, fault);
  else return false;

  call.outcome = fault.kind;
  return true;
}

function answerWhole(answer: Answer): void {
  answer.call.completionTokens = answer.beats.length;
  answer.call.outcome = 'completed';
  const headers = { 'x-request-id': answer.call.requestId };
  answerJson(answer.response, chatAnswer(answer.request, answer.beats, endOf(answer)), { headers });
}

async function streamAnswer(answer: Answer, wire: Wire): Promise<void> {
  const { response, fault, beats, call } = answer;
  const faultAt = fault ? (('after' in fault ? fault.after : undefined) ?? 0) : -1;
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-request-id': call.requestId,
  });
  if (faultAt !== 0 || fault?.kind === 'error_frame') for (const frame of wire.head()) response.write(frame);

  for (const [at, beat] of beats.entries()) {
    if (at === faultAt && fault && (await breaksOff(answer, wire, fault))) return;
    if (at > 0) await pause(answer.step.delay_ms ?? 0, answer);
    if (answer.gone.aborted) return;
    for (const frame of wire.beat(beat)) response.write(frame);
    call.completionTokens++;
  }
  if (faultAt >= beats.length && fault && (await breaksOff(answer, wire, fault))) return;

  for (const frame of wire.tail(endOf(answer))) response.write(frame);
  if (call.outcome === 'open') call.outcome = 'completed';
  await leave(response, answer.step.afterwards);
}

/** True when nothing of the answer follows. */
async function breaksOff(answer: Answer, wire: Wire, fault: Fault): Promise<boolean> {
  const { response, call } = answer;
  call.outcome = fault.kind;
  if (fault.kind === 'garbage') {
    response.write(Buffer.concat([Buffer.from('data: {"choices":[{"del'), Buffer.from([0xff, 0xfe, 0x00]), Buffer.from('\n\n')]));
    return false;
  }
  if (fault.kind === 'error_frame') {
    response.write(wire.error(fault.error ?? { message: 'the model fell over', type: 'server_error' }));
    return false;
  }
  if (fault.kind === 'no_finish') response.end();
  if (fault.kind === 'reset') {
    await pause(30, answer); // a reset discards what the other side has not read yet
    response.socket?.resetAndDestroy();
  }
  if (fault.kind === 'hang') response.flushHeaders();
  while (fault.kind === 'drip' && !answer.gone.aborted) {
    response.write(': still here\n\n');
    await pause(fault.interval_ms ?? 50, answer);
  }
  return true;
}

function endOf({ step, call, request }: Answer): End {
  return { step, promptTokens: request.promptTokens, completionTokens: call.completionTokens };
}

async function pause(ms: number, { gone }: Answer): Promise<void> {
  if (ms > 0) await delay(ms, undefined, { signal: gone }).catch(() => undefined);
}

/** `node test/fakes/model-server.ts --port 4010`: says where it listens in one line of JSON, until it is killed. */
if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const at = process.argv.indexOf('--port');
  const server = await startModelServer({ port: at < 0 ? 0 : Number(process.argv[at + 1]) });
  process.stdout.write(`${JSON.stringify({ url: server.url, base_url: server.baseUrl, port: server.port, pid: process.pid })}\n`);
}
