import { type Selectable, sql } from 'kysely';
import { newId } from '../ids.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, iso, queueStatement } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Tables } from '../table-types.ts';
import type { auditActions } from './audit-entry.entity.ts';
import { unsealedColumns } from './entry-form.ts';

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

type Columns = Pick<Selectable<Tables['audit_entries']>, (typeof unsealedColumns)[number]>;
/** `changes` as JSON; `demandsOpen` refuses the entry where its organization or workspace is closed. */
type WrittenEntry = Omit<Columns, 'createdAt' | 'changes'> & { readonly changes: string; readonly demandsOpen: true | undefined };

const insertEntry = prepared((entry: ParametersOf<WrittenEntry>) => {
  const text = <N extends keyof Columns & keyof typeof entry>(name: N) => sql<Columns[N]>`${entry[name]}::text`.as<N>(name);
  const uuid = <N extends keyof Columns & keyof typeof entry>(name: N) => sql<Columns[N]>`${entry[name]}::uuid`.as<N>(name);

  const written = query
    .selectNoFrom([uuid('id'), sql<string>`clock_timestamp()`.as('createdAt'), uuid('organizationId'), uuid('workspaceId')])
    .select([text('actorKind'), uuid('actorId'), text('actorRole'), uuid('actingUserId'), uuid('impersonationId')])
    .select([text('action'), text('resourceType'), text('resourceId'), text('resourceLabel'), text('outcome')])
    .select([sql<Columns['changes']>`${entry.changes}::jsonb`.as('changes'), text('operationId'), uuid('correlationId')])
    .select([text('ip'), text('userAgent')]);
  return query
    .insertInto('audit_entries')
    .columns(unsealedColumns)
    .expression(entry.demandsOpen ? written.where(isOpen(entry)) : written);
});

/** Refuses the statement where the organization is not active or the workspace is archived: one statement for both, since every write has this one anyway. */
function isOpen({ organizationId, workspaceId }: Pick<ParametersOf<WrittenEntry>, 'organizationId' | 'workspaceId'>) {
  return sql<boolean>`app_refuse('LH423', (
    select case when o.status <> 'active' then 'organization_' || o.status else 'workspace_archived' end
      from organizations o left join workspaces w on w.id = ${workspaceId}::uuid
     where o.id = ${organizationId}::uuid and (o.status <> 'active' or w.is_active is false)))`;
}

/** Writes one audit entry in the transaction of the change it records; returns its id. */
export async function writeAudit(tx: TenantTransaction, options: AuditOptions): Promise<string> {
  const id = newId();
  await change(tx.em, insertEntry(entryOf(tx, id, options)));
  return id;
}

/** The same, sent together with the next statement or the commit. */
export async function queueAudit(tx: TenantTransaction, options: AuditOptions): Promise<void> {
  await queueStatement(tx.em, insertEntry(entryOf(tx, newId(), options)));
}

function entryOf(
  { actor, tenant, correlationId }: TenantTransaction,
  id: string,
  { action, operationId, note, ip, userAgent, outcome = 'success', demandsOpen = false }: AuditOptions,
): WrittenEntry {
  return {
    id,
    organizationId: note.organizationId === undefined ? tenant.organizationId : note.organizationId,
    workspaceId: note.workspaceId ?? null,
    actorKind: actor.kind,
    actorId: actor.id,
    actorRole: actor.role,
    actingUserId: actor.actingUserId,
    impersonationId: actor.impersonationId,
    action,
    resourceType: note.resourceType.slice(0, 60),
    resourceId: cut(note.resourceId, 200),
    resourceLabel: personal.has(note.resourceType) ? null : cut(note.label, 200),
    outcome,
    changes: JSON.stringify(boundedChanges(note.changes ?? {})),
    operationId: cut(operationId, 100),
    correlationId,
    ip,
    userAgent: cut(userAgent, 400),
    demandsOpen: demandsOpen || undefined,
  };
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
