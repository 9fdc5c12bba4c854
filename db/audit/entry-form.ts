import { createHmac } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Selectable } from 'kysely';
import { iso } from '../sql.ts';
import type { Tables } from '../table-types.ts';

/** The columns that an entry is written with, and read with to seal it; seq and sealNo are assigned with the seal. */
export const unsealedColumns = [
  'id',
  'createdAt',
  'organizationId',
  'workspaceId',
  'actorKind',
  'actorId',
  'actorRole',
  'actingUserId',
  'impersonationId',
  'action',
  'resourceType',
  'resourceId',
  'resourceLabel',
  'outcome',
  'changes',
  'operationId',
  'correlationId',
  'ip',
  'userAgent',
] as const;
export const sealedColumns = [...unsealedColumns, 'seq', 'sealNo'] as const;

type Columns = Selectable<Tables['audit_entries']>;
/** An entry that is about to be sealed. */
export type UnsealedEntry = Pick<Columns, (typeof unsealedColumns)[number]>;
/** A numbered entry as the database holds it. */
export type SealedEntry = UnsealedEntry & Pick<Columns, 'sealNo'> & { readonly seq: number };

/** Bytes of the MAC of one entry: enough against a forger without a key, small compared with the entry. */
export const entryMacBytes = 16;

/** Returns every column of an entry in the canonical form of RFC 8785: a change of any column changes it. */
export function entryForm(entry: SealedEntry): Buffer {
  const form = canonicalize({
    id: entry.id,
    created_at: iso(entry.createdAt),
    organization_id: entry.organizationId,
    workspace_id: entry.workspaceId,
    actor_kind: entry.actorKind,
    actor_id: entry.actorId,
    actor_role: entry.actorRole,
    acting_user_id: entry.actingUserId,
    impersonation_id: entry.impersonationId,
    action: entry.action,
    resource_type: entry.resourceType,
    resource_id: entry.resourceId,
    resource_label: entry.resourceLabel,
    outcome: entry.outcome,
    changes: entry.changes,
    operation_id: entry.operationId,
    correlation_id: entry.correlationId,
    ip: entry.ip,
    user_agent: entry.userAgent,
    seq: entry.seq,
    seal_no: entry.sealNo,
  });
  return Buffer.from(form ?? '');
}

/**
 * What a seal states about its entries. `entries`: they were in the log when they were sealed, whoever wrote them. `purge`: the process that deleted what its
 * one entry names wrote and sealed that entry in the same transaction. `former`: the form of all seals before these two were distinguished.
 */
export const sealKinds = ['entries', 'purge', 'former'] as const;
export type SealKind = (typeof sealKinds)[number];

// No MAC of one kind can equal one of another: the input of a former one begins with a MAC or a length, and no length reads like these texts.
const beginnings: Readonly<Record<SealKind, string>> = { entries: 'longhaul audit seal\0', purge: 'longhaul audit purge\0', former: '' };

/** Returns HMAC-SHA-256(key, text of the kind ‖ previous MAC ‖ each form, preceded by its length): binds the entries to all earlier ones. */
export function sealMac(
  key: Buffer,
  kind: SealKind,
  { previousMac, forms }: { previousMac: Buffer | null; forms: readonly Buffer[] },
): Buffer {
  const mac = createHmac('sha256', key)
    .update(beginnings[kind])
    .update(previousMac ?? Buffer.alloc(0));
  for (const form of forms) mac.update(lengthOf(form)).update(form);
  return mac.digest();
}

/** Returns the short MAC of one entry, under a text with which no seal begins. */
export function entryMac(key: Buffer, form: Buffer): Buffer {
  return createHmac('sha256', key).update('longhaul audit entry\0').update(form).digest().subarray(0, entryMacBytes);
}

function lengthOf(form: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(form.length);
  return length;
}
