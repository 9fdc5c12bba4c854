import { type Expression, sql, type SqlBool } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Maximum number of admins notified of one alert: those with the lowest ids. */
export const maxReaders = 100;

interface Place {
  readonly organizationId: string;
  /** Null: the alert is the organization's. */
  readonly workspaceId: string | null;
}

/** Returns the ids of the active admins and owners who see the workspace of an alert, or the organization where it has none. */
export async function adminsOf(tx: Pick<TenantTransaction, 'em'>, place: Place): Promise<string[]> {
  const found = await rows(tx.em, readAdmins(argumentsOf(place)));
  return found.map(({ id }) => id);
}

/** Returns those of the given users who are active and see the workspace of an alert, with their addresses. */
export async function readersAmong(
  tx: Pick<TenantTransaction, 'em'>,
  place: Place,
  userIds: readonly string[],
): Promise<{ id: string; email: string; fullName: string | null }[]> {
  return rows(tx.em, readReaders({ ...argumentsOf(place), userIds: `{${userIds.join(',')}}` }));
}

interface Sight {
  readonly organizationId: string;
  readonly workspaceId: string | undefined;
}

function argumentsOf({ organizationId, workspaceId }: Place): Sight {
  return { organizationId, workspaceId: workspaceId ?? undefined };
}

const readAdmins = prepared((sight: ParametersOf<Sight>) =>
  readersFrom(sight, (role) => sql<SqlBool>`${role} in ('admin', 'owner')`)
    .select('u.id')
    .orderBy('u.id')
    .limit(sql.lit(maxReaders)),
);

const readReaders = prepared(({ userIds, ...sight }: ParametersOf<Sight & { readonly userIds: string }>) =>
  readersFrom(sight, () => sql<SqlBool>`true`)
    .where(({ eb, ref }) => eb(ref('u.id'), '=', sql<string>`any (${userIds}::uuid[])`))
    .select(['u.id', 'u.email', 'u.fullName']),
);

/** Active users whose role in the workspace or organization they see satisfies `counts`. */
function readersFrom({ organizationId, workspaceId }: ParametersOf<Sight>, counts: (role: Expression<string>) => Expression<SqlBool>) {
  return query
    .selectFrom('users as u')
    .where('u.organizationId', '=', organizationId)
    .where('u.isActive', '=', sql.lit(true))
    .where('u.deletedAt', 'is', null)
    .where(({ eb, ref, or, and, exists, selectFrom }) => {
      const isEverywhere = and([eb('u.scope', '=', sql.lit('organization' as const)), counts(ref('u.role'))]);
      if (!workspaceId) return isEverywhere;
      return or([
        isEverywhere,
        and([eb('u.workspaceId', '=', workspaceId), counts(ref('u.role'))]),
        exists(
          selectFrom('workspace_grants as g')
            .select(sql.lit(1).as('one'))
            .whereRef('g.userId', '=', 'u.id')
            .where('g.workspaceId', '=', workspaceId)
            .where(({ ref: inGrant }) => counts(inGrant('g.role'))),
        ),
      ]);
    });
}
