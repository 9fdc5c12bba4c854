import type { Static } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import { newId } from '../../db/ids.ts';
import { truncateAddress } from '../../db/identity/people/addresses.ts';
import { callerOfPerson } from '../../domain/identity/callers/caller.ts';
import { checkNewPassword } from '../http/views/new-password.ts';
import { isOpaqueToken, tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import { normalizeEmail, type Person } from '../../db/identity/people/people.ts';
import { findInvitation, type InvitationAnswer } from '../../db/tenancy/people/acceptance.ts';
import { acceptInvitation, judgeInvitation, noInvitation } from '../../domain/tenancy/acceptance.ts';
import { readUser } from '../../db/tenancy/people/users.ts';
import { openFirstSession } from '../../domain/identity/sessions/sessions.ts';
import { toLoginView, type LoginView } from '../http/views/login-view.ts';
import { refreshCookieOf, type RefreshCookie } from '../http/credentials/refresh-cookie.ts';
import type { Ctx, IdentifyRequest } from '../http/operation/operation.ts';
import type { InvitationAccept } from './invitation.schema.ts';

/** An invitation that was shown with its token and address, before anything is written. The caller is the user that it makes. */
export interface AttemptedAcceptance {
  readonly caller: Caller;
  readonly person: Person;
  readonly invitation: InvitationAnswer;
  readonly tokenHash: Buffer;
  readonly email: string;
  readonly fullName: string | null;
  readonly passwordHash: string;
  /** Set if the refresh token is to go into it. */
  readonly cookie: RefreshCookie | null;
}

/**
 * Looks the invitation up by token and address together, which is all that anybody without a tenant may ask for, and hashes the password
 * outside the transaction. The limit counts first, and the password is judged before the token, so that neither tells about it.
 */
export async function attemptAcceptance(request: IdentifyRequest<Static<typeof InvitationAccept>>): Promise<AttemptedAcceptance> {
  const { deps, body, limits, limitAddress } = request;
  // `mount` has validated the body against InvitationAccept before.
  const { token, password, ...told } = body;
  const email = normalizeEmail(told.email);
  const fullName = told.full_name ?? null;

  await limits.consume([{ policy: 'invitation_accept', key: limitAddress }]);
  await checkNewPassword(deps.passwordStrength, password, { email, fullName, hasFactor: false, pointer: '/password' });
  if (!isOpaqueToken('mail', token)) throw noInvitation();

  const hash = tokenHash(token);
  const invitation = await findInvitation(deps.db, hash, email);
  if (!invitation) throw noInvitation();
  judgeInvitation(invitation, email);

  const person = personOf(invitation);
  const passwordHash = await deps.identity.passwords.hash(password);
  const cookie = refreshCookieOf(request);
  return { caller: callerOfPerson(person, null), person, invitation, tokenHash: hash, email, fullName, passwordHash, cookie };
}

/** Makes the user and signs them in, as a login of a user without a factor would: where one is demanded, the session is restricted. */
export async function accept(ctx: Ctx, attempt: AttemptedAcceptance): Promise<Static<typeof LoginView>> {
  const { person, invitation, passwordHash } = attempt;
  await acceptInvitation(ctx, { ...attempt, userId: person.id });

  const refresh = await openFirstSession(ctx, {
    person,
    passwordHash,
    device: { label: null, userAgent: (ctx.userAgent ?? '').slice(0, 400), networkAddress: truncateAddress(ctx.address) },
    lifetime: invitation,
  });
  const user = await readUser(ctx, person.id);
  if (!user) throw new Error('a user who was just made is not there');

  const access = await ctx.deps.identity.tokens.issue({ userId: person.id, sessionId: refresh.sessionId });
  ctx.audit({
    resourceType: 'user',
    resourceId: person.id,
    organizationId: person.organizationId,
    workspaceId: person.workspaceId,
    changes: {
      email: { changed: true },
      role: { from: null, to: person.role },
      scope: { from: null, to: person.scope },
      invitation_id: { from: null, to: invitation.id },
    },
  });
  return toLoginView({ access, refresh, user });
}

/** The user to be: everything follows from the invitation, nothing from the request. */
function personOf({ role, scope, organizationId, workspaceId, isFactorRequired }: InvitationAnswer): Person {
  return { id: newId(), role, scope, organizationId, workspaceId, isActive: true, isFactorRequired, hasFactor: false, grants: {} };
}
