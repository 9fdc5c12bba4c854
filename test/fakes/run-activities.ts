import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { runCancelled } from '../../activities/support/failures.ts';
import { tenantOfActivity, type ActivityTenant } from '../../activities/support/tenant.ts';
import type {
  AgentRunActivities,
  BeginRunResult,
  CallModelResult,
  FinishRunInput,
  FinishRunResult,
  GatesInput,
  CallApprovalState,
  OpenChildResult,
  PlannedCall,
  RunToolResult,
  SettleToolInput,
  SettleToolResult,
} from '../../workflows/contracts/runs/agent-run.ts';

/** What the fake activities of one run do; a turn that is not scripted is final. */
export interface RunScript {
  readonly begin?: Begun | ((count: number) => Begun);
  readonly turns?: readonly (CallModelResult | (() => Promise<CallModelResult>))[];
  readonly tool?: (toolCallId: string) => Promise<RunToolResult | void>;
  /** Without it nothing stands before people. */
  readonly gates?: (look: GateLook) => CallApprovalState | Promise<CallApprovalState>;
  /** Without it a delegate call has its result at once. */
  readonly child?: (toolCallId: string) => OpenChildResult;
  readonly settle?: (input: SettleToolInput) => SettleToolResult;
  readonly finish?: (input: FinishRunInput, count: number) => FinishRunResult;
}

type Begun = Partial<Extract<BeginRunResult, { done: false }>> | { readonly done: true };

/** One look at the questions of a step: `open` puts them. `count`: looks so far, this one included. */
export interface GateLook extends GatesInput {
  readonly how: 'open' | 'settle';
  readonly count: number;
}

/** What one run's activities were asked, in order. */
export interface RunRecord {
  readonly entries: string[];
  readonly finishes: FinishRunInput[];
  readonly settles: SettleToolInput[];
  readonly looks: GateLook[];
  tenant: ActivityTenant | null;
  /** Tools at work now, and the most that ever were at once. */
  toolsNow: number;
  toolsMost: number;
}

export interface FakeRuns {
  readonly activities: AgentRunActivities;
  script(runId: string, script: RunScript): RunRecord;
  /** Work that ends neither by itself nor when it is cancelled, only by `release`. */
  deaf(): Promise<void>;
  /** Lets all deaf work end, so that the worker can. */
  release(): void;
}

/** Run activities that touch nothing: many runs, each by its own script, in one worker. */
export function fakeRuns(): FakeRuns {
  const released = Promise.withResolvers<void>();
  const runs = new Map<string, { readonly script: RunScript; readonly record: RunRecord }>();
  const told = new Set<string>();
  /** Begin and end are executed again when their workflow task was too late, or was refused because something came in meanwhile: each is told once. */
  const isFirstExecution = () => {
    const { activityId, workflowExecution } = activityInfo();
    const key = `${workflowExecution?.runId} ${activityId}`;
    const isFirst = !told.has(key);
    told.add(key);
    return isFirst;
  };
  const runOf = (runId: string) => {
    const run = runs.get(runId);

    if (!run) throw new Error(`no script for ${runId}`);
    return run;
  };
  const look = (how: GateLook['how'], input: GatesInput) => {
    const { script, record } = runOf(input.runId);
    const one = { ...input, how, count: record.looks.length + 1 };

    record.entries.push(`${how}${input.wait ? ` ${input.wait.on}` : ''} ${input.step}`);
    record.looks.push(one);
    return script.gates?.(one) ?? noGates;
  };

  return {
    deaf: () => released.promise,
    release: () => released.resolve(),
    script: (runId, script) => {
      const record: RunRecord = { entries: [], finishes: [], settles: [], looks: [], tenant: null, toolsNow: 0, toolsMost: 0 };

      runs.set(runId, { script, record });
      return record;
    },
    activities: {
      beginRun: async ({ runId }) => {
        const { script, record } = runOf(runId);

        if (isFirstExecution()) record.entries.push('begin');
        record.tenant = tenantOfActivity();
        const begun =
          typeof script.begin === 'function' ? script.begin(record.entries.filter((entry) => entry === 'begin').length) : script.begin;
        return { done: false, maxSteps: 50, remainingMs: 3_600_000, cancelRequested: false, ...begun };
      },
      callModel: async ({ runId, step }) => {
        const { script, record } = runOf(runId);
        const turn = script.turns?.[step - 1] ?? { outcome: 'final' };

        record.entries.push(`model ${step}`);
        return typeof turn === 'function' ? turn() : turn;
      },
      runTool: async ({ runId, toolCallId }) => {
        const { script, record } = runOf(runId);

        record.entries.push(`tool ${toolCallId}`);
        record.toolsMost = Math.max(record.toolsMost, ++record.toolsNow);
        const result = await script.tool?.(toolCallId).finally(() => record.toolsNow--);
        return result ?? { gated: false };
      },
      openGates: async (input) => look('open', input),
      settleGates: async (input) => look('settle', input),
      openChild: async ({ runId, toolCallId }) => {
        const { script, record } = runOf(runId);

        record.entries.push(`child ${toolCallId}`);
        return script.child?.(toolCallId) ?? { child: null };
      },
      settleTool: async (input) => {
        const { script, record } = runOf(input.runId);

        record.entries.push(`settle ${input.toolCallId} ${input.cause}`);
        record.settles.push(input);
        return script.settle?.(input) ?? { again: false };
      },
      finishRun: async (input) => {
        const { script, record } = runOf(input.runId);

        if (isFirstExecution()) {
          record.entries.push(`finish ${input.reason}`);
          record.finishes.push(input);
        }
        return script.finish?.(input, record.finishes.length) ?? { more: false };
      },
    },
  };
}

/** What a step without open questions is told. */
export const noGates: CallApprovalState = { ready: [], open: 0, nextMs: 0 };

/** A state of questions: `open` of them, the first of which expires after `nextMs`. */
export function gateState(open: number, more: Partial<CallApprovalState> = {}): CallApprovalState {
  return { ready: [], open, nextMs: open === 0 ? 0 : 3_600_000, ...more };
}

/** A turn that asks for these calls. */
export function callsTurn(...calls: PlannedCall[]): CallModelResult {
  return { outcome: 'calls', calls };
}

export function readCall(toolCallId: string, overrides: Partial<PlannedCall> = {}): PlannedCall {
  return { toolCallId, effect: 'read', timeoutS: 30, isRepeatable: true, isSettled: false, ...overrides };
}

export function writeCall(toolCallId: string, overrides: Partial<PlannedCall> = {}): PlannedCall {
  return { toolCallId, effect: 'write', timeoutS: 30, isRepeatable: false, isSettled: false, ...overrides };
}

/** Work that never ends by itself and heeds a cancellation. */
export function untilCancelled(): Promise<never> {
  return new Promise((_resolve, reject) => {
    cancellationSignal().addEventListener('abort', () => reject(runCancelled()), { once: true });
  });
}
