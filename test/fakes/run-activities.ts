import { cancellationSignal } from '@temporalio/activity';
import { runCancelled } from '../../activities/support/failures.ts';
import { tenantOfActivity, type ActivityTenant } from '../../activities/support/tenant.ts';
import type {
  AgentRunActivities,
  BeginRunResult,
  CallModelResult,
  FinishRunInput,
  FinishRunResult,
  PlannedCall,
  SettleToolInput,
  SettleToolResult,
} from '../../workflows/contracts/agent-run.ts';

/** What the fake activities of one run do; a turn that is not scripted is final. */
export interface RunScript {
  readonly begin?: Partial<Extract<BeginRunResult, { done: false }>> | { readonly done: true };
  readonly turns?: readonly (CallModelResult | (() => Promise<CallModelResult>))[];
  readonly tool?: (toolCallId: string) => Promise<void>;
  readonly settle?: (input: SettleToolInput) => SettleToolResult;
  readonly finish?: (input: FinishRunInput, count: number) => FinishRunResult;
}

/** What one run's activities were asked, in order. */
export interface RunRecord {
  readonly entries: string[];
  readonly finishes: FinishRunInput[];
  readonly settles: SettleToolInput[];
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
  const runOf = (runId: string) => {
    const run = runs.get(runId);

    if (!run) throw new Error(`no script for ${runId}`);
    return run;
  };

  return {
    deaf: () => released.promise,
    release: () => released.resolve(),
    script: (runId, script) => {
      const record: RunRecord = { entries: [], finishes: [], settles: [], tenant: null, toolsNow: 0, toolsMost: 0 };

      runs.set(runId, { script, record });
      return record;
    },
    activities: {
      beginRun: async ({ runId }) => {
        const { script, record } = runOf(runId);

        record.entries.push('begin');
        record.tenant = tenantOfActivity();
        return { done: false, maxSteps: 50, remainingMs: 3_600_000, cancelRequested: false, ...script.begin };
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
        await script.tool?.(toolCallId).finally(() => record.toolsNow--);
      },
      settleTool: async (input) => {
        const { script, record } = runOf(input.runId);

        record.entries.push(`settle ${input.toolCallId} ${input.cause}`);
        record.settles.push(input);
        return script.settle?.(input) ?? { again: false };
      },
      finishRun: async (input) => {
        const { script, record } = runOf(input.runId);

        record.entries.push(`finish ${input.reason}`);
        record.finishes.push(input);
        return script.finish?.(input, record.finishes.length) ?? { more: false };
      },
    },
  };
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
