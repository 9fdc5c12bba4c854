import { deadlineIn } from '../../../ports/deadline.ts';
import { writeAudit } from '../../../db/audit/audit.ts';
import type { RunPrincipal } from '../../../db/knowledge/bases/access.ts';
import { listBasesToWrite, lockBaseToWrite, type ItemBase } from '../../../db/knowledge/items/item-base.ts';
import { findWrittenItem, isCallExecuting } from '../../../db/knowledge/items/written-items.ts';
import { readKnowledgeRun } from '../../../db/knowledge/runs/run-bindings.ts';
import type { KnowledgeFact } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import type { KnowledgeItemKind } from '../../../workflows/contracts/knowledge/curation.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { Embedder } from '../../../ports/embeddings/index.ts';
import { fail, Failure } from '../../../workflows/contracts/failure.ts';
import { createItem } from './create-items.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';
import { planIndex, type IndexPlan, type Indexer } from './index-plan.ts';
import { toItemRow } from './item-rules.ts';
import { requestWrite } from './request-write.ts';

/** What an agent wants to store; the tool's input schema has bounded it. */
export interface ItemWish {
  readonly content: string;
  readonly title: string | null;
  readonly kind: KnowledgeItemKind | undefined;
  readonly tags: readonly string[];
  readonly fact: KnowledgeFact | null;
}

/** A call of the tool: its id is that of the item, so that repeated executions write one item. */
export interface ItemCall {
  readonly runId: string;
  readonly toolCallId: string;
  readonly place: { readonly organizationId: string; readonly workspaceId: string };
  readonly wish: ItemWish;
}

export interface WriteDeps {
  /** Runs a transaction of its own in the tenant of the run, and sends what leaves after the commit. */
  readonly transact: <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;
  readonly embedder: Embedder;
}

/** The outcome of a write. */
export interface WrittenItem {
  readonly status: 'written' | 'existing' | 'deferred';
  readonly base: string;
  /** Null while the write is deferred. */
  readonly item_id: string | null;
}

/** The longest time, in ms, for the vectors of one item; without them the item is found by its words until the workflow has made them. */
const maxEmbeddingMs = 5_000;

/**
 * Writes a pending, untrusted item of the run's agent into the only base that the run writes to, or the base with this slug. While a re-embed copies the base
 * the write is deferred, and the workflow `maint:write:<tool_call_id>` writes it into the copy.
 * @throws 422 when there is no such base, 423 for a frozen one, 404 for a run that no longer exists, 409 `call_over` for a call that has ended meanwhile.
 */
export async function writeItem(deps: WriteDeps, call: ItemCall, slug: string | null): Promise<WrittenItem> {
  const run = await deps.transact((tx) => readKnowledgeRun(tx, call.runId));
  if (run === null) throw fail('not_found', { detail: 'The run is gone.' });
  const base = chosen(await deps.transact((tx) => listBasesToWrite(tx, run.principal)), slug);
  const isOwn = { kbId: base.id, principal: run.principal, isDeferred: false };
  try {
    return { ...(await write(deps, call, isOwn)), base: base.slug };
  } catch (error) {
    if (!isReembedding(error)) throw error;
    await deps.transact((tx) => requestWrite(tx, { ...call.place, runId: call.runId, toolCallId: call.toolCallId, kbId: base.id }));
    return { status: 'deferred', item_id: null, base: base.slug };
  }
}

/** `written`: the item exists, by this try or an earlier one; `waiting`: not yet; `refused`: the agent may no longer write there. */
export type DeferredOutcome = 'written' | 'waiting' | 'refused';

/** Tries a deferred write: in the original base or its current successor, if the run's agent still has the right to write there. */
export async function writeDeferred(deps: WriteDeps, call: ItemCall, kbId: string): Promise<DeferredOutcome> {
  const run = await deps.transact((tx) => readKnowledgeRun(tx, call.runId));
  if (run === null) return 'refused';
  try {
    await write(deps, call, { kbId, principal: run.principal, isDeferred: true });
    return 'written';
  } catch (error) {
    if (error instanceof Failure && error.code === 'resource_frozen') return 'waiting';
    if (error instanceof Failure && error.status < 500 && !error.retryable) return 'refused';
    throw error;
  }
}

interface Target {
  readonly kbId: string;
  readonly principal: RunPrincipal;
  /** The call has been answered already, and the run may have ended. */
  readonly isDeferred: boolean;
}

async function write(deps: WriteDeps, call: ItemCall, target: Target): Promise<Pick<WrittenItem, 'status' | 'item_id'>> {
  const indexer = { embedder: deps.embedder, signal: deadlineIn(maxEmbeddingMs) };
  // Reads the base before and after making the index, so that no lock is held meanwhile.
  const seen = await deps.transact((tx) => baseFor(tx, target));
  refuseFrozenBase(seen);
  const plan = await planIndex(seen, call.wish, indexer);
  return deps.transact(async (tx) => {
    const base = await baseFor(tx, target);
    const made = await findWrittenItem(tx, call.toolCallId);
    if (made) return { status: 'written', item_id: made.id };
    if (!target.isDeferred && !(await isCallExecuting(tx, call.toolCallId)))
      throw fail('state_conflict', { reason: 'call_over', detail: 'The call has ended.' });
    return insert(tx, base, { call, plan, indexer });
  });
}

async function baseFor(tx: TenantTransaction, { principal, kbId }: Target): Promise<ItemBase> {
  const base = await lockBaseToWrite(tx, principal, kbId);
  if (base === null) throw fail('validation_failed', { reason: 'reference', detail: 'This run does not write to that knowledge base.' });
  return base;
}

interface Insert {
  readonly call: ItemCall;
  readonly plan: IndexPlan;
  readonly indexer: Indexer;
}

async function insert(tx: TenantTransaction, base: ItemBase, { call, plan, indexer }: Insert) {
  const { wish, runId, toolCallId } = call;
  const run = await readKnowledgeRun(tx, runId);
  if (run === null) throw fail('not_found', { detail: 'The run is gone.' });
  const { agentId, subject } = run.principal;
  const evidence = { kind: 'run', ref: runId, ...(subject && { subject_kind: subject.kind, subject_id: subject.id }) } as const;
  const from = { origin: 'agent', createdBy: { kind: 'agent', id: agentId } } as const;
  const row = toItemRow({ ...wish, evidence: [evidence] }, from, { baseKind: base.kind, pointer: '' });
  const created = await createItem(tx, base, {
    draft: { row: { ...row, id: toolCallId }, plan },
    onDuplicate: 'return_existing',
    indexer,
  });
  if (!created.isNew) return { status: 'existing', item_id: created.item.id } as const;
  await recordWriting(tx, base, toolCallId);
  return { status: 'written', item_id: toolCallId } as const;
}

/** Records no text, since audit entries outlive a purge and are read by admins who may not read the base. */
async function recordWriting(tx: TenantTransaction, { organizationId, workspaceId }: ItemBase, itemId: string): Promise<void> {
  const note = { resourceType: 'knowledge_item', resourceId: itemId, organizationId, workspaceId };
  await writeAudit(tx, { action: 'create', operationId: null, note, ip: null, userAgent: null });
}

function chosen<Base extends { readonly slug: string }>(bases: readonly Base[], slug: string | null): Base {
  const found = slug === null && bases.length === 1 ? bases[0] : bases.find((base) => base.slug === slug);
  if (found) return found;
  const names = bases.map((base) => base.slug).join(', ');
  throw fail('validation_failed', {
    reason: 'base',
    detail: bases.length === 0 ? 'This run writes to no knowledge base.' : `Name the base to write to; there are: ${names}`.slice(0, 1_000),
  });
}

function isReembedding(error: unknown): boolean {
  return error instanceof Failure && error.code === 'resource_frozen' && error.context['reason'] === 'reembed_in_progress';
}
