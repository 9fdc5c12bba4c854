import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { makerGone, standingMaker } from '../identity/maker.ts';
import { workspacesOf } from '../reach.ts';
import type { Changing } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { setRevoked, type InvitationRow } from './invitations.ts';
import { maySetUnattended, rankAt } from './rank-rules.ts';

/** Pending invitations of an organization. */
const maxPending = 100;

interface Addressee {
  readonly organizationId: string;
  readonly email: string;
}

interface Situation {
  readonly pending: number;
  readonly is_member: boolean;
  readonly has_maker: boolean;
  readonly inviter_id: string | null;
  readonly earlier: (Pick<InvitationRow, 'id' | 'role' | 'workspace_id'> & { readonly is_over: boolean }) | null;
}

/**
 * Makes room for an invitation, in an organization that the transaction has locked: an earlier one of the address is revoked. Gives the person who
 * invites; behind a service key stands its maker. 409 `already_exists` for a user of the organization, and where the earlier one is not the
 * caller's to change; `limit_reached` beyond 100 pending. 401 when the one who invites has ended meanwhile.
 */
export async function prepareInvitation(ctx: Changing, addressee: Addressee): Promise<string | null> {
  const { pending, is_member: isMember, has_maker: hasMaker, inviter_id: inviterId, earlier } = await situationOf(ctx, addressee);

  if (!hasMaker) throw makerGone();
  if (isMember) throw taken();
  // One that is over holds its address no longer, whoever may change it.
  if (earlier && !earlier.is_over && !mayChange(ctx, earlier)) throw taken();
  refuseMorePending(earlier && !earlier.is_over ? pending - 1 : pending);
  if (earlier) await setRevoked(ctx, earlier.id);
  return inviterId;
}

/** 409 `already_exists`: somebody of this address is there, or is invited. */
export function taken() {
  return fail('already_exists', { context: { field: 'email' } });
}

/** 409 `limit_reached` when as many are pending, besides the one that is about to be. */
export function refuseMorePending(pending: number): void {
  if (pending >= maxPending)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `an organization has at most ${maxPending} pending invitations` });
}

/** How many invitations of an organization are pending and not over, those among them that the caller doesn't see. */
export async function countPending(tx: TenantTransaction, organizationId: string): Promise<number> {
  const counted = await row<{ pending: number }>(tx.em, 'select gate_pending_invitations(?) as pending', [organizationId]);
  return counted?.pending ?? 0;
}

async function situationOf(ctx: Changing, { organizationId, email }: Addressee): Promise<Situation> {
  const maker = standingMaker(ctx.caller);
  const found = await row<Situation>(
    ctx.em,
    `with maker as materialized (${maker.sql})
     select gate_pending_invitations(?) as pending,
       exists (select from users u where u.organization_id = ? and u.email = ? and u.deleted_at is null) as is_member,
       exists (select from maker) as has_maker, (select user_id from maker) as inviter_id,
       (select jsonb_build_object('id', i.id, 'role', i.role, 'workspace_id', i.workspace_id, 'is_over', i.expires_at <= now())
          from invitations i where i.organization_id = ? and i.email = ? and i.status = 'pending' for no key update) as earlier`,
    [...maker.params, organizationId, organizationId, email, organizationId, email],
  );
  if (!found) throw new Error('a select without a table gave no row');
  return found;
}

// That of a workspace out of the caller's sight isn't found above; it meets the unique key.
function mayChange({ caller, floor }: Changing, earlier: NonNullable<Situation['earlier']>): boolean {
  const isOutOfReach = earlier.workspace_id === null && workspacesOf(caller) !== null;
  const rank = rankOf(rankAt(caller, earlier.workspace_id));
  return !isOutOfReach && maySetUnattended(caller, earlier.role) && rank >= rankOf(floor ?? 'admin') && rank >= rankOf(earlier.role);
}
