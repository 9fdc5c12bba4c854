import { writeAudit } from '../../db/audit/audit.ts';
import { truncateAddress } from '../../db/identity/addresses.ts';
import { revokeSession } from '../../db/identity/endings.ts';
import type { OauthSubject } from '../../db/identity/oauth-tokens.ts';
import { defaultLifetime } from '../../db/identity/sessions.ts';
import { accessTokenLifeS } from '../../db/identity/signed-tokens.ts';
import { addMail } from '../../db/mail.ts';
import { openGrant, rotateGrant, sessionOfUsedCode, spoilCode, wasReused } from '../../db/oauth/grants.ts';
import { post, type Ctx } from '../http/operation/operation.ts';
import { attemptReference } from './token-reference.ts';
import { attemptToken, invalidGrant, type TokenAttempt } from './token-attempt.ts';
import { OauthIntrospectionView, OauthTokenForm, OauthTokenReference, OauthTokenView } from './token.schema.ts';

const byClients = { access: 'oauth-client', audit: 'none', form: true, faults: 'oauth', openWhenFrozen: true, success: [200] } as const;

export const tokenOperations = {
  issueOauthToken: post(
    '/oauth/token',
    {
      ...byClients,
      summary: 'Get tokens',
      description: 'Exchanges an authorization code with its verifier, a refresh token, or the credentials of a confidential client.',
      cors: 'any',
      body: OauthTokenForm,
      view: OauthTokenView,
      identify: attemptToken,
      example: {
        body: {
          grant_type: 'authorization_code',
          code: 'lh_ac_example',
          redirect_uri: 'https://app.example/callback',
          client_id: 'lh_oc_example',
        },
      },
    },
    async (ctx, { identified }) => issue(ctx, identified),
  ),

  revokeOauthToken: post(
    '/oauth/revoke',
    {
      ...byClients,
      summary: 'Revoke a token',
      description: "Ends the grant behind one of the client's own tokens. Whatever else is sent is answered alike (RFC 7009).",
      cors: 'any',
      body: OauthTokenReference,
      example: { body: { token: 'lh_rt_example' } },
      identify: attemptReference,
    },
    async (ctx, { identified }) => {
      const { session } = identified;

      if (session) await revokeSession(ctx, { sessionId: session.id, reason: 'client_revoked' });
    },
  ),

  introspectOauthToken: post(
    '/oauth/introspect',
    {
      ...byClients,
      summary: 'Ask about a token',
      description: "Tells a confidential client about its own live tokens; of all others only that they aren't active (RFC 7662).",
      transaction: 'none',
      body: OauthTokenReference,
      example: { body: { token: 'lh_rt_example' } },
      view: OauthIntrospectionView,
      identify: attemptReference,
    },
    async (_ctx, { identified }) => {
      const { client, introspection } = identified;

      return client.authMethod === 'none' ? { active: false } : introspection;
    },
  ),
};

async function issue(ctx: Ctx, attempt: TokenAttempt) {
  const { client, scopes } = attempt;

  switch (attempt.kind) {
    case 'code': {
      const opened = await exchange(ctx, attempt);
      return tokensOf(ctx, {
        ...opened,
        resource: attempt.code.resource,
        scopes,
        clientId: client.clientId,
        userId: attempt.code.person.id,
      });
    }
    case 'used_code':
      return endReused(ctx, attempt, { sessionId: attempt.code.sessionId, reason: 'code_reuse' });
    case 'unproven_code':
      return spoil(ctx, attempt);
    case 'refresh': {
      const rotated = await refresh(ctx, attempt);
      const { person, session } = attempt.grant;
      return tokensOf(ctx, { ...rotated, resource: session.resource ?? '', scopes, clientId: client.clientId, userId: person.id });
    }
    case 'client':
      return tokensOf(ctx, {
        resource: attempt.resource,
        scopes,
        clientId: client.clientId,
        generation: client.generation,
        refreshToken: null,
      });
    default:
      return attempt satisfies never;
  }
}

async function exchange(ctx: Ctx, attempt: Extract<TokenAttempt, { kind: 'code' }>) {
  const { client, code, hash, scopes } = attempt;
  const opened = await openGrant(ctx, {
    codeHash: hash,
    clientName: client.clientName,
    scope: scopes.join(' '),
    device: { userAgent: ctx.userAgent ?? '', networkAddress: truncateAddress(ctx.address) },
    lifetime: { idleDays: code.idleDays ?? defaultLifetime.idleDays, absoluteDays: code.absoluteDays ?? defaultLifetime.absoluteDays },
    hasRefresh: client.grantTypes.includes('refresh_token'),
  });

  if (opened) return opened;
  // Somebody has used it between the look and this: the second of two, as good as a replay.
  return endReused(ctx, attempt, { sessionId: await sessionOfUsedCode(ctx, hash), reason: 'code_reuse' });
}

/**
 * Uses up a code that came without its proof (docs/security/consent.md): whoever sent it is not who asked for it, and gets no second try. Beside an
 * exchange that was faster it counts as what it is, a second use (RFC 6749 §4.1.2).
 */
async function spoil(ctx: Ctx, attempt: Extract<TokenAttempt, { kind: 'unproven_code' }>): Promise<never> {
  const { client, hash } = attempt;
  let isSpoiled = false;
  await ctx.commitNow(async (tx) => void (isSpoiled = await spoilCode(tx, hash)));

  ctx.log.warn({ client_id: client.clientId }, 'authorization code came without its proof');
  if (isSpoiled) throw invalidGrant();
  return endReused(ctx, attempt, { sessionId: await sessionOfUsedCode(ctx, hash), reason: 'code_reuse' });
}

async function refresh(ctx: Ctx, attempt: Extract<TokenAttempt, { kind: 'refresh' }>) {
  const { client, grant, hash } = attempt;
  const rotated = await rotateGrant(ctx, { hash, clientId: client.clientId, idleDays: grant.idleDays ?? defaultLifetime.idleDays });

  if (rotated) return rotated;
  const isReuse = await wasReused(ctx, { hash, clientId: client.clientId });
  return endReused(ctx, attempt, { sessionId: isReuse ? grant.session.id : null, reason: 'refresh_reuse' });
}

/** Refuses what was used before; a grant that may be in the wrong hands ends, which stays although the reply is an error. */
async function endReused(
  ctx: Ctx,
  { client }: TokenAttempt,
  { sessionId, reason }: { sessionId: string | null; reason: 'code_reuse' | 'refresh_reuse' },
): Promise<never> {
  const { userId, organizationId, workspaceId } = ctx.caller;
  if (sessionId === null || userId === null) throw invalidGrant();

  await ctx.commitNow(async (tx) => {
    if (!(await revokeSession(tx, { sessionId, reason }))) return;
    const note = {
      resourceType: 'session',
      resourceId: sessionId,
      organizationId,
      workspaceId,
      changes: { reason: { to: reason }, client_id: { to: client.clientId } },
    };
    await writeAudit(tx, { action: 'logout', operationId: ctx.operationId, note, ip: ctx.address, userAgent: ctx.userAgent });
    if (reason === 'refresh_reuse' && ctx.deps.env.mail !== null)
      await addMail(tx, ctx.deps.keys, { mail: { template: 'refresh_reuse', userId }, home: { organizationId, workspaceId } });
  });
  throw invalidGrant();
}

async function tokensOf(ctx: Ctx, { refreshToken, ...subject }: OauthSubject & { readonly refreshToken: string | null }) {
  const { token } = await ctx.deps.identity.oauthTokens.issue(subject);

  return {
    access_token: token,
    token_type: 'Bearer' as const,
    expires_in: accessTokenLifeS,
    ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
    scope: subject.scopes.join(' '),
  };
}
