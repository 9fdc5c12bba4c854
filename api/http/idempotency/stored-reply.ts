import type { IdempotencyRow, StoredReply } from '../../../db/http/idempotency.ts';
import { storedReplyBinding } from '../../../db/http/stored-replies.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import { keyIdOf, decrypt, encrypt } from '../../../db/envelope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { Rendered } from '../reply/render.ts';

/** A key that a request has reserved: only this request may execute and store its reply. */
export interface Reservation {
  readonly id: string;
  readonly lease: string;
  readonly isSecret: boolean;
}

const storedHeaders = ['content-type', 'location', 'etag', 'x-run-id'];

/** A reply as it is stored: what a repeat must get again, secrets as an envelope. */
export async function toStored(
  keys: KeyRing,
  tx: TenantTransaction,
  reservation: Pick<Reservation, 'id' | 'isSecret'>,
  reply: Rendered,
): Promise<StoredReply> {
  const headers = Object.fromEntries(Object.entries(reply.headers).filter(([name]) => storedHeaders.includes(name)));
  const body = Buffer.from(reply.body ?? '');
  const shownIds = idsIn(reply.body);
  if (!reservation.isSecret) return { status: reply.status, headers, body, bodyKeyId: null, shownIds };

  const envelope = await encrypt(tx.em, keys, storedReplyBinding(tx.tenant.organizationId, reservation.id), body);
  return { status: reply.status, headers, body: envelope, bodyKeyId: keyIdOf(envelope), shownIds };
}

/** What people and models say may hold any id. */
const freeFields: ReadonlySet<string> = new Set(['input', 'output', 'metadata', 'args', 'edited_args', 'response']);
/** A row of a base goes with it, and a relation with the items at its ends. */
const idFields: ReadonlySet<string> = new Set(['id', 'run_id', 'root_run_id', 'kb_id', 'from_item_id', 'to_item_id']);
const workspaceFields: ReadonlySet<string> = new Set(['workspace_id']);
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the ids of the rows whose views a body contains, at any depth; a mere reference to a row does not count. */
function idsIn(body: string | null): string[] {
  return [...valuesOf(idFields, parsed(body))];
}

/** The workspaces in which the rows of a reply lie. */
export function workspacesIn({ body }: Pick<Rendered, 'body'>): Set<string> {
  return valuesOf(workspaceFields, parsed(body));
}

function valuesOf(names: ReadonlySet<string>, value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  for (const [name, field] of Object.entries(value)) {
    if (names.has(name) && typeof field === 'string' && uuid.test(field)) found.add(field);
    else if (!freeFields.has(name)) valuesOf(names, field, found);
  }
  return found;
}

function parsed(body: string | null): unknown {
  return body === null || !body.startsWith('{') ? null : JSON.parse(body); // what we wrote ourselves
}

/** A stored reply as it goes out again. */
export async function toReply(keys: KeyRing, tx: TenantTransaction, row: IdempotencyRow): Promise<Rendered> {
  const stored = row.body ?? Buffer.alloc(0);
  const body = row.bodyKeyId === null ? stored : await decrypt(tx.em, keys, storedReplyBinding(tx.tenant.organizationId, row.id), stored);
  const status = row.status ?? 200;
  return { status, headers: { ...row.headers, 'idempotency-replayed': 'true' }, body: status === 204 ? null : body.toString() };
}
