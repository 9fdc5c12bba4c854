import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../caller.ts';
import { workspacesOf } from '../reach.ts';
import type { Changing } from '../scope.ts';
import { row } from '../sql.ts';
import type { Unit } from '../unit.ts';
import { setRevoked, type InvitationRow } from './invitations.ts';
import { rankAt } from './rank-rules.ts';

/** Pending invitations of an organization. */
const mostPending = 100;

interface Addressee {
  readonly organizationId: string;
  readonly email: string;
}

interface Situation {
  readonly pending: number;
  readonly is_member: boolean;
  readonly inviter_id: string | null;
  readonly earlier: (Pick<InvitationRow, 'id' | 'role' | 'workspace_id'> & { readonly is_over: boolean }) | null;
}

/**
 * Makes room for an invitation, in an organization that the transaction has locked: an earlier one of the address is revoked. Gives the person who
 * invites; behind a service key stands its maker. 409 `already_exists` for a user of the organization, and where the earlier one is not the
 * caller's to change; `limit_reached` beyond 100 pending.
 */
export async function prepareInvitation(ctx: Changing, addressee: Addressee): Promise<string | null> {
  const { pending, is_member: isMember, inviter_id: inviterId, earlier } = await situationOf(ctx, addressee);

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
  if (pending >= mostPending)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `an organization has at most ${mostPending} pending invitations` });
}

/** How many invitations of an organization are pending and not over, those among them that the caller doesn't see. */
export async function countPending(unit: Unit, organizationId: string): Promise<number> {
  const counted = await row<{ pending: number }>(unit.em, 'select gate_pending_invitations(?) as pending', [organizationId]);
  return counted?.pending ?? 0;
}

async function situationOf(ctx: Changing, { organizationId, email }: Addressee): Promise<Situation> {
  const { caller } = ctx;
  const found = await row<Situation>(
    ctx.em,
    `select gate_pending_invitations(?) as pending,
       exists (select from users u where u.organization_id = ? and u.email = ? and u.deleted_at is null) as is_member,
       coalesce(?::uuid, (select k.created_by_user_id from service_keys k where k.id = ?::uuid)) as inviter_id,
       (select jsonb_build_object('id', i.id, 'role', i.role, 'workspace_id', i.workspace_id, 'is_over', i.expires_at <= now())
          from invitations i where i.organization_id = ? and i.email = ? and i.status = 'pending' for no key update) as earlier`,
    [organizationId, organizationId, email, caller.userId, keyIdOf(caller), organizationId, email],
  );
  if (!found) throw new Error('a select without a table gave no row');
  return found;
}

function keyIdOf(caller: Caller): string | null {
  return caller.kind === 'service_key' ? caller.principalId : null;
}

// That of a workspace out of the caller's sight isn't found above; it meets the unique key.
function mayChange({ caller, floor }: Changing, earlier: NonNullable<Situation['earlier']>): boolean {
  const isOutOfReach = earlier.workspace_id === null && workspacesOf(caller) !== null;
  const rank = rankOf(rankAt(caller, earlier.workspace_id));
  return !isOutOfReach && rank >= rankOf(floor ?? 'admin') && rank >= rankOf(earlier.role);
}
