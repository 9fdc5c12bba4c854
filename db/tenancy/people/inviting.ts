import { activeCreator } from '../../identity/people/creator.ts';
import type { Changing } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { InvitationRow } from './invitations.ts';

/** Who is invited, and to which organization. */
export interface Addressee {
  readonly organizationId: string;
  readonly email: string;
}

/** What stands in the way of an invitation. */
export interface Situation {
  readonly pending: number;
  readonly is_member: boolean;
  readonly has_maker: boolean;
  readonly inviter_id: string | null;
  readonly earlier: (Pick<InvitationRow, 'id' | 'role' | 'workspace_id'> & { readonly is_over: boolean }) | null;
}

/** How many invitations of an organization are pending and not over, those among them that the caller doesn't see. */
export async function countPending(tx: TenantTransaction, organizationId: string): Promise<number> {
  const counted = await row<{ pending: number }>(tx.em, 'select gate_pending_invitations(?) as pending', [organizationId]);
  return counted?.pending ?? 0;
}

/** What stands in the way of an invitation; an earlier one of the address is locked, and so is whoever invites. */
export async function situationOf(ctx: Changing, { organizationId, email }: Addressee): Promise<Situation> {
  const maker = activeCreator(ctx.caller);
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
