import { fail } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { UserRow } from '../../db/identity/people/users.ts';
import { writeUser, type NewUser } from '../../db/tenancy/people/new-user.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import { newId } from '../../db/ids.ts';
import { addMail } from '../../db/mail.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import type { Changing } from '../../db/scope.ts';
import type { Role, Scope } from '../../workflows/contracts/access.ts';
import { lockCreator } from '../identity/people/creator.ts';
import { lockJoining } from './joining.ts';
import { refuseDomain } from '../identity/people/email-domains.ts';
import { refuseHigherRank } from './rank-rules.ts';
import { refuseMisfit } from './standing.ts';

/** The most users that an organization may create in 24 hours: an address in use anywhere is refused, so each try reveals something. */
const maxUsersADay = 200;

/**
 * Creates a user, in an organization that the transaction has locked, with credentials and, without a password, the challenge of the mail that asks for one;
 * the address is not verified. One statement. Throws 429 beyond the daily number, 409 `already_exists` for an address in use anywhere.
 */
export async function insertUser(tx: TenantTransaction, user: NewUser): Promise<UserRow> {
  const made = await writeUser(tx, user, maxUsersADay);
  if (!made) {
    throw fail('rate_limited', {
      detail: `An organization can create at most ${maxUsersADay} users a day.`,
      retryAfterS: 3_600,
      context: { violated_policies: ['user_create'] },
    });
  }
  return made;
}

/** The requested user. */
interface AskedUser {
  readonly email: string;
  readonly full_name?: string | null;
  readonly role: Role;
  readonly scope?: Scope;
  readonly workspace_id?: string | null;
}

/** Creates a user if the caller may: checks home, rank (R1), domains, the daily number, the address. Without a password a mail asks for one. */
export async function createUser(
  ctx: Changing,
  keys: Pick<KeyRing, 'mailKeys'>,
  { asked, passwordHash }: { readonly asked: AskedUser; readonly passwordHash: string | null },
): Promise<UserRow> {
  const rowScope = await resolveNewRowScope(ctx, asked);
  refuseHigherRank(ctx.caller, asked.role, rowScope.workspaceId);
  refuseMisfit(asked.role, rowScope.scope);

  const email = normalizeEmail(asked.email);
  const rules = rowScope.organizationId === null ? null : await lockJoining(ctx, rowScope.organizationId);
  if (rules) refuseDomain(email, rules);
  // A request whose sender has lost access while it was running creates no user.
  await lockCreator(ctx);

  const id = newId();
  const days = rules?.invitationDays ?? 7;
  const firstPassword = passwordHash === null ? await mailFirstPassword(ctx, keys, { id, rowScope, days }) : null;
  const { organizationId, scope, workspaceId } = rowScope;
  return insertUser(ctx, {
    id,
    email,
    fullName: asked.full_name ?? null,
    role: asked.role,
    scope,
    organizationId,
    workspaceId,
    passwordHash,
    firstPassword,
  });
}

async function mailFirstPassword(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { id, rowScope, days }: { id: string; rowScope: Pick<NewUser, 'organizationId' | 'workspaceId'>; days: number },
): Promise<NonNullable<NewUser['firstPassword']>> {
  const { outboxId, tokenHash } = await addMail(tx, keys, {
    mail: { template: 'password_set', userId: id },
    rowScope: { organizationId: rowScope.organizationId, workspaceId: rowScope.workspaceId },
  });
  return { outboxId, tokenHash, days };
}
