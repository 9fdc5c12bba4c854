import { sql } from 'kysely';
import { now } from '../expressions.ts';
import { Condition } from '../condition.ts';
import { newId } from '../ids.ts';
import { newOpaqueToken, tokenHash } from '../identity/factors/opaque-tokens.ts';
import type { Session } from '../identity/sessions/session.entity.ts';
import { isAskerStanding } from '../identity/sessions/session-right.sql.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Seconds within which a second use of a refresh token is a lost race rather than theft. */
const raceSeconds = 10;

/** A grant's session and its newest refresh token; the token is null where the client has none. */
export interface IssuedGrant {
  readonly sessionId: string;
  readonly refreshToken: string | null;
}

export interface NewGrant {
  readonly codeHash: Buffer;
  readonly clientName: string;
  /** The granted OAuth scopes; at most those of the code. */
  readonly scope: string;
  readonly device: { readonly userAgent: string; readonly networkAddress: string };
  readonly lifetime: { readonly idleDays: number; readonly absoluteDays: number };
  readonly hasRefresh: boolean;
}

/**
 * Uses up a code and opens the session of its grant, with the first refresh token: one statement, and of any number of concurrent calls one wins. Returns null
 * for a loser, and when the user has been deactivated, has changed the password since the code was made, or the session that approved it has been ended:
 * because of the locks, a concurrent change comes either before or sees the new session. The grant counts as verified as that session.
 */
export async function openGrant(
  tx: TenantTransaction,
  { codeHash, clientName, scope, device, lifetime, hasRefresh }: NewGrant,
): Promise<IssuedGrant | null> {
  const sessionId = newId();
  const refreshToken = newOpaqueToken('refresh');
  const idleDays = Math.min(lifetime.idleDays, lifetime.absoluteDays);
  const opened = await row(
    tx.em,
    query
      .with('standing', () => lockStanding(codeHash))
      .with('used', (of) =>
        of
          .updateTable('oauth_codes')
          .from('standing as s')
          .set({ usedAt: now, sessionId })
          .whereRef('oauth_codes.codeHash', '=', 's.codeHash')
          .where('oauth_codes.usedAt', 'is', null)
          .where('oauth_codes.expiresAt', '>', now)
          .returning(['oauth_codes.clientId', 'oauth_codes.resource', 's.id', 's.organizationId', 's.workspaceId', 's.mfaLevel']),
      )
      .with('opened', (of) =>
        of
          .insertInto('sessions')
          .columns([
            'id',
            'userId',
            'organizationId',
            'workspaceId',
            'kind',
            'clientId',
            'clientName',
            'oauthScope',
            'resource',
            'userAgent',
            'ipTruncated',
            'mfaLevel',
            'verifiedAt',
            'createdAt',
            'lastSeenAt',
            'idleExpiresAt',
            'expiresAt',
          ])
          .expression(({ selectFrom }) =>
            selectFrom('used')
              .select([sql<string>`${sessionId}::uuid`.as('id'), 'used.id as userId', 'used.organizationId', 'used.workspaceId'])
              .select([sql.lit('oauth').as('kind'), 'used.clientId', sql<string>`${clientName}::text`.as('clientName')])
              .select([
                sql<string>`${scope}::text`.as('oauthScope'),
                'used.resource',
                sql<string>`${device.userAgent}::text`.as('userAgent'),
              ])
              .select([sql<string>`${device.networkAddress}::text`.as('ipTruncated'), 'used.mfaLevel', now.as('verifiedAt')])
              .select([
                now.as('createdAt'),
                now.as('lastSeenAt'),
                sql<string>`now() + make_interval(days => ${idleDays})`.as('idleExpiresAt'),
              ])
              .select(sql<string>`now() + make_interval(days => ${lifetime.absoluteDays})`.as('expiresAt')),
          )
          .returning(['id', 'userId', 'organizationId', 'oauthScope', 'idleExpiresAt']),
      )
      .with('refresh', (of) =>
        of
          .insertInto('refresh_tokens')
          .columns(['id', 'sessionId', 'userId', 'organizationId', 'tokenHash', 'oauthScope', 'createdAt', 'expiresAt'])
          .expression(({ selectFrom }) =>
            selectFrom('opened as o')
              .select([sql<string>`${newId()}::uuid`.as('id'), 'o.id as sessionId', 'o.userId', 'o.organizationId'])
              .select([sql<Buffer>`${tokenHash(refreshToken)}::bytea`.as('tokenHash'), 'o.oauthScope', now.as('createdAt')])
              .select('o.idleExpiresAt as expiresAt')
              .where(sql<boolean>`${hasRefresh}::boolean`),
          ),
      )
      .selectFrom('opened')
      .select('opened.id'),
  );

  return opened && { sessionId, refreshToken: hasRefresh ? refreshToken : null };
}

/** Locks the user of a code who may still use it; the grant counts as verified as the session that approved it. */
function lockStanding(codeHash: Buffer) {
  return query
    .selectFrom('oauth_codes as a')
    .innerJoin('users as u', 'u.id', 'a.userId')
    .innerJoin('user_credentials as c', 'c.userId', 'u.id')
    .where('a.codeHash', '=', codeHash)
    .where('u.isActive', '=', sql.lit(true))
    .where('u.deletedAt', 'is', null)
    .whereRef('c.passwordChangedAt', '<=', 'a.createdAt')
    .where(new Condition(isAskerStanding('a.approver_session_id', { survivesLogout: true })))
    .select(['a.codeHash', 'u.id', 'u.organizationId', 'u.workspaceId'])
    .select(
      sql<Session['mfaLevel']>`coalesce((select s.mfa_level from sessions s where s.id = a.approver_session_id), 'none')`.as('mfaLevel'),
    )
    .forNoKeyUpdate(['u', 'c']);
}

/** Uses up a code without a grant. Returns false when it has been used already. */
export async function spoilCode(tx: TenantTransaction, codeHash: Buffer): Promise<boolean> {
  const spoiled = query.updateTable('oauth_codes').set({ usedAt: now }).where('codeHash', '=', codeHash).where('usedAt', 'is', null);
  return (await change(tx.em, spoiled)) > 0;
}

/** Returns the session that a code's exchange has opened, or null for an unused code. */
export async function sessionOfUsedCode(tx: TenantTransaction, codeHash: Buffer): Promise<string | null> {
  const used = await row(
    tx.em,
    query.selectFrom('oauth_codes as c').select('c.sessionId').where('c.codeHash', '=', codeHash).where('c.usedAt', 'is not', null),
  );
  return used?.sessionId ?? null;
}

/** Whether a refresh token that did not win was stolen: it was used before, longer ago than a lost race explains. */
export async function wasReused(tx: TenantTransaction, { hash, clientId }: { hash: Buffer; clientId: string }): Promise<boolean> {
  const found = await row(
    tx.em,
    query
      .selectFrom('refresh_tokens as t')
      .innerJoin('sessions as s', 's.id', 't.sessionId')
      .select(({ ref }) =>
        sql<boolean | null>`clock_timestamp() - ${ref('t.usedAt')} > make_interval(secs => ${raceSeconds})`.as('isReuse'),
      )
      .where('t.tokenHash', '=', hash)
      .where('s.kind', '=', 'oauth')
      .where('s.clientId', '=', clientId)
      .where('s.revokedAt', 'is', null)
      .where(({ ref }) => sql<boolean>`least(${ref('s.idleExpiresAt')}, ${ref('s.expiresAt')}) > now()`),
  );
  return found?.isReuse === true;
}
