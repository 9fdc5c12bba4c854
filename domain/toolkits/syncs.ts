import type { ActorRef } from '../../db/actor-ref.ts';
import { addOutbox } from '../../db/outbox.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { LeftOut } from '../../db/toolkits/left-out.ts';
import {
  failSyncing,
  insertSyncing,
  lockSync,
  quarantineTools,
  storeSync,
  toolsInForce,
  type OpenedRevision,
  type OpenSync,
  type ToolkitScope,
} from '../../db/toolkits/revisions.ts';
import { lockSyncedToolkit, lockToolkit, recordCheck, setNextSync, syncWithinAMinute } from '../../db/toolkits/syncs.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { syncOpened, type ToolkitRevisionState } from '../../workflows/contracts/tools/toolkit-sync.ts';
import { diffTools, differing, isInForce } from './diff.ts';
import { reportLeftOut } from './source-tools.ts';

export interface SyncReason {
  readonly note: string | null;
  readonly createdBy: ActorRef;
}

/** The result of a sync. */
export type SyncFindings =
  | {
      readonly tools: readonly ToolkitTool[];
      readonly server: Record<string, unknown> | null;
      readonly protocolVersion: string | null;
      readonly sourceHash: string | null;
      /** Which of the server's tools were omitted, or what of them is ignored, and why; for people, at most 500 characters are stored. */
      readonly note?: string | null;
      /** The omitted tools, one by one. */
      readonly leftOut?: readonly LeftOut[];
    }
  | {
      /** For people, without secrets; at most 500 characters are stored. */
      readonly error: string;
      /** True when the server answered, but refused. */
      readonly reachable?: boolean;
    };

export interface FinishedSync {
  readonly state: ToolkitRevisionState;
  /** Names of the tools that this sync quarantined. */
  readonly quarantined: readonly string[];
}

const maxErrorChars = 500;
/** After this time a sync counts as abandoned and blocks no other. */
const abandonedAfter = '30 minutes';

/** Opens a sync and starts its workflow. Throws 409 `sync_running` while another is under way. */
export async function startSync(
  tx: TenantTransaction,
  toolkit: ToolkitScope & { readonly organizationId: string },
  reason: SyncReason,
): Promise<OpenedRevision> {
  const revision = await openSync(tx, toolkit, reason);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'toolkitSync',
      workflowId: workflowIds.sync(toolkit.id),
      taskQueue: taskQueues.runs,
      args: [{ toolkitId: toolkit.id }],
      organizationId: toolkit.organizationId,
      workspaceId: toolkit.workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: syncOpened,
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: `sync:${revision.id}` },
  );
  return revision;
}

/**
 * Requests a sync on a server's notification or on schedule: now, or, when the last one was begun less than a minute ago or is still under way, as soon as a
 * minute has passed. Does nothing for a toolkit of the platform, or one that is switched off.
 */
export async function requestSync(tx: TenantTransaction, toolkit: ToolkitScope, reason: SyncReason): Promise<void> {
  const { organizationId } = toolkit;
  if (organizationId === null) return;
  const held = await lockSyncedToolkit(tx, toolkit.id);
  if (!held) return;
  if (held.isRecent) await syncWithinAMinute(tx, toolkit.id);
  else await startSync(tx, { ...toolkit, organizationId }, reason);
}

/** Begins a sync: a revision in state syncing with the next number. One at a time per toolkit: throws 409 `sync_running`. */
export async function openSync(tx: TenantTransaction, toolkit: ToolkitScope, reason: SyncReason): Promise<OpenedRevision> {
  if (!(await lockToolkit(tx, toolkit.id))) throw fail('not_found');
  await failSyncing(tx, toolkit.id, { error: 'The sync was abandoned.', olderThan: abandonedAfter });
  const opened = await insertSyncing(tx, toolkit, reason);
  if (!opened) throw fail('state_conflict', { reason: 'sync_running', detail: 'A sync of this toolkit is running.' });
  return opened;
}

/**
 * Ends a sync: unchanged when it found exactly what is in force, inactive when an activation could change that, failed on an error and when no tool at all can
 * be kept. Tools in force that are changed or missing are quarantined at once, unless the toolkit keeps them (`on_change`). A revision that has already ended
 * is left alone, so that an activity may run twice.
 */
export async function finishSync(tx: TenantTransaction, revisionId: string, found: SyncFindings): Promise<FinishedSync> {
  const open = await lockSync(tx, revisionId);
  if (!open) throw fail('not_found');
  if (open.state !== 'syncing') return { state: open.state, quarantined: open.quarantined };
  if ('error' in found) {
    await failSync(tx, open, found);
    return { state: 'failed', quarantined: [] };
  }

  const inForce = await toolsInForce(tx, open.toolkitId);
  const { tools, server, protocolVersion, sourceHash, leftOut = [] } = found;
  const error = errorOf(tools, found.note ?? null);
  const state = tools.length === 0 ? 'failed' : isInForce(tools, inForce) ? 'unchanged' : 'inactive';
  const quarantined = open.onChange === 'keep' ? [] : differing(tools, inForce);
  await quarantineTools(tx, open.toolkitId, quarantined);
  const diff = diffTools(open.activeTools ?? [], tools);
  const note = reportLeftOut(leftOut).leftOut;
  await storeSync(tx, revisionId, {
    state,
    tools,
    diff,
    quarantined,
    sourceHash,
    server,
    protocolVersion,
    error,
    leftOut: note,
    leftOutCount: leftOut.length,
  });
  await recordCheck(tx, open.toolkitId, {
    reachable: true,
    error: state === 'failed' ? error : null,
    facts: { server, protocolVersion },
  });
  return { state, quarantined };
}

/** Sets when the next sync is due after a sync, if the toolkit has an interval. A sync that was requested meanwhile stays due. */
export async function scheduleNextSync(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await setNextSync(tx, toolkitId);
}

async function failSync(tx: TenantTransaction, open: OpenSync, found: Extract<SyncFindings, { readonly error: string }>): Promise<void> {
  const error = found.error.slice(0, maxErrorChars);
  await failSyncing(tx, open.toolkitId, { error });
  await recordCheck(tx, open.toolkitId, { reachable: found.reachable ?? false, error, facts: null });
}

function errorOf(tools: readonly ToolkitTool[], note: string | null): string | null {
  if (tools.length > 0) return note?.slice(0, maxErrorChars) ?? null;
  return (note === null ? 'The server offers no tools.' : `No tool of the server can be kept. ${note}`).slice(0, maxErrorChars);
}
