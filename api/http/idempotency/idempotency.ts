import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../../../db/caller.ts';
import type { IdempotencyRow, KeySpace } from '../../../db/http/idempotency.ts';
import { holdShownRun } from '../../../db/http/stored-replies.ts';
import { withAutocommit, transact, type TransactionOptions } from '../../../db/transaction.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import {
  claimKey,
  refuseLostPlaces,
  releaseKey,
  settleKey,
  storeSuccess as store,
  type HeldKey,
} from '../../../domain/http/idempotency.ts';
import { fail, type Failure } from '../../../workflows/contracts/failure.ts';
import type { AppDeps } from '../operation/deps.ts';
import { toEnvelope } from '../reply/error-envelope.ts';
import { fingerprintOf } from './idempotency-key.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import type { ParsedInput } from '../input/parse-input.ts';
import type { Rendered } from '../reply/render.ts';
import { floorOf } from '../credentials/role-floor.ts';
import { workspacesIn, toReply, toStored, type Reservation } from './stored-reply.ts';

export type { Reservation } from './stored-reply.ts';

export type KeyReservation =
  | { readonly kind: 'mine'; readonly reservation: Reservation }
  | { readonly kind: 'replay'; readonly reply: Rendered };

/** The request that wants a key; the row is read and written in its own tenant. */
interface Reserving {
  readonly deps: AppDeps;
  readonly operation: RegisteredOperation;
  readonly caller: Caller;
  readonly options: TransactionOptions;
  readonly input: ParsedInput;
}

const storedRefusals = new Set([402, 404, 409, 410, 412, 423]);
const refusalType = 'application/problem+json; charset=utf-8';
const maxTries = 5;
/** Together about as long as a lease. */
const pausesMs = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];

/** Reserves the request's key before its transaction, or finds the reply to repeat; a rival that is still at it is 409. */
export async function reserveOrReplay(reserving: Reserving, key: string): Promise<KeyReservation | null> {
  const scope = keySpaceOf(reserving, key);
  if (!scope) return null;
  const fingerprint = fingerprintOf(reserving.deps.keys.idempotencyKey.secret, reserving.input);

  for (let tries = 0; tries < maxTries; tries += 1) {
    // Each statement decides by the row that it finds, so that none requires the preceding one to be rolled back.
    const reserved = await withAutocommit(reserving.deps.db, reserving.options, (tx) => attempt(reserving, tx, scope, fingerprint));
    if (reserved) return reserved;
  }
  throw fail('idempotency_in_progress', { retryAfterS: 1 });
}

/** Stores a success in the handler's own transaction, at its end; 409 when the lease went to another meanwhile, so that all of it rolls back. */
export async function storeSuccess(
  reserving: Pick<Reserving, 'deps'>,
  tx: TenantTransaction,
  reservation: Reservation,
  reply: Rendered,
  isFinal: boolean,
): Promise<void> {
  const stored = await toStored(reserving.deps.keys, tx, reservation, reply);
  await store(tx, reservation, stored, { isFinal });
}

/** Stores a refusal that a repeat must get too, or releases the key. Never throws: the request already has its answer. */
export async function settleRefusal(reserving: Reserving, reservation: Reservation, failure: Failure): Promise<void> {
  const isStored = storedRefusals.has(failure.status) && failure.code !== 'idempotency_in_progress';
  await quietly(reserving, async (tx) => {
    if (!isStored) return releaseKey(tx, reservation);
    const shown = (await showsPurgedRun(tx, failure)) ? fail('not_found') : failure;
    const reply = refusalOf(reserving.deps, shown, reserving.options.correlationId);
    await settleKey(tx, reservation, await toStored(reserving.deps.keys, tx, reservation, reply));
  });
}

/** A refusal may show the run (`run_finished`): when that was purged meanwhile, a repeat gets what the run itself answers now. */
async function showsPurgedRun(tx: TenantTransaction, { context: { run } }: Failure): Promise<boolean> {
  if (typeof run !== 'object' || run === null || !('id' in run)) return false;
  return !(await holdShownRun(tx.em, String(run.id)));
}

/** Replaces the stored 202 by the final reply, or makes the 202 final if there is no such reply. */
export async function settleFinal(reserving: Reserving, reservation: Reservation, reply: Rendered | null): Promise<void> {
  await quietly(reserving, async (tx) => {
    await settleKey(tx, reservation, reply && (await toStored(reserving.deps.keys, tx, reservation, reply)));
  });
}

/** One look at the row; null asks for another. */
async function attempt(reserving: Reserving, tx: TenantTransaction, scope: KeySpace, fingerprint: Buffer): Promise<KeyReservation | null> {
  const claim = await claimKey(tx, scope, fingerprint);
  if (claim === null) return null;
  return claim.kind === 'mine' ? mine(reserving, claim) : { kind: 'replay', reply: await replay(reserving, tx, claim.found) };
}

/**
 * What a repeat gets. One whose row was erased gets what the row itself answers now, and so does one who no longer sees where it lies (404) or has too low a
 * rank there (403): a right that is lost is lost for what was stored, too.
 */
async function replay(
  { deps, caller, operation, options, input }: Reserving,
  tx: TenantTransaction,
  found: IdempotencyRow,
): Promise<Rendered> {
  if (found.body === null)
    return {
      ...refusalOf(deps, fail('not_found'), options.correlationId),
      headers: { 'content-type': refusalType, 'idempotency-replayed': 'true' },
    };
  const reply = await toReply(deps.keys, tx, found);
  await refuseLostPlaces(tx, caller, { named: workspacesIn(reply), params: input.params, floor: floorOf(operation) });
  return reply;
}

function refusalOf(deps: AppDeps, failure: Failure, correlationId: string): Rendered {
  const envelope = toEnvelope(failure, { publicUrl: deps.env.publicUrl, correlationId });
  return { status: failure.status, headers: { 'content-type': refusalType }, body: JSON.stringify(envelope) };
}

function mine({ operation }: Reserving, { id, lease }: HeldKey): KeyReservation {
  return { kind: 'mine', reservation: { id, lease, isSecret: operation.secretReply === true } };
}

/** Null for a caller without an identity of its own, which can't own a key. */
function keySpaceOf({ operation, caller, options }: Reserving, key: string): KeySpace | null {
  if (caller.kind === 'nobody' || caller.principalId === null) return null;
  return {
    organizationId: options.tenant.organizationId,
    workspaceId: caller.view?.workspaceId ?? caller.workspaceId,
    principalKind: caller.kind,
    principalId: caller.principalId,
    // Inside an impersonation the principal is the operator, who may work as several users.
    actingUserId: caller.impersonationId === null ? caller.actingUserId : caller.userId,
    method: operation.method,
    route: operation.path,
    key,
  };
}

/** Never throws. What the database does not take now, because it is away, is tried again behind the answer: else a repeat would wait out the lease. */
async function quietly(reserving: Reserving, work: (tx: TenantTransaction) => Promise<void>): Promise<void> {
  if (!(await isTaken(reserving, work))) void tryAgain(reserving, work);
}

async function tryAgain(reserving: Reserving, work: (tx: TenantTransaction) => Promise<void>): Promise<void> {
  for (const pauseMs of pausesMs) {
    await delay(pauseMs, undefined, { ref: false });
    if (await isTaken(reserving, work)) return;
  }
}

async function isTaken(reserving: Reserving, work: (tx: TenantTransaction) => Promise<void>): Promise<boolean> {
  try {
    await transact(reserving.deps.db, reserving.options, work);
    return true;
  } catch (error) {
    reserving.deps.log.warn({ err: error, correlation_id: reserving.options.correlationId }, 'idempotency row not settled');
    return false;
  }
}
