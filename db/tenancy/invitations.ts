import { assertPlaceActive } from '../frozen.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { newId } from '../ids.ts';
import type { KeyRing } from '../identity/key-ring.ts';
import type { MadeBy } from '../identity/maker.ts';
import { addMail } from '../mail.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import type { Caller } from '../caller.ts';
import { isUnbounded, organizationOf, refuseRank, workspacesAtFloor, workspacesOf } from '../reach.ts';
import type { Changing, Predicate, Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Invitation } from './invitation.entity.ts';
import { refuseHigherRank, refuseUnattended } from './rank-rules.ts';

/** As views show it: `expired` is computed, by the database's clock. */
export const invitationStatuses = ['pending', 'accepted', 'revoked', 'expired'] as const;
export type InvitationStatus = (typeof invitationStatuses)[number];

/** An invitation as it is read. */
export interface InvitationRow {
  readonly id: string;
  readonly email: string;
  readonly role: Invitation['role'];
  readonly scope: Invitation['scope'];
  readonly organization_id: string;
  readonly workspace_id: string | null;
  readonly status: InvitationStatus;
  readonly invited_by_user_id: string | null;
  readonly expires_at: Date | string;
  readonly sent_at: Date | string | null;
  readonly send_count: number;
  readonly accepted_at: Date | string | null;
  readonly accepted_user_id: string | null;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

/** An invitation under its row's lock. */
export interface LockedInvitation extends InvitationRow {
  readonly resend_count: number;
  /** Seconds until it may be sent again; 0: now. */
  readonly wait_s: number;
  /** Days that the organization gives a new token. */
  readonly invitation_days: number;
  /** Domains that the organization admits today; none: any. */
  readonly email_domains: readonly string[];
}

/** A new invitation, whose rules have been kept. */
interface NewInvitation {
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly scope: Invitation['scope'];
  /** Normalized. */
  readonly email: string;
  readonly role: Invitation['role'];
  readonly invitedByUserId: string | null;
  /** Null: a person's session invites, or the deployment itself. */
  readonly madeBy: MadeBy | null;
  readonly invitationDays: number;
}

/** Once a minute, ten times in all. */
const resendWaitSeconds = 60;
export const maxResends = 10;

const status = "case when i.status = 'pending' and i.expires_at <= now() then 'expired' else i.status end";
const before = ['id', 'email', 'role', 'scope', 'organization_id', 'workspace_id'].map((name) => `i.${name}`).join(', ');
const after = ['invited_by_user_id', 'expires_at', 'sent_at', 'send_count', 'accepted_at', 'accepted_user_id', 'created_at', 'updated_at']
  .map((name) => `i.${name}`)
  .join(', ');
const columns = `${before}, ${status} as status, ${after}`;

/** Which invitations a caller sees, over `invitations i`: those of `workspaceIds`; the organization's own only callers of all of it. */
function invitationsSeenBy(caller: Caller, workspaceIds: readonly string[] | null): Predicate {
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  const organizationId = organizationOf(caller);

  if (workspaceIds === null) return { sql: 'i.organization_id = ?::uuid', params: [organizationId] };
  return { sql: '(i.organization_id = ?::uuid and i.workspace_id = any(?::uuid[]))', params: [organizationId, workspaceIds] };
}

/** One invitation that the caller sees. Throws 404; 403 in a workspace where the caller's rank is below the floor. */
export async function seeInvitation(ctx: Pick<Changing, 'caller' | 'floor' | 'em'>, id: string): Promise<InvitationRow> {
  const visible = invitationsSeenBy(ctx.caller, workspacesOf(ctx.caller));
  const found = await row<InvitationRow>(ctx.em, `select ${columns} from invitations i where i.id = ? and ${visible.sql}`, [
    id,
    ...visible.params,
  ]);
  if (!found) throw fail('not_found');
  refuseRank(ctx.caller, found.workspace_id ?? '', ctx.floor);
  return found;
}

/** Invitations that the caller sees where its rank reaches the floor, newest first. */
export function listInvitationRows(
  ctx: Scoped & Pick<Changing, 'floor'>,
  filters: { readonly status?: InvitationStatus; readonly workspace_id?: string },
  page: PageRequest,
): Promise<Page<InvitationRow>> {
  const visible = invitationsSeenBy(ctx.caller, workspacesAtFloor(ctx.caller, ctx.floor));
  const where = [visible.sql];
  const params: unknown[] = [...visible.params];
  if (filters.status !== undefined) {
    where.push(`${status} = ?`);
    params.push(filters.status);
  }
  if (filters.workspace_id !== undefined) {
    where.push('i.workspace_id = ?::uuid');
    params.push(filters.workspace_id);
  }
  return fetchPage<InvitationRow>(ctx.em, {
    select: columns,
    from: 'invitations i',
    where: where.join(' and '),
    params,
    order: [{ column: 'i.id', type: 'uuid', descending: true }],
    page,
  });
}

interface LockOptions {
  readonly openWhenFrozen?: boolean;
  /** It will count as pending anew: the organization is locked first, in the order of whoever invites. */
  readonly mayCountAgain?: boolean;
}

/**
 * Loads and locks an invitation for a change. In this order: 404, 403 below the floor there and for an invitation to a rank above the
 * caller's own or, by a key, above member, 423 in a frozen place (unless `openWhenFrozen`).
 */
export async function lockInvitation(
  ctx: Changing,
  id: string,
  { openWhenFrozen = false, mayCountAgain = false }: LockOptions = {},
): Promise<LockedInvitation> {
  if (mayCountAgain) {
    await row(ctx.em, 'select id from organizations where id = (select organization_id from invitations where id = ?) for no key update', [
      id,
    ]);
  }
  const visible = invitationsSeenBy(ctx.caller, workspacesOf(ctx.caller));
  const found = await row<LockedInvitation & { readonly organization_status: string; readonly is_home_active: boolean | null }>(
    ctx.em,
    `select ${columns}, i.resend_count, s.invitation_days, to_jsonb(s.allowed_email_domains) as email_domains, o.status as organization_status, w.is_active as is_home_active,
       case when i.resend_count = 0 then 0 else greatest(0, ceil(extract(epoch from
         i.queued_at + interval '${resendWaitSeconds} seconds' - clock_timestamp())))::int end as wait_s
     from invitations i join organizations o on o.id = i.organization_id
       join organization_settings s on s.organization_id = i.organization_id left join workspaces w on w.id = i.workspace_id
     where i.id = ? and ${visible.sql} for no key update of i`,
    [id, ...visible.params],
  );
  if (!found) throw fail('not_found');

  refuseRank(ctx.caller, found.workspace_id ?? '', ctx.floor);
  refuseUnattended(ctx.caller, found.role);
  refuseHigherRank(ctx.caller, found.role, found.workspace_id);
  if (!openWhenFrozen) assertPlaceActive(found.organization_status, found.is_home_active);
  return found;
}

/**
 * Writes an invitation and the mail that carries its token; gives the row. Null when one of the same address is pending in the
 * organization, and not over. Checks nobody's rights.
 */
export async function writeInvitation(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  invitation: NewInvitation,
): Promise<InvitationRow | null> {
  const { organizationId, workspaceId, email } = invitation;
  const id = newId();
  const { tokenHash } = await addMail(tx, keys, {
    mail: { template: 'invitation', invitationId: id },
    home: { organizationId, workspaceId },
  });
  const written = await insert(tx, { ...invitation, id, tokenHash });
  if (written) return written;

  // It may be over, in a workspace that the caller doesn't see.
  const freed = await row<{ is_freed: boolean }>(tx.em, 'select gate_expire_invitation(?::uuid, ?) as is_freed', [organizationId, email]);
  return freed?.is_freed ? insert(tx, { ...invitation, id, tokenHash }) : null;
}

/**
 * Gives a locked invitation a new token and end, and mails it; the old token is dead with this statement. Whoever sends it anew vouches for it from
 * now on.
 */
export async function renewInvitation(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { locked, ...by }: { readonly locked: LockedInvitation } & Pick<NewInvitation, 'invitedByUserId' | 'madeBy'>,
): Promise<InvitationRow> {
  const { tokenHash } = await addMail(tx, keys, {
    mail: { template: 'invitation', invitationId: locked.id },
    home: { organizationId: locked.organization_id, workspaceId: locked.workspace_id },
  });
  return changed(tx, locked.id, {
    sql: `token_hash = ?, expires_at = now() + make_interval(days => ?), queued_at = clock_timestamp(), resend_count = i.resend_count + 1,
      invited_by_user_id = ?, credential_kind = ?, credential_id = ?::uuid, unvouched_at = null`,
    params: [tokenHash, locked.invitation_days, by.invitedByUserId, by.madeBy?.kind ?? null, by.madeBy?.id ?? null],
  });
}

/** Ends a locked invitation: its token is dead. */
export function setRevoked(tx: TenantTransaction, invitationId: string): Promise<InvitationRow> {
  return changed(tx, invitationId, { sql: "status = 'revoked'", params: [] });
}

function insert(
  tx: TenantTransaction,
  {
    id,
    organizationId,
    workspaceId,
    scope,
    email,
    role,
    tokenHash,
    invitedByUserId,
    madeBy,
    invitationDays,
  }: NewInvitation & { id: string; tokenHash: Buffer },
): Promise<InvitationRow | null> {
  return row<InvitationRow>(
    tx.em,
    `insert into invitations as i (id, organization_id, workspace_id, scope, email, role, token_hash, invited_by_user_id, credential_kind, credential_id, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?::uuid, now() + make_interval(days => ?))
     on conflict (organization_id, email) where status = 'pending' do nothing returning ${columns}`,
    [
      id,
      organizationId,
      workspaceId,
      scope,
      email,
      role,
      tokenHash,
      invitedByUserId,
      madeBy?.kind ?? null,
      madeBy?.id ?? null,
      invitationDays,
    ],
  );
}

async function changed(tx: TenantTransaction, id: string, set: Predicate): Promise<InvitationRow> {
  const written = await row<InvitationRow>(
    tx.em,
    `update invitations i set ${set.sql}, version = i.version + 1, updated_at = clock_timestamp()
      where i.id = ? and i.status = 'pending' returning ${columns}`,
    [...set.params, id],
  );
  if (!written) throw new Error('a locked invitation was not changed');
  return written;
}
