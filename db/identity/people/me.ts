import type { Caller } from '../../caller.ts';
import { row } from '../../sql.ts';
import { personOf, userColumns, type UserRow } from '../../tenancy/people/users.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A session as views show it. */
export interface SessionRow {
  readonly id: string;
  readonly kind: 'login' | 'oauth';
  readonly client_id: string | null;
  readonly client_name: string | null;
  readonly device_label: string | null;
  readonly user_agent: string;
  readonly ip_truncated: string;
  readonly mfa_level: 'none' | 'totp' | 'recovery_code';
  readonly verified_at: Date | string;
  readonly created_at: Date | string;
  readonly last_seen_at: Date | string;
  readonly expires_at: Date | string;
  readonly revoked_at: Date | string | null;
}

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

/** Returns the user as whom an operator works. */
async function readTarget(tx: TenantTransaction, userId: string | null): Promise<Holder | null> {
  const own = personOf(tx.tenant, 'u');
  const found = await row<UserRow & { version: number; locale: string | null; pending_email: string | null; require_mfa: boolean | null }>(
    tx.em,
    `select ${userColumns('u')}, u.version, u.locale, c.pending_email, st.require_mfa
       from users u
       left join user_credentials c on c.user_id = u.id
       left join organization_settings st on st.organization_id = u.organization_id
      where u.id = ?::uuid and ${own.sql}`,
    [userId, ...own.params],
  );
  if (!found) return null;

  const { version, locale, pending_email: pendingEmail, require_mfa: isFactorRequired, ...user } = found;
  return { user, session: null, version, locale, pendingEmail, isFactorRequired: isFactorRequired ?? false, freshUntil: null };
}

async function readHolder(tx: TenantTransaction, userId: string | null, sessionId: string): Promise<Holder | null> {
  const found = await row<{ holder: Holder | null }>(tx.em, 'select gate_holder(?::uuid, ?::uuid) as holder', [userId, sessionId]);

  return found?.holder ?? null;
}

async function readSurroundings(
  tx: TenantTransaction,
  caller: Caller,
): Promise<{ workspaceIds: readonly string[]; keyVersion: number | null; acting: UserRow | null } | null> {
  const own = personOf(tx.tenant, 'u');
  const found = await row<UserRow & { workspace_ids: string[]; key_version: number | null }>(
    tx.em,
    `select to_jsonb(array(select w.id from workspaces w where w.organization_id = ?::uuid order by w.id limit ${shownWorkspacesMax})) as workspace_ids,
      (select k.version from service_keys k where k.id = ?::uuid and k.organization_id = ?::uuid) as key_version,
      acting.*
    from (select 1) as one
    left join (select ${userColumns('u')} from users u where u.id = ?::uuid and ${own.sql}) as acting on true`,
    [
      caller.workspaces === 'all' ? caller.organizationId : null,
      caller.kind === 'service_key' ? caller.principalId : null,
      caller.organizationId,
      caller.actingUserId,
      ...own.params,
    ],
  );

  const isActingSeen = caller.actingUserId !== null && found?.id === caller.actingUserId;
  return found && { workspaceIds: found.workspace_ids, keyVersion: found.key_version, acting: isActingSeen ? found : null };
}
