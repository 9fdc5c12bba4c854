import { createHmac } from 'node:crypto';
import canonicalize from 'canonicalize';
import { iso } from '../sql.ts';

/** A sealed entry as the database holds it. */
export interface SealedEntry {
  readonly id: string;
  readonly created_at: string;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly actor_kind: string;
  readonly actor_id: string | null;
  readonly actor_role: string | null;
  readonly acting_user_id: string | null;
  readonly impersonation_id: string | null;
  readonly action: string;
  readonly resource_type: string;
  readonly resource_id: string | null;
  readonly resource_label: string | null;
  readonly outcome: string;
  readonly changes: Record<string, unknown>;
  readonly operation_id: string | null;
  readonly correlation_id: string | null;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly seq: number;
  readonly seal_no: number;
}

/** Columns that are read to seal a row; seq and seal_no are assigned with the seal. */
export const unsealedColumns = `id, created_at, organization_id, workspace_id, actor_kind, actor_id, actor_role, acting_user_id, impersonation_id,
  action, resource_type, resource_id, resource_label, outcome, changes, operation_id, correlation_id, ip, user_agent`;
export const sealedColumns = `${unsealedColumns}, seq, seal_no`;

/** Bytes of the MAC of one entry: enough against a forger without a key, small compared with the entry. */
export const entryMacBytes = 16;

/** Returns every column of an entry in the canonical form of RFC 8785: a change of any column changes it. */
export function entryForm(entry: SealedEntry): Buffer {
  const form = canonicalize({
    id: entry.id,
    created_at: iso(entry.created_at),
    organization_id: entry.organization_id,
    workspace_id: entry.workspace_id,
    actor_kind: entry.actor_kind,
    actor_id: entry.actor_id,
    actor_role: entry.actor_role,
    acting_user_id: entry.acting_user_id,
    impersonation_id: entry.impersonation_id,
    action: entry.action,
    resource_type: entry.resource_type,
    resource_id: entry.resource_id,
    resource_label: entry.resource_label,
    outcome: entry.outcome,
    changes: entry.changes,
    operation_id: entry.operation_id,
    correlation_id: entry.correlation_id,
    ip: entry.ip,
    user_agent: entry.user_agent,
    seq: entry.seq,
    seal_no: entry.seal_no,
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
