import { storedReplyBinding, type IdempotencyRow, type StoredReply } from '../../db/http/idempotency.ts';
import type { KeyRing } from '../../db/identity/key-ring.ts';
import { keyIdOf, open, seal } from '../../db/tenancy/envelope.ts';
import type { Unit } from '../../db/unit.ts';
import type { Rendered } from './render.ts';

/** A key that a request holds: it alone may execute, and store what it answered. */
export interface Reservation {
  readonly id: string;
  readonly lease: string;
  readonly isSecret: boolean;
}

const keptHeaders = ['content-type', 'location', 'etag'];

/** A reply as it is stored: what a repeat must get again, secrets as an envelope. */
export async function toStored(
  keys: KeyRing,
  unit: Unit,
  reservation: Pick<Reservation, 'id' | 'isSecret'>,
  reply: Rendered,
): Promise<StoredReply> {
  const headers = Object.fromEntries(Object.entries(reply.headers).filter(([name]) => keptHeaders.includes(name)));
  const body = Buffer.from(reply.body ?? '');
  if (!reservation.isSecret) return { status: reply.status, headers, body, bodyKeyId: null };

  const envelope = await seal(unit.em, keys, storedReplyBinding(unit.tenant.organizationId, reservation.id), body);
  return { status: reply.status, headers, body: envelope, bodyKeyId: keyIdOf(envelope) };
}

/** A stored reply as it goes out again. */
export async function toReply(keys: KeyRing, unit: Unit, row: IdempotencyRow): Promise<Rendered> {
  const stored = row.body ?? Buffer.alloc(0);
  const body = row.bodyKeyId === null ? stored : await open(unit.em, keys, storedReplyBinding(unit.tenant.organizationId, row.id), stored);
  const status = row.status ?? 200;
  return { status, headers: { ...row.headers, 'idempotency-replayed': 'true' }, body: status === 204 ? null : body.toString() };
}
