import { writeAudit } from '../../db/audit/audit.ts';
import { revokeSession } from '../../db/identity/sessions/endings.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { notify } from '../identity/people/notices.ts';
import { defaultLifetime, lifetimeOf } from '../identity/sessions/sessions.ts';
import { rotateRefresh } from '../../db/identity/sessions/sessions.ts';
import { openGrant, sessionOfUsedCode, spoilCode, wasReused, type IssuedGrant, type NewGrant } from '../../db/oauth/grants.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** A code or token that was used before, and the session of its grant; null when none has to end. */
export interface Reuse {
  readonly sessionId: string | null;
  readonly reason: 'code_reuse' | 'refresh_reuse';
}

/** A grant to be opened; if the organization sets no days, the deployment's apply. */
interface Exchange extends Omit<NewGrant, 'lifetime'> {
  readonly idleDays: number | null;
  readonly absoluteDays: number | null;
}

/** Exchanges a code for its grant. If the code was used between the check and this exchange, this is the second use, the same as a replay. */
export async function exchangeCode(tx: TenantTransaction, { idleDays, absoluteDays, ...grant }: Exchange): Promise<IssuedGrant | Reuse> {
  const lifetime = lifetimeOf({ idleDays, absoluteDays });
  return (await openGrant(tx, { ...grant, lifetime })) ?? reuseOfCode(tx, grant.codeHash);
}

/** Uses up a code without a grant, since it came without its proof. Returns false when another request has used it already. */
export function spoilUnproven(tx: TenantTransaction, codeHash: Buffer): Promise<boolean> {
  return spoilCode(tx, codeHash);
}

/** The second use of a code, whoever made the first. */
export async function reuseOfCode(tx: TenantTransaction, codeHash: Buffer): Promise<Reuse> {
  return { sessionId: await sessionOfUsedCode(tx, codeHash), reason: 'code_reuse' };
}

/** Uses up a client's refresh token and issues its successor. A token that was used before ends its session, unless it has only lost a race. */
export async function refreshGrant(
  tx: TenantTransaction,
  {
    hash,
    clientId,
    sessionId,
    idleDays,
  }: { readonly hash: Buffer; readonly clientId: string; readonly sessionId: string; readonly idleDays: number | null },
): Promise<IssuedGrant | Reuse> {
  const rotated = await rotateRefresh(tx, { hash, clientId, idleDays: idleDays ?? defaultLifetime.idleDays });

  if (rotated) return rotated;
  return { sessionId: (await wasReused(tx, { hash, clientId })) ? sessionId : null, reason: 'refresh_reuse' };
}

/** Ends a grant that may be in the wrong hands, once, whatever the number of concurrent uses: audits it and, if there is a mailer, notifies its owner. */
export async function endReusedGrant(
  tx: TenantTransaction,
  { sessionId, reason }: Reuse & { readonly sessionId: string },
  ended: {
    readonly clientId: string;
    readonly owner: { readonly userId: string; readonly organizationId: string | null; readonly workspaceId: string | null };
    readonly request: { readonly operationId: string; readonly ip: string; readonly userAgent: string | null };
    /** Null: this deployment sends no mails. */
    readonly mailKeys: Pick<KeyRing, 'mailKeys'> | null;
  },
): Promise<void> {
  const { clientId, owner, request, mailKeys } = ended;
  const { userId, organizationId, workspaceId } = owner;
  if (!(await revokeSession(tx, { sessionId, reason }))) return;

  const note = {
    resourceType: 'session',
    resourceId: sessionId,
    organizationId,
    workspaceId,
    changes: { reason: { to: reason }, client_id: { to: clientId } },
  };
  await writeAudit(tx, { action: 'logout', note, ...request });
  if (reason === 'refresh_reuse' && mailKeys !== null)
    await notify(tx, mailKeys, { template: 'refresh_reuse', userId, organizationId, workspaceId });
}
