import type { agentRunSignals, CallModelResult, CallApprovalState, PlannedCall } from '../../workflows/contracts/runs/agent-run.ts';
import { callsTurn, readCall, writeCall, type RunScript } from '../fakes/run-activities.ts';

/** One call of the model's step: what stands before it, and what somebody says to it, if anybody does. */
export interface ModelledCall {
  readonly kind: 'free' | 'gated' | 'client';
  readonly isRead: boolean;
  readonly answer: 'approve' | 'reject' | 'none';
  /** What becomes of the signal that announces the answer. `early`: it arrives before its row is written. */
  readonly delivery: 'once' | 'twice' | 'lost' | 'late' | 'early';
  readonly signal: keyof typeof agentRunSignals;
  /** It turns out at its claim that people have to be asked after all. */
  readonly isGatedLate: boolean;
}

type State = 'recorded' | 'gated' | 'ready' | 'denied' | 'done';

interface CallRow {
  readonly planned: PlannedCall;
  readonly modelled: ModelledCall;
  state: State;
  expiresAt: number;
  executions: number;
}

const ttlMs = 2_500;

/** The rows of one run, as its activities and the API change them, without any tie to the workflow but the signals. */
export class ModelledRun {
  readonly calls: readonly CallRow[];
  /** What must never be. */
  readonly violations: string[] = [];

  constructor(runId: string, calls: readonly ModelledCall[]) {
    this.calls = calls.map((modelled, index) => {
      const id = `${index}-${runId}`;
      const flags = { ...(modelled.kind === 'gated' ? { gate: true } : {}), ...(modelled.kind === 'client' ? { client: true } : {}) };
      const planned = modelled.isRead ? readCall(id, flags) : writeCall(id, flags);
      return { planned, modelled, state: modelled.kind === 'free' ? 'ready' : 'recorded', expiresAt: 0, executions: 0 };
    });
  }

  script(): RunScript {
    return {
      turns: [callsTurn(...this.calls.map((call) => call.planned)), () => this.#nextTurn()],
      tool: (id) => this.#execute(id),
      gates: ({ how }) => this.#poll(how),
    };
  }

  /** The API's side: false when it comes too late or too early, as a 409 would say. */
  answer(call: CallRow): boolean {
    if (call.state !== 'gated' || Date.now() >= call.expiresAt) return false;
    if (call.modelled.kind === 'client') call.state = 'done';
    else call.state = call.modelled.answer === 'approve' ? 'ready' : 'denied';
    return true;
  }

  isOver(): boolean {
    return this.calls.every(({ state }) => state === 'denied' || state === 'done');
  }

  async #nextTurn(): Promise<CallModelResult> {
    if (!this.isOver()) this.violations.push('the model was asked while a call had no result');
    return { outcome: 'final' };
  }

  async #execute(id: string): Promise<{ gated: boolean }> {
    const call = this.calls.find(({ planned }) => planned.toolCallId === id);
    if (!call || call.modelled.kind === 'client') throw new Error(`${id} is nothing to execute`);
    if (call.modelled.isGatedLate && call.expiresAt === 0) {
      call.state = 'recorded';
      return { gated: true };
    }
    if (call.state !== 'ready') this.violations.push(`${id} was executed while ${call.state}`);
    call.executions++;
    call.state = 'done';
    return { gated: false };
  }

  #poll(how: 'open' | 'settle'): CallApprovalState {
    const now = Date.now();
    for (const call of this.calls) {
      if (call.state === 'gated' && now >= call.expiresAt) call.state = 'denied';
      if (how === 'open' && call.state === 'recorded') Object.assign(call, { state: 'gated', expiresAt: now + ttlMs });
    }
    const open = this.calls.filter(({ state }) => state === 'gated');
    // All that ever was let through is said again each time.
    const ready = this.calls.filter(
      ({ modelled, executions, state }) => modelled.kind === 'gated' && (state === 'ready' || executions > 0),
    );
    const late = this.calls.filter(({ modelled, state, expiresAt }) => modelled.kind === 'free' && state === 'ready' && expiresAt > 0);
    return {
      ready: [...ready, ...late].map(({ planned }) => planned),
      open: open.length,
      nextMs: Math.max(0, Math.min(...open.map(({ expiresAt }) => expiresAt - now), ttlMs)),
    };
  }
}
