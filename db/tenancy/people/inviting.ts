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

/** The facts that can prevent an invitation. */
export interface Situation {
  readonly pending: number;
  readonly is_member: boolean;
  readonly has_maker: boolean;
  readonly inviter_id: string | null;
  readonly earlier: (Pick<InvitationRow, 'id' | 'role' | 'workspace_id'> & { readonly is_over: boolean }) | null;
}

/** Returns how many invitations of an organization are pending and not expired, including those that the caller doesn't see. */
export async function countPending(tx: TenantTransaction, organizationId: string): Promise<number> {
  const counted = await row<{ pending: number }>(tx.em, 'select gate_pending_invitations(?) as pending', [organizationId]);
  return counted?.pending ?? 0;
}

/** Returns the facts that can prevent an invitation; locks an earlier invitation of the address and the inviting person with their credential. */
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
