import { createHash } from 'node:crypto';
import { emitEvent } from '../../db/triggers/events.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { findSeen, type SeenDelivery } from '../../db/webhooks/deliveries.ts';
import { wakeGroup } from '../../db/webhooks/groups.ts';
import type { Hook } from '../../db/webhooks/hooks.ts';
import {
  countDelivery,
  countDuplicate,
  insertDelivery,
  releaseDigests,
  reserveDigests,
  type NewDelivery,
} from '../../db/webhooks/write-deliveries.ts';
import { Failure, fail } from '../../workflows/contracts/failure.ts';
import { handOver, type HandOver } from '../code-review/hand-over.ts';
import { hostEventKind } from './endpoint-rules.ts';
import { startsAtOnce } from './groups.ts';
import { beginRun, type FilledTexts } from './begin-run.ts';

/** A request that is to start a run: what is stored of it, and the contents of the run. */
export interface DeliveryStart {
  readonly delivery: Omit<NewDelivery, 'status' | 'runId' | 'error' | 'responseStatus' | 'eventId' | 'coalesceHash' | 'opensWindow'>;
  /** The parsed body. */
  readonly body: unknown;
  /** Null when no run is caused by this request alone. */
  readonly texts: FilledTexts | null;
  /** The part for code review; null: the endpoint is not the Git host's. */
  readonly handOver: HandOver | null;
  /** The key by which it is coalesced with others; null: it is not. */
  readonly coalesceKey: string | null;
  /** The digests by which a repeat is recognised; empty: every request counts. */
  readonly digests: readonly Buffer[];
  readonly responseStatus: number;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
}

/** A delivery that was accepted. */
export interface TakenDelivery {
  readonly deliveryId: string;
  /** Null: no run yet, or none at all. */
  readonly runId: string | null;
  readonly eventId: string | null;
  /** It waits to become a run together with others. */
  readonly isCoalesced: boolean;
}

/** The outcome of a request. `refused`: no run; the failure says what the request lacked. */
export type DeliveryOutcome =
  | ({ readonly kind: 'taken' } & TakenDelivery)
  | { readonly kind: 'duplicate'; readonly seen: SeenDelivery }
  | { readonly kind: 'refused'; readonly failure: Failure };

/** Whether deliveries of an endpoint emit events instead of starting runs, including those of the Git host. */
export function publishesOnly({ responseMode, eventKind }: Pick<Hook, 'responseMode' | 'eventKind'>): boolean {
  return isOfHost({ eventKind }) || (responseMode === 'ack' && eventKind !== null);
}

/** Whether deliveries of an endpoint go to code review. */
export function isOfHost({ eventKind }: Pick<Hook, 'eventKind'>): boolean {
  return eventKind === hostEventKind;
}

/** The stored form of a key. */
export function hashOfKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/**
 * Accepts a delivery, in one transaction with the digests by which a repeat is recognised: starts its run, lets it wait for others of its key, or publishes it
 * as an event. Of any number of equal requests one counts, whatever process receives them, and a failed attempt leaves nothing that would block the next.
 */
export async function startDelivery(tx: TenantTransaction, hook: Hook, start: DeliveryStart): Promise<DeliveryOutcome> {
  const { delivery, digests } = start;
  if (!(await reserveDigests(tx, hook, { deliveryId: delivery.id, digests }))) {
    const first = await findSeen(tx, hook.id, digests);
    const seen = first && (await countDuplicate(tx, first.id));
    if (!seen) throw fail('service_unavailable', { retryAfterS: 1 }); // the first has just been erased
    return { kind: 'duplicate', seen };
  }

  const made = await outcomeOf(tx, hook, start);
  if (made instanceof Failure) {
    await releaseDigests(tx, hook.id, delivery.id);
    return { kind: 'refused', failure: made };
  }
  const eventId = await publish(tx, hook, start);
  await countDelivery(tx, hook);
  const { status, runId, opensWindow, warnings, coalesceHash } = made;
  await insertDelivery(tx, hook, {
    ...delivery,
    status,
    runId,
    eventId,
    coalesceHash,
    opensWindow,
    warnings: [...delivery.warnings, ...warnings],
    error: null,
    responseStatus: start.responseStatus,
  });
  tx.outgoing.measurements.push({ kind: 'delivery', status });
  if (status === 'coalescing' && coalesceHash !== null) await wakeGroup(tx, hook, { table: 'webhook_deliveries', hash: coalesceHash });
  return { kind: 'taken', deliveryId: delivery.id, runId, eventId, isCoalesced: status === 'coalescing' };
}

type Made = Pick<NewDelivery, 'runId' | 'warnings'> & {
  readonly status: 'started' | 'published' | 'coalescing';
  readonly coalesceHash: Buffer | null;
  readonly opensWindow: boolean;
};

/** The outcome of a delivery that counts, or the failure when its run can't be started. */
async function outcomeOf(tx: TenantTransaction, hook: Hook, start: DeliveryStart): Promise<Made | Failure> {
  const nothing = { runId: null, warnings: [], coalesceHash: null, opensWindow: false };
  if (publishesOnly(hook)) return { ...nothing, status: 'published' };
  const coalesceHash = start.coalesceKey === null ? null : hashOfKey(start.coalesceKey);
  const key = coalesceHash && ({ table: 'webhook_deliveries', ownerId: hook.id, hash: coalesceHash } as const);
  if (key !== null && !(await startsAtOnce(tx, hook.coalescing, key))) return { ...nothing, coalesceHash, status: 'coalescing' };

  if (start.texts === null) throw new Error('a delivery that starts a run has no texts');
  const { texts, currency, delivery } = start;
  const { outcome, warnings } = await beginRun(tx, hook, { texts, currency, hops: delivery.hops });
  if (outcome instanceof Failure) return outcome;
  return { status: 'started', runId: outcome.run.id, warnings, coalesceHash, opensWindow: coalesceHash !== null };
}

const maxEventBytes = 65_536;

/** Returns the id of the event that a delivery emits; null when it emits none, or goes to code review. */
async function publish(tx: TenantTransaction, hook: Hook, { delivery, body, handOver: handed }: DeliveryStart): Promise<string | null> {
  if (handed !== null) await handOver(tx, handed, hook);
  if (hook.eventKind === null || handed !== null) return null;
  const isShort = Buffer.byteLength(JSON.stringify(body) ?? '') <= maxEventBytes;
  return emitEvent(tx, {
    organizationId: hook.organizationId,
    workspaceId: hook.workspaceId,
    eventKind: hook.eventKind,
    source: 'webhook',
    payload: { delivery_id: delivery.id, ...(isShort ? { body } : {}) },
    occurredAt: delivery.occurredAt,
    // A request from outside is untrusted, and without a verified sender no run may change anything.
    untrusted: true,
    maxEffect: hook.verification === 'none' ? 'read' : 'write',
    hops: delivery.hops,
  });
}
