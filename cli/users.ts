import { findLogin } from '../db/identity/lookup/credential-lookup.ts';
import type { KeyRing } from '../db/key-ring.ts';
import { normalizeEmail } from '../db/identity/people/people.ts';
import { resetFactor } from '../domain/identity/factors/reset-factor.ts';
import { newId } from '../db/ids.ts';
import { addMail } from '../db/mail.ts';
import type { Databases } from '../db/databases.ts';
import { systemActor, transact } from '../db/transaction.ts';
import { withDeployment } from './attach.ts';
import type { CliEnv } from './env.ts';
import { SetupError } from './setup-error.ts';

export interface UsersCommand {
  readonly env: CliEnv;
  readonly log: (line: string) => void;
  readonly email: string | undefined;
}

/** `longhaul users reset-mfa --email`: lets a user who lost the authenticator and the recovery codes sign in with the password again. */
export async function resetMfaCommand({ env, log, email }: UsersCommand): Promise<void> {
  if (!email) throw new SetupError('The email address is missing: longhaul users reset-mfa --email somebody@example.com');

  await withDeployment({ env, log }, async ({ db, keys }) => {
    const isReset = await resetMfa({ db, keys }, email);
    log(isReset ? 'The second factor and its recovery codes were removed, and every session was ended.' : 'The user has no second factor.');
  });
}

/** Returns false if the user has no second factor. @throws SetupError if no user has the address. */
export async function resetMfa({ db, keys }: { readonly db: Databases; readonly keys: KeyRing }, email: string): Promise<boolean> {
  const found = await findLogin(db, normalizeEmail(email));
  if (!found) throw new SetupError('No user has this address.');

  const { id: userId, organizationId, workspaceId, hasFactor } = found.person;
  const tenant = { organizationId, userId, workspaceIds: [], hasAllWorkspaces: organizationId !== null, isOperator: false };
  const { value } = await transact(db, { tenant, actor: systemActor, correlationId: newId() }, async (tx) => {
    const isReset = await resetFactor(tx, { userId, organizationId, workspaceId, hasFactor });

    // Sent by the outbox relay of a worker; nothing is sent if there is no mailer.
    if (isReset) await addMail(tx, keys, { mail: { template: 'factor_removed', userId }, rowScope: { organizationId, workspaceId } });
    return isReset;
  });
  return value;
}
