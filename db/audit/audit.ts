import { newId } from '../ids.ts';
import { change, iso, queueStatement } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { auditActions } from './audit-entry.entity.ts';

export type AuditAction = (typeof auditActions)[number];

/** What changed, as the operation reports it. `AuditNote` of the API fits. */
export interface AuditSubject {
  readonly resourceType: string;
  readonly resourceId?: string | null;
  readonly label?: string | null;
  /** Organization of the row; default: the transaction's tenant. */
  readonly organizationId?: string | null;
  readonly workspaceId?: string | null;
  readonly changes?: Readonly<Record<string, AuditChange>>;
}

export interface AuditChange {
  readonly from?: unknown;
  readonly to?: unknown;
  readonly changed?: true;
}

export interface AuditOptions {
  readonly action: AuditAction;
  /** Null for activities, schedules and CLI commands. */
  readonly operationId: string | null;
  readonly note: AuditSubject;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly outcome?: 'success' | 'denied';
  /** Refuses the whole transaction (423 `resource_frozen`) where the note's organization is not active or its workspace is archived. */
  readonly demandsOpen?: boolean;
}

const maxFields = 50;
const maxValueLength = 500;
const maxBytes = 16_384;

/** Fields whose values never enter the log, whatever the operation passes. */
const unspoken = /^(email|pending_email|full_name)$|password|secret|(^|_)token$|api_key|private|credential|code_verifier/;

/** Resources named after a person: their label is never written, since entries outlive people. A user's label is looked up when an entry is read. */
const personal: ReadonlySet<string> = new Set(['user', 'workspace_member', 'invitation', 'session', 'impersonation']);

// One statement for both, since every write has this one anyway.
const whereOpen = `app_refuse('LH423', (
  select case when o.status <> 'active' then 'organization_' || o.status else 'workspace_archived' end
    from organizations o left join workspaces w on w.id = ?::uuid
   where o.id = ?::uuid and (o.status <> 'active' or w.is_active is false)))`;

/** Writes one audit entry in the transaction of the change it records; returns its id. */
export async function writeAudit(tx: TenantTransaction, options: AuditOptions): Promise<string> {
  const id = newId();
  await change(tx.em, ...statementOf(tx, id, options));
  return id;
}

/** The same, sent together with the next statement or the commit. */
export async function queueAudit(tx: TenantTransaction, options: AuditOptions): Promise<void> {
  await queueStatement(tx.em, ...statementOf(tx, newId(), options));
}

function statementOf(
  { actor, tenant, correlationId }: TenantTransaction,
  id: string,
  { action, operationId, note, ip, userAgent, outcome = 'success', demandsOpen = false }: AuditOptions,
): [sql: string, params: unknown[]] {
  const organizationId = note.organizationId === undefined ? tenant.organizationId : note.organizationId;

  return [
    `insert into audit_entries (id, created_at, organization_id, workspace_id, actor_kind, actor_id, actor_role, acting_user_id, impersonation_id,
       action, resource_type, resource_id, resource_label, outcome, changes, operation_id, correlation_id, ip, user_agent)
     select ?::uuid, clock_timestamp(), ?::uuid, ?::uuid, ?, ?::uuid, ?, ?::uuid, ?::uuid, ?, ?, ?, ?, ?, ?::jsonb, ?, ?::uuid, ?, ?${demandsOpen ? ` where ${whereOpen}` : ''}`,
    [
      id,
      organizationId,
      note.workspaceId ?? null,
      actor.kind,
      actor.id,
      actor.role,
      actor.actingUserId,
      actor.impersonationId,
      action,
      note.resourceType.slice(0, 60),
      cut(note.resourceId, 200),
      personal.has(note.resourceType) ? null : cut(note.label, 200),
      outcome,
      JSON.stringify(boundedChanges(note.changes ?? {})),
      cut(operationId, 100),
      correlationId,
      ip,
      cut(userAgent, 400),
      ...(demandsOpen ? [note.workspaceId ?? null, organizationId] : []),
    ],
  ];
}

/** Returns the changes as they are stored: at most 50 fields, values of 500 characters, 16 KiB in all; omissions are marked `truncated`. */
export function boundedChanges(changes: Readonly<Record<string, AuditChange>>): Record<string, unknown> {
  const fields = Object.entries(changes);
  const kept: Record<string, unknown> = {};
  let bytes = 2;

  for (const [name, value] of fields.slice(0, maxFields)) {
    const bounded = boundedChange(name, value);
    bytes += Buffer.byteLength(JSON.stringify({ [name]: bounded }));
    // Leaves bytes for the mark itself.
    if (bytes > maxBytes - 32) return { ...kept, truncated: true };
    kept[name] = bounded;
  }
  return fields.length > maxFields ? { ...kept, truncated: true } : kept;
}

function boundedChange(name: string, value: AuditChange): AuditChange & { truncated?: true } {
  if (value.changed || unspoken.test(name)) return { changed: true };
  const from = boundedValue(asWritten(name, value.from));
  const to = boundedValue(asWritten(name, value.to));
  return { from: from.value, to: to.value, ...(from.isTruncated || to.isTruncated ? { truncated: true } : {}) };
}

const timeField = /_(at|after|before|until)$/;
const timeText = /^\d{4}-\d\d-\d\d[ T]/;

/** Returns a time in its wire form, whether it came from the database, an entity or the caller. Text in another field may only look like one. */
function asWritten(name: string, value: unknown): unknown {
  if (value instanceof Date) return iso(value);
  return typeof value === 'string' && timeField.test(name) && timeText.test(value) && !Number.isNaN(Date.parse(value)) ? iso(value) : value;
}

function boundedValue(value: unknown): { value: unknown; isTruncated: boolean } {
  if (value === undefined || value === null) return { value: null, isTruncated: false };
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= maxValueLength
    ? { value, isTruncated: false }
    : { value: text.slice(0, maxValueLength).toWellFormed(), isTruncated: true };
}

function cut(text: string | null | undefined, length: number): string | null {
  return text === null || text === undefined ? null : text.slice(0, length).toWellFormed();
}
