import { fail } from '../../../workflows/contracts/failure.ts';
import { fetchPage } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import type { Caller } from '../../caller.ts';
import { isUnbounded, organizationOf, refuseRank, workspacesAtFloor, workspacesOf } from '../../reach.ts';
import type { Changing, Predicate, Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { Invitation } from './invitation.entity.ts';

/** As views show it: `expired` is computed by the database's clock. */
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
  /** Lifetime in days that the organization sets for a new token. */
  readonly invitation_days: number;
  /** Domains that the organization allows today; empty: any. */
  readonly email_domains: readonly string[];
}

/** Seconds between two mails of one invitation. */
const resendWaitSeconds = 60;

const status = "case when i.status = 'pending' and i.expires_at <= now() then 'expired' else i.status end";
const before = ['id', 'email', 'role', 'scope', 'organization_id', 'workspace_id'].map((name) => `i.${name}`).join(', ');
const after = ['invited_by_user_id', 'expires_at', 'sent_at', 'send_count', 'accepted_at', 'accepted_user_id', 'created_at', 'updated_at']
  .map((name) => `i.${name}`)
  .join(', ');
export const columns = `${before}, ${status} as status, ${after}`;

/** Which invitations a caller sees, over `invitations i`: those of `workspaceIds`; only callers of the whole organization see its own. */
function invitationsSeenBy(caller: Caller, workspaceIds: readonly string[] | null): Predicate {
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  const organizationId = organizationOf(caller);

  if (workspaceIds === null) return { sql: 'i.organization_id = ?::uuid', params: [organizationId] };
  return { sql: '(i.organization_id = ?::uuid and i.workspace_id = any(?::uuid[]))', params: [organizationId, workspaceIds] };
}

/** Returns one invitation that the caller sees. Throws 404; 403 in a workspace where the caller's rank is below the floor. */
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

/** Returns the invitations that the caller sees where its rank reaches the floor, newest first. */
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

/** Locks the organization of an invitation. */
export async function lockOrganizationOfInvitation(tx: Pick<TenantTransaction, 'em'>, id: string): Promise<void> {
  await row(tx.em, 'select id from organizations where id = (select organization_id from invitations where id = ?) for no key update', [
    id,
  ]);
}

/** Returns one invitation that the caller sees, locked, with the state of the organization and workspace it leads to; null when there is none. */
export function findInvitationForChange(
  ctx: Scoped,
  id: string,
): Promise<(LockedInvitation & { readonly organization_status: string; readonly is_home_active: boolean | null }) | null> {
  const visible = invitationsSeenBy(ctx.caller, workspacesOf(ctx.caller));
  return row<LockedInvitation & { readonly organization_status: string; readonly is_home_active: boolean | null }>(
    ctx.em,
    `select ${columns}, i.resend_count, s.invitation_days, to_jsonb(s.allowed_email_domains) as email_domains, o.status as organization_status, w.is_active as is_home_active,
       case when i.resend_count = 0 then 0 else greatest(0, ceil(extract(epoch from
         i.queued_at + interval '${resendWaitSeconds} seconds' - clock_timestamp())))::int end as wait_s
     from invitations i join organizations o on o.id = i.organization_id
       join organization_settings s on s.organization_id = i.organization_id left join workspaces w on w.id = i.workspace_id
     where i.id = ? and ${visible.sql} for no key update of i`,
    [id, ...visible.params],
  );
}
