import { sql } from 'kysely';
import { activeCreator, credentialOf, type Credential } from '../../identity/people/creator.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
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
export type Situation = Awaited<ReturnType<typeof situationOf>>;

/** Returns how many invitations of an organization are pending and not expired, including those that the caller doesn't see. */
export async function countPending(tx: TenantTransaction, organizationId: string): Promise<number> {
  const counted = await row(tx.em, query.selectNoFrom(pendingOf(organizationId).as('pending')));
  return counted?.pending ?? 0;
}

function pendingOf(organizationId: unknown) {
  return sql<number>`gate_pending_invitations(${organizationId}::uuid)`;
}

/** The earlier invitation of an address, as JSON. */
type Earlier = Pick<InvitationRow, 'id' | 'role' | 'workspaceId'> & { readonly isOver: boolean };

const situation = prepared(({ organizationId, email, ...credential }: ParametersOf<Addressee & Credential>) =>
  query
    .with(
      (cte) => cte('maker').materialized(),
      () => activeCreator(credential),
    )
    .selectNoFrom(({ exists, selectFrom }) => [
      pendingOf(organizationId).as('pending'),
      exists(
        selectFrom('users as u')
          .select('u.id')
          .where('u.organizationId', '=', organizationId)
          .where('u.email', '=', email)
          .where('u.deletedAt', 'is', null),
      )
        .$castTo<boolean>()
        .as('isMember'),
      exists(selectFrom('maker').select('maker.userId')).$castTo<boolean>().as('hasMaker'),
      selectFrom('maker').select('maker.userId').as('inviterId'),
      sql<Earlier | null>`(
        select jsonb_build_object('id', i.id, 'role', i.role, 'workspaceId', i.workspace_id, 'isOver', i.expires_at <= now())
        from invitations i where i.organization_id = ${organizationId} and i.email = ${email} and i.status = 'pending' for no key update)`.as(
        'earlier',
      ),
    ]),
);

/** Returns the facts that can prevent an invitation; locks an earlier invitation of the address and the inviting person with their credential. */
export async function situationOf(ctx: Changing, { organizationId, email }: Addressee) {
  const found = await row(ctx.em, situation({ organizationId, email, ...credentialOf(ctx.caller) }));
  if (!found) throw new Error('a select without a table gave no row');
  return found;
}
