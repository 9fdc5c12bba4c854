import { type NotNull, sql } from 'kysely';
import type { Caller } from '../../caller.ts';
import type { Condition } from '../../condition.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import { hasFactor, personOf, userColumns, userColumnsOfU, type UserRow } from './users.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { SessionRow } from '../sessions/session-list.ts';

/** The user who holds the session of a request, also where the tenant doesn't show them; inside an impersonation its target, without a session. */
export interface Holder {
  readonly user: UserRow;
  readonly session: SessionRow | null;
  readonly version: number;
  readonly locale: string | null;
  readonly pendingEmail: string | null;
  readonly isFactorRequired: boolean;
  /** Until when the session counts as freshly verified; null when it doesn't. */
  readonly freshUntil: string | null;
}

/** The credential's holder, the user as whom they act, and the workspaces they see. */
export interface Me {
  readonly holder: Holder | null;
  readonly actingUser: UserRow | null;
  readonly workspaceIds: readonly string[];
  /** Of the user, else of the key. */
  readonly version: number;
}

const shownWorkspacesMax = 1_000;

/** Returns what `/auth/me` shows besides the caller itself, with two statements at most. */
export async function readMe(tx: TenantTransaction, caller: Caller): Promise<Me> {
  const holder = await readShown(tx, caller);
  const needsMore = caller.kind === 'service_key' || caller.actingUserId !== null || caller.workspaces === 'all';
  const more = needsMore ? await readSurroundings(tx, caller) : null;

  return {
    holder,
    actingUser: more?.acting ?? null,
    workspaceIds: caller.workspaces === 'all' ? (more?.workspaceIds ?? []) : [...caller.workspaces.keys()].toSorted(),
    version: holder?.version ?? more?.keyVersion ?? 1,
  };
}

async function readShown(tx: TenantTransaction, caller: Caller): Promise<Holder | null> {
  if (caller.impersonationId !== null) return readTarget(tx, caller.userId);
  return caller.sessionId === null ? null : readHolder(tx, caller.principalId, caller.sessionId);
}

const targetById = prepared(({ userId, own }: ParametersOf<{ readonly userId: string | null; readonly own: Condition }>) =>
  query
    .selectFrom('users as u')
    .leftJoin('user_credentials as c', 'c.userId', 'u.id')
    .leftJoin('organization_settings as st', 'st.organizationId', 'u.organizationId')
    .select(userColumnsOfU)
    .select(({ ref }) => [hasFactor(ref('u.id')).as('mfaEnabled'), 'u.version', 'u.locale', 'c.pendingEmail', 'st.requireMfa'])
    .where('u.id', '=', sql<string>`${userId}::uuid`)
    .where(own),
);

/** Returns the user as whom an operator works. */
async function readTarget(tx: TenantTransaction, userId: string | null): Promise<Holder | null> {
  const found = await row(tx.em, targetById({ userId, own: personOf(tx.tenant, 'u') }));
  if (!found) return null;

  const { version, locale, pendingEmail, requireMfa, ...user } = found;
  return { user, session: null, version, locale, pendingEmail, isFactorRequired: requireMfa ?? false, freshUntil: null };
}

type SnakeCase<S extends string> = S extends `${infer H}${infer T}`
  ? `${H extends Lowercase<H> ? H : `_${Lowercase<H>}`}${SnakeCase<T>}`
  : '';
type Named<T> = { readonly [N in keyof T & string as SnakeCase<N>]: T[N] };

/** What `gate_holder` returns: user and session with the database's names. */
interface HolderAnswer extends Omit<Holder, 'user' | 'session'> {
  readonly user: Named<UserRow>;
  readonly session: Named<SessionRow>;
}

const holderOf = prepared(({ userId, sessionId }: ParametersOf<{ readonly userId: string | null; readonly sessionId: string }>) =>
  query.selectNoFrom(sql<HolderAnswer | null>`gate_holder(${userId}::uuid, ${sessionId}::uuid)`.as('holder')),
);

async function readHolder(tx: TenantTransaction, userId: string | null, sessionId: string): Promise<Holder | null> {
  const found = await row(tx.em, holderOf({ userId, sessionId }));

  return found?.holder ? holderIn(found.holder) : null;
}

function holderIn({ user, session, ...holder }: HolderAnswer): Holder {
  return {
    ...holder,
    user: {
      id: user.id,
      email: user.email,
      fullName: user.full_name,
      role: user.role,
      scope: user.scope,
      organizationId: user.organization_id,
      workspaceId: user.workspace_id,
      isActive: user.is_active,
      mfaEnabled: user.mfa_enabled,
      lastLoginAt: user.last_login_at,
      createdAt: user.created_at,
      updatedAt: user.updated_at,
    },
    session: {
      id: session.id,
      kind: session.kind,
      clientId: session.client_id,
      clientName: session.client_name,
      deviceLabel: session.device_label,
      userAgent: session.user_agent,
      ipTruncated: session.ip_truncated,
      mfaLevel: session.mfa_level,
      verifiedAt: session.verified_at,
      createdAt: session.created_at,
      lastSeenAt: session.last_seen_at,
      expiresAt: session.expires_at,
      revokedAt: session.revoked_at,
    },
  };
}

interface Surroundings {
  /** Whose workspaces are listed; null: none are. */
  readonly shownOrganizationId: string | null;
  readonly serviceKeyId: string | null;
  readonly organizationId: string | null;
  readonly actingUserId: string | null;
  readonly own: Condition;
}

const surroundings = prepared(({ shownOrganizationId, serviceKeyId, organizationId, actingUserId, own }: ParametersOf<Surroundings>) =>
  query
    .selectFrom(query.selectNoFrom(sql.lit(1).as('one')).as('one'))
    .leftJoin(
      query
        .selectFrom('users as u')
        .select(userColumns)
        .select(({ ref }) => hasFactor(ref('u.id')).as('mfaEnabled'))
        .where('u.id', '=', sql<string>`${actingUserId}::uuid`)
        .where(own)
        .as('acting'),
      (join) => join.onTrue(),
    )
    .select(userColumns.map((name) => `acting.${name}` as const))
    .select('acting.mfaEnabled')
    .select(({ selectFrom }) => [
      sql<string[]>`to_jsonb(array(select w.id from workspaces w where w.organization_id = ${shownOrganizationId}::uuid
        order by w.id limit ${sql.lit(shownWorkspacesMax)}))`.as('workspaceIds'),
      selectFrom('service_keys as k')
        .select('k.version')
        .where('k.id', '=', sql<string>`${serviceKeyId}::uuid`)
        .where('k.organizationId', '=', sql<string>`${organizationId}::uuid`)
        .as('keyVersion'),
    ])
    // Null only where no user is acting, which is filtered out.
    .$narrowType<{
      id: NotNull;
      email: NotNull;
      role: NotNull;
      scope: NotNull;
      isActive: NotNull;
      mfaEnabled: NotNull;
      createdAt: NotNull;
      updatedAt: NotNull;
    }>(),
);

async function readSurroundings(
  tx: TenantTransaction,
  { kind, principalId, organizationId, actingUserId, workspaces }: Caller,
): Promise<{ workspaceIds: readonly string[]; keyVersion: number | null; acting: UserRow | null } | null> {
  const found = await row(
    tx.em,
    surroundings({
      shownOrganizationId: workspaces === 'all' ? organizationId : null,
      serviceKeyId: kind === 'service_key' ? principalId : null,
      organizationId,
      actingUserId,
      own: personOf(tx.tenant, 'u'),
    }),
  );
  if (!found) return null;

  const { workspaceIds, keyVersion, ...acting } = found;
  const isActingSeen = actingUserId !== null && acting.id === actingUserId;
  return { workspaceIds, keyVersion, acting: isActingSeen ? acting : null };
}
