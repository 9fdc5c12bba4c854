import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import {
  readMaintainedBase,
  readPolicy,
  shareMaintainedBase,
  type MaintainedBase,
  type PolicyRow,
} from '../../../db/knowledge/bases/maintained-base.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { Embedder } from '../../../ports/embeddings/index.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';
import type { JudgeCalls } from '../runs/judge-calls.ts';
import type { Judge } from './judge.ts';
import { countOnRun, moveOn } from '../runs/run-batches.ts';
import type { SearchDeps } from '../search/search.ts';

/** The tasks of a maintenance run, in the order in which they are done. */
export const maintenanceTasks = ['verify', 'repair', 'dedupe', 'decay', 'contradictions', 'consolidate', 'evaluate_retrieval'] as const;
export type MaintenanceTask = (typeof maintenanceTasks)[number];

/** Tasks that ask a judge model. */
export const judgedTasks: readonly MaintenanceTask[] = ['contradictions', 'consolidate'];

/** How far a maintenance run is: a task, a stage of it, and the last position in that stage. */
export interface MaintenanceCursor extends JudgeCalls {
  readonly task: MaintenanceTask;
  readonly stage: string | null;
  readonly after: string | null;
  /** What a task adds up over its batches. */
  readonly sums?: Readonly<Record<string, unknown>>;
}

/** The outcome of a batch: where the task continues (null: it is done), what it did, and what the run shows of the task. */
export interface TaskProgress {
  readonly next: Omit<MaintenanceCursor, 'task'> | null;
  /** Items, queries or groups that it processed. */
  readonly done: number;
  readonly counts?: Readonly<Record<string, number>>;
  readonly result?: Readonly<Record<string, unknown>>;
}

/** What the tasks need beside rows. */
export interface MaintenanceTools {
  readonly embedder: Embedder;
  /** Searches at the run's cost: a missing query vector ends the try, so that no leg is scored that did not run. */
  readonly search: SearchDeps;
  readonly judge: Judge;
  readonly now: () => Date;
}

/** One batch of one task. */
export interface TaskBatch {
  readonly run: Readonly<KnowledgeRun>;
  readonly base: MaintainedBase;
  readonly policy: PolicyRow;
  readonly cursor: MaintenanceCursor;
  /** The items of the run; null: all. */
  readonly itemIds: readonly string[] | null;
  readonly tools: MaintenanceTools;
  readonly signal: AbortSignal;
  readonly read: <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;
  /** Runs one transaction with the run locked, and records the progress that the work returns. */
  readonly commit: (work: (tx: TenantTransaction, run: KnowledgeRun) => Promise<TaskProgress>) => Promise<void>;
}

/** Does one batch of a task, and commits it once. */
export type TaskStep = (batch: TaskBatch) => Promise<void>;

/** How a batch of a run accesses the database. */
export interface BatchAccess {
  readonly read: TaskBatch['read'];
  readonly commit: <R>(work: (tx: TenantTransaction, run: KnowledgeRun) => Promise<R>) => Promise<R>;
  readonly signal: AbortSignal;
}

/** Does one batch of the run's current task. Returns false when all of its tasks are done. Throws 404 when the base no longer exists. */
export async function maintainBatch(
  run: Readonly<KnowledgeRun>,
  { read, commit, signal }: BatchAccess,
  { steps, tools }: { readonly steps: Readonly<Record<MaintenanceTask, TaskStep>>; readonly tools: MaintenanceTools },
): Promise<boolean> {
  const cursor = cursorOf(run);
  if (cursor === null) return false;
  const base = await read((tx) => readMaintainedBase(tx, run.kbId));
  if (base === null) throw fail('not_found', { detail: 'The knowledge base has been deleted.' });
  const policy = await read((tx) => readPolicy(tx, run.kbId));
  const itemIds = Array.isArray(run.params['item_ids']) ? run.params['item_ids'].filter((id) => typeof id === 'string') : null;

  await steps[cursor.task]({
    run,
    base,
    policy,
    cursor,
    itemIds,
    tools,
    signal,
    read,
    commit: (work) =>
      commit(async (tx, locked) => {
        const progress = await work(tx, locked);
        recordProgress(locked, cursor, progress);
      }),
  });
  return true;
}

/** Where a run continues; null after its last task. */
function cursorOf({ cursor, tasks }: Pick<KnowledgeRun, 'cursor' | 'tasks'>): MaintenanceCursor | null {
  const first = tasksInOrder(tasks)[0];
  if (cursor === null) return first === undefined ? null : { task: first, stage: null, after: null };
  // Only `recordProgress` writes it.
  const stored = cursor as unknown as MaintenanceCursor | { readonly task: null };
  return stored.task === null ? null : stored;
}

function tasksInOrder(tasks: readonly string[]): MaintenanceTask[] {
  return maintenanceTasks.filter((task) => tasks.includes(task));
}

function recordProgress(run: KnowledgeRun, cursor: MaintenanceCursor, { next, done, counts = {}, result }: TaskProgress): void {
  const tasks = tasksInOrder(run.tasks);
  const following = tasks[tasks.indexOf(cursor.task) + 1];
  const isSame = run.progress.stage === cursor.task;
  const begin = following === undefined ? { task: null } : { task: following, stage: null, after: null };
  const at = next === null ? begin : { task: cursor.task, ...next };
  moveOn(run, { stage: cursor.task, done: (isSame ? run.progress.done : 0) + done, total: run.progress.total, cursor: { ...at } });
  countOnRun(run, counts);
  if (result !== undefined) run.result = { ...run.result, [cursor.task]: { ...result } };
}

/** Locks the base against changes until the transaction ends. Throws 423 when it has been frozen or superseded, 404 when it has been deleted. */
export async function shareForWriting(tx: TenantTransaction, kbId: string): Promise<MaintainedBase> {
  const base = await shareMaintainedBase(tx, kbId);
  if (base === null) throw fail('not_found', { detail: 'The knowledge base has been deleted.' });
  refuseFrozenBase({ ...base, reembedRunId: null });
  return base;
}
