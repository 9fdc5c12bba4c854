import type { KeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import type { McpPrincipal } from '../../db/mcp/connection-queries.ts';
import { openConnection, storeGrant, type FreshGrant, type McpConnectionAt } from '../../db/mcp/connections.ts';
import { runsAwaitingConsent } from '../../db/mcp/consent-of-call.ts';
import { deleteConsent, insertConsent, storeCode, type BegunConsent, type ReturnedCode } from '../../db/mcp/consents.ts';
import { addOutboxAll } from '../../db/outbox.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { holdThere, type McpToolkit } from '../../db/toolkits/mcp-toolkits.ts';
import { agentRunSignals } from '../../workflows/contracts/runs/agent-run.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { readStatus, type McpStatusRow } from '../../db/mcp/status.ts';
import type { Scoped } from '../../db/scope.ts';

type Keks = Pick<KeyRing, 'keks'>;

/**
 * Begins a consent: its state opens it once, within `lifeS` seconds. The connection, created if there is none, records where the person has to go. Returns
 * false when the address or the credentials of the toolkit have changed meanwhile: nothing has begun then.
 */
export async function beginConsent(
  tx: TenantTransaction,
  keys: Keks,
  { toolkit, principal, ...begun }: BegunConsent & { readonly toolkit: McpToolkit; readonly principal: McpPrincipal },
): Promise<boolean> {
  // Otherwise a grant of the former server would go to the new one.
  if (!(await holdThere(tx, toolkit))) return false;
  const connection = await openConnection(tx, toolkit, principal);
  await insertConsent(tx, keys, connection, begun);
  return true;
}

/**
 * Stores the returned code, encrypted, for the sync that exchanges it. Throws the same 422 for a state that is unknown, spent, too old, or of another toolkit
 * or principal.
 */
export async function takeCode(tx: TenantTransaction, keys: Keks, back: ReturnedCode): Promise<void> {
  if (!(await storeCode(tx, keys, back))) throw stateRefused();
}

/** Stores the grant for which a code was exchanged, unless the connection has been written meanwhile. The code is spent. */
export async function storeExchanged(
  tx: TenantTransaction,
  keys: Keks,
  { stateHash, ...at }: McpConnectionAt & FreshGrant & { readonly stateHash: string },
): Promise<void> {
  await storeGrant(tx, keys, at);
  await endConsent(tx, stateHash);
}

/** A code is good for one exchange, whatever its outcome. */
export async function endConsent(tx: TenantTransaction, stateHash: string): Promise<void> {
  await deleteConsent(tx, stateHash);
}

/** Wakes the runs of a user whose calls wait for a consent to this toolkit, which now exists. */
export async function wakeConsenting(tx: TenantTransaction, toolkitId: string, principal: McpPrincipal): Promise<void> {
  const waiting = await runsAwaitingConsent(tx, toolkitId, principal);
  const occasion = newId();
  await addOutboxAll(
    tx,
    waiting.map((runId) => ({
      message: { kind: 'workflow.signal', workflowId: workflowIds.run(runId), signal: agentRunSignals.approvalDecided },
      dedupeKey: `consent:${runId}:${occasion}`,
    })),
  );
}

function stateRefused() {
  const message = 'is unknown, used, expired or belongs to another toolkit';
  return fail('validation_failed', {
    detail: 'The authorization does not belong to a pending consent.',
    errors: [{ in: 'body', pointer: '/authorization/state', name: null, rule: 'state', message }],
  });
}

/** Returns the status of a toolkit that the caller sees. Throws 404, and 409 `not_mcp` for another kind. One query. */
export async function readMcpStatus(ctx: Scoped, toolkitId: string): Promise<McpStatusRow> {
  const status = await readStatus(ctx, toolkitId);
  if (status.kind !== 'mcp') throw fail('state_conflict', { reason: 'not_mcp', detail: 'The toolkit is not of kind mcp.' });
  return status;
}
