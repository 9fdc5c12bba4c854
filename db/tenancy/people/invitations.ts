import { sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import { Condition } from '../../condition.ts';
import { preparedList } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import type { Caller } from '../../caller.ts';
import type { ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { isUnbounded, organizationOf, refuseRank, workspacesAtFloor, workspacesOf } from '../../caller-scope.ts';
import type { Changing, Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** As views show it: `expired` is computed by the database's clock. */
export const invitationStatuses = ['pending', 'accepted', 'revoked', 'expired'] as const;
export type InvitationStatus = (typeof invitationStatuses)[number];

/** An invitation as it is read. */
export type InvitationRow = Awaited<ReturnType<typeof seeInvitation>>;

/** An invitation under its row's lock, with the state of the organization and workspace it leads to. */
export type LockedInvitation = NonNullable<Awaited<ReturnType<typeof findInvitationForChange>>>;

/** Seconds between two mails of one invitation. */
const resendWaitSeconds = 60;

/** The columns of an invitation as it is read; `statusOf` completes them. */
export const invitationColumns = [
  'id',
  'email',
  'role',
  'scope',
  'organizationId',
  'workspaceId',
  'invitedByUserId',
  'expiresAt',
  'sentAt',
  'sendCount',
  'acceptedAt',
  'acceptedUserId',
  'createdAt',
  'updatedAt',
] as const;

/** The status of an invitation as views show it; `table`: its alias, or the table itself. */
export function statusOf(table: 'i' | 'invitations') {
  const stored = sql.ref(`${table}.status`);
  return sql<InvitationStatus>`case when ${stored} = 'pending' and ${sql.ref(`${table}.expiresAt`)} <= now() then 'expired' else ${stored} end`;
}

/** Which invitations a caller sees, over `invitations i`: those of `workspaceIds`; only callers of the whole organization see its own. */
function invitationsSeenBy(caller: Caller, workspaceIds: readonly string[] | null): Condition {
  if (isUnbounded(caller)) return new Condition('true');
  const organizationId = organizationOf(caller);

  if (workspaceIds === null) return new Condition('i.organization_id = ?::uuid', [organizationId]);
  return new Condition('(i.organization_id = ?::uuid and i.workspace_id = any(?::uuid[]))', [organizationId, workspaceIds]);
}

/** Returns one invitation that the caller sees. Throws 404; 403 in a workspace where the caller's rank is below the floor. */
export async function seeInvitation(ctx: Pick<Changing, 'caller' | 'floor' | 'em'>, id: string) {
  const found = await row(
    ctx.em,
    query
      .selectFrom('invitations as i')
      .select(invitationColumns)
      .select(statusOf('i').as('status'))
      .where('i.id', '=', id)
      .where(invitationsSeenBy(ctx.caller, workspacesOf(ctx.caller))),
  );
  if (!found) throw fail('not_found');
  refuseRank(ctx.caller, found.workspaceId ?? '', ctx.floor);
  return found;
}

interface InvitationFilters {
  readonly status?: InvitationStatus;
  readonly workspaceId?: string;
}

const listed = preparedList(
  ({ visible, status, workspaceId }: ParametersOf<InvitationFilters & { readonly visible: Condition }>) => {
    let invitations = query.selectFrom('invitations as i').select(invitationColumns).select(statusOf('i').as('status')).where(visible);
    if (status) invitations = invitations.where(statusOf('i'), '=', status);
    if (workspaceId) invitations = invitations.where('i.workspaceId', '=', workspaceId);
    return invitations;
  },
  [{ column: 'i.id', type: 'uuid', descending: true }],
);

/** Returns the invitations that the caller sees where its rank reaches the floor, newest first. */
export function listInvitationRows(
  ctx: Scoped & Pick<Changing, 'floor'>,
  { status, workspaceId }: InvitationFilters,
  page: PageRequest,
): Promise<Page<InvitationRow>> {
  const visible = invitationsSeenBy(ctx.caller, workspacesAtFloor(ctx.caller, ctx.floor));
  return listed(ctx.em, { status, workspaceId, visible }, page);
}

/** Locks the organization of an invitation. */
export async function lockOrganizationOfInvitation(tx: Pick<TenantTransaction, 'em'>, id: string): Promise<void> {
  const organizationId = query.selectFrom('invitations as i').select('i.organizationId').where('i.id', '=', id);
  await row(tx.em, query.selectFrom('organizations as o').select('o.id').where('o.id', '=', organizationId).forNoKeyUpdate());
}

/**
 * Returns one invitation that the caller sees, locked, with the state of the organization and workspace it leads to; null when there is none. `waitSeconds`:
 * until it may be sent again, 0 for now; `invitationDays`: the lifetime that the organization sets for a new token; `emailDomains`: those that it allows today,
 * empty for any.
 */
export async function findInvitationForChange(ctx: Scoped, id: string) {
  const wait = sql<number>`case when i.resend_count = 0 then 0 else greatest(0, ceil(extract(epoch from
    i.queued_at + make_interval(secs => ${resendWaitSeconds}) - clock_timestamp())))::int end`;
  return row(
    ctx.em,
    query
      .selectFrom('invitations as i')
      .innerJoin('organizations as o', 'o.id', 'i.organizationId')
      .innerJoin('organization_settings as s', 's.organizationId', 'i.organizationId')
      .leftJoin('workspaces as w', 'w.id', 'i.workspaceId')
      .select(invitationColumns.map((name) => `i.${name}` as const))
      .select([statusOf('i').as('status'), 'i.resendCount', 's.invitationDays', 's.allowedEmailDomains as emailDomains'])
      .select(['o.status as organizationStatus', 'w.isActive as isHomeActive', wait.as('waitSeconds')])
      .where('i.id', '=', id)
      .where(invitationsSeenBy(ctx.caller, workspacesOf(ctx.caller)))
      .forNoKeyUpdate('i'),
  );
}
