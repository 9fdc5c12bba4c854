import { ApiError, ConnectionError, isCode } from './errors.ts';
import type { ApprovalAnswer, ApprovalView, Frame, PendingToolCall, ToolResultInput } from './generated/types.ts';
import type { Calls } from './generated/calls.ts';
import { delay, jitter, LinkedAbort } from './timing.ts';

/** What a client tool is told beside its arguments. */
export interface ToolContext {
  /** The same in every process that executes this call. A tool whose work must not happen twice keeps a ledger under it. */
  readonly callId: string;
  /** Aborts when the call is cancelled or past its deadline: its result is no longer awaited. */
  readonly signal: AbortSignal;
}

/** Gives the result for the model; what it throws is the call's failure, with its message. */
export type ToolFunction = (args: Readonly<Record<string, unknown>>, context: ToolContext) => unknown;

/** An answer to a question. */
export type Decision = Omit<ApprovalAnswer, 'approval_id' | 'args_hash'>;

/** Functions that act for a run while its stream is read. */
export interface Handlers {
  /** Client-owned tools that this process executes, by slug. Calls of other tools are left to others. */
  readonly tools?: Readonly<Record<string, ToolFunction>>;
  /** Called once for each question of the run and its sub-agents; null leaves it to others. The answer holds for the arguments that were shown and no others. */
  readonly onApproval?: (question: ApprovalView, context: { readonly signal: AbortSignal }) => Decision | null | Promise<Decision | null>;
}

/** Calls and questions that this process has begun with. */
export interface Begun {
  readonly calls: Set<string>;
  readonly questions: Set<string>;
}

type Api = Pick<Calls, 'getRun' | 'listRunApprovals' | 'resolveRunApprovals' | 'addRunInput'>;

const maxListed = 50;
const maxMessageLength = 2_000;

/** The calls and questions of one run, as its stream announces them. The run itself says which of them still wait, so a replay begins nothing anew. */
export class RunWork {
  /** What a function of the caller's, or the deployment, threw. */
  failure: unknown = null;
  readonly #api: Api;
  readonly #runId: string;
  readonly #handlers: Handlers;
  readonly #begun: Begun;
  readonly #running = new Map<string, { readonly runId: string; readonly abort: LinkedAbort }>();
  readonly #looks: Readonly<Record<'calls' | 'questions', Look>>;
  #signal: AbortSignal | undefined;
  #stream: LinkedAbort | null = null;

  constructor(
    api: Api,
    {
      runId,
      handlers,
      begun,
      signal,
    }: { readonly runId: string; readonly handlers: Handlers; readonly begun: Begun; readonly signal: AbortSignal | undefined },
  ) {
    this.#api = api;
    this.#runId = runId;
    this.#handlers = handlers;
    this.#begun = begun;
    this.#signal = signal;
    const look = (begin: () => Promise<void>) =>
      new Look(
        () => this.#looking(begin),
        (error) => this.#fail(error),
      );
    this.#looks = { calls: look(() => this.#beginCalls()), questions: look(() => this.#beginQuestions()) };
  }

  /** @param after behind this frame the stream begins: what was announced before is looked for at once */
  start(after: number, stream: LinkedAbort): void {
    this.#stream = stream;
    if (after === 0) return;
    if (this.#handlers.tools) this.#looks.calls.again();
    if (this.#handlers.onApproval) this.#looks.questions.again();
  }

  notice({ type, run_id: runId, data }: Frame): void {
    if (type === 'tool.call' && data.client_owned && (data.phase === 'ready' || data.phase === 'executing') && this.#handlers.tools)
      this.#looks.calls.again();
    if (type === 'approval.requested' && this.#handlers.onApproval) this.#looks.questions.again();
    if (type === 'tool.result') this.#running.get(data.tool_call_id)?.abort.abort(new Error('the call is over'));
    const isOver = type === 'run.finished' || (type === 'run.status' && ['cancelling', 'cancelled', 'failed'].includes(data.status));
    if (isOver) this.#abortCallsOf(runId);
    if (type === 'run.status' && data.waiting_on === 'client_tool' && this.#handlers.tools) this.#looks.calls.again();
  }

  /** The stream is left. What is being executed goes on, and its results are sent. */
  leave(): void {
    this.#stream = null;
  }

  #abortCallsOf(runId: string): void {
    for (const call of this.#running.values())
      if (call.runId === runId || runId === this.#runId) call.abort.abort(new Error('the run is over'));
  }

  #fail(error: unknown): void {
    if (this.#signal?.aborted || this.failure !== null) return;
    this.failure = error;
    this.#stream?.abort(error);
  }

  /** The stream lives while the deployment is away, and so does what it has announced. */
  async #looking(begin: () => Promise<void>): Promise<void> {
    const { signal } = this.#stream ?? {};
    if (signal) await persistently(signal, begin).catch((error: unknown) => signal.aborted || Promise.reject(error as Error));
    else await begin();
  }

  async #beginCalls(): Promise<void> {
    const run = await this.#api.getRun({ run_id: this.#runId }, { signal: this.#signal });
    const calls = run.pending_tool_calls ?? [];
    const isWhole = calls.length < maxListed && calls.every(({ truncated }) => !truncated);
    for (const call of calls) {
      const execute = this.#handlers.tools?.[call.slug];
      // A call without its arguments is listed with them once those before it have their results.
      if (!execute || call.args === null || this.#begun.calls.has(call.tool_call_id)) continue;
      this.#begun.calls.add(call.tool_call_id);
      this.#execute(call, execute)
        .then(() => isWhole || this.#looks.calls.again())
        .catch((error: unknown) => this.#fail(error));
    }
  }

  async #execute(call: PendingToolCall, execute: ToolFunction): Promise<void> {
    const { tool_call_id: callId } = call;
    const abort = new LinkedAbort(this.#signal);
    const timer = setTimeout(
      () => abort.abort(new Error('the call is past its deadline')),
      Math.min(Date.parse(call.deadline_at) - Date.now(), 2 ** 31 - 1),
    );
    this.#running.set(callId, { runId: call.run_id, abort });
    try {
      const result = await resultOf(call, execute, abort.signal);
      if (!abort.signal.aborted) await this.#give(result, abort.signal);
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      abort.release();
      this.#running.delete(callId);
    }
  }

  async #give(result: ToolResultInput, signal: AbortSignal): Promise<void> {
    try {
      await persistently(signal, () => this.#send(result, signal));
    } catch (error) {
      if (isSettled(error)) return;
      const isRefused = isCode(error, 'validation_failed') || isCode(error, 'payload_too_large');
      if (!isRefused || result.status === 'failed') throw error;
      await persistently(signal, () => this.#send(failed(result.tool_call_id, `the result was refused: ${error.detail}`), signal));
    }
  }

  #send(result: ToolResultInput, signal: AbortSignal): Promise<unknown> {
    const options = { signal, idempotencyKey: `tool:${result.tool_call_id}` };
    return this.#api.addRunInput({ run_id: this.#runId, kind: 'tool_results', results: [result] }, options);
  }

  async #beginQuestions(): Promise<void> {
    const pending = this.#api.listRunApprovals({ run_id: this.#runId, status: 'pending' }, { signal: this.#signal });
    for await (const question of pending) {
      if (this.#begun.questions.has(question.id)) continue;
      this.#begun.questions.add(question.id);
      this.#answer(question).catch((error: unknown) => this.#fail(error));
    }
  }

  async #answer(question: ApprovalView): Promise<void> {
    const signal = this.#signal ?? new AbortController().signal;
    const decision = await this.#handlers.onApproval?.(question, { signal });
    if (!decision) return;
    // Nobody approves arguments that were never shown.
    const resolution: ApprovalAnswer = {
      ...decision,
      approval_id: question.id,
      ...(question.args_hash === null ? {} : { args_hash: question.args_hash }),
    };
    const resolve = () => this.#api.resolveRunApprovals({ run_id: this.#runId, resolutions: [resolution] }, { signal });
    await persistently(signal, resolve).catch((error: unknown) => {
      if (isResolvedByOthers(error)) return;
      if (!isConflict(error, ['args_changed'])) throw error;
      this.#begun.questions.delete(question.id);
      this.#looks.questions.again();
    });
  }
}

/** One look at a time; another one behind it if anything was announced meanwhile. */
class Look {
  readonly #look: () => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #isLooking = false;
  #isDue = false;

  constructor(look: () => Promise<void>, onError: (error: unknown) => void) {
    this.#look = look;
    this.#onError = onError;
  }

  again(): void {
    this.#isDue = true;
    if (!this.#isLooking) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isLooking = true;
    try {
      while (this.#isDue) {
        this.#isDue = false;
        await this.#look();
      }
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#isLooking = false;
    }
  }
}

async function resultOf(
  { tool_call_id: callId, args }: PendingToolCall,
  execute: ToolFunction,
  signal: AbortSignal,
): Promise<ToolResultInput> {
  try {
    const output = (await execute(args ?? {}, { callId, signal })) ?? null;
    JSON.stringify(output);
    return { tool_call_id: callId, status: 'succeeded', output };
  } catch (error) {
    return failed(callId, error instanceof Error ? error.message : String(error));
  }
}

function failed(callId: string, message: string): ToolResultInput {
  // Half a surrogate pair would not be text.
  const cut = message.slice(0, maxMessageLength).replace(/[\uD800-\uDBFF]$/, '');
  return { tool_call_id: callId, status: 'failed', message: cut === '' ? 'The tool failed.' : cut };
}

/** What is done must be told: the deployment may be away for longer than one call waits. */
async function persistently(signal: AbortSignal, call: () => Promise<unknown>): Promise<void> {
  for (let failures = 0; ; failures++) {
    try {
      await call();
      return;
    } catch (error) {
      const isPassing = error instanceof ConnectionError || (error instanceof ApiError && error.retryable);
      if (!isPassing || signal.aborted) throw error;
      await delay(Math.max(jitter(failures), 250), signal);
    }
  }
}

/** The call has its result: this one from an earlier process, or none is awaited any more. */
function isSettled(error: unknown): boolean {
  return isCode(error, 'idempotency_key_mismatch') || isConflict(error, ['result_recorded', 'not_awaited', 'run_finished']);
}

function isResolvedByOthers(error: unknown): boolean {
  return isConflict(error, ['approval_resolved', 'approval_expired', 'run_finished']);
}

function isConflict(error: unknown, reasons: readonly string[]): boolean {
  return isCode(error, 'state_conflict') && reasons.includes(String(error.context['reason']));
}
