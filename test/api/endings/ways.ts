import { resetMfa } from '../../../cli/users.ts';
import { lockOut, openPurge } from '../../../domain/operator/purge-steps.ts';
import { sweep } from '../../../db/transaction.ts';
import { testPassword, type TestTenant } from '../../support/tenant.ts';
import { enrol, resetTokenOf } from '../authentication/second-factor.ts';
import type { Answer } from '../authentication/client.ts';
import type { Somebody, Stage } from './stage.ts';

const newPassword = 'amber violin harvest 77';

/** One way to put somebody out. */
export interface Way {
  /** Whether there is a second factor before. */
  readonly hasFactor: boolean;
  /** Whether the person's acting session goes on. */
  readonly keepsActing?: true;
  readonly go: (stage: Stage, somebody: Somebody) => Promise<void>;
}

/** By the row of the table. */
export const ways: Readonly<Record<string, Way>> = {
  'signs out': {
    hasFactor: true,
    keepsActing: true,
    go: (stage, { put }) => call(stage, put.token, 'POST', '/auth/logout'),
  },
  'ends one session': {
    hasFactor: true,
    keepsActing: true,
    go: (stage, { acting, put }) => call(stage, acting, 'DELETE', `/sessions/${put.sessionId}`),
  },
  'ends all other sessions': {
    hasFactor: true,
    keepsActing: true,
    go: (stage, { acting }) => call(stage, acting, 'POST', '/sessions/revoke-others'),
  },
  'an admin ends all sessions': {
    hasFactor: true,
    go: (stage, { tenant, user }) => call(stage, tenant.organizationOwner.token, 'POST', `/users/${user.id}/sessions/revoke-all`),
  },
  'changes the password': {
    hasFactor: true,
    keepsActing: true,
    go: (stage, { acting }) =>
      call(stage, acting, 'POST', '/auth/password/change', { current_password: testPassword, new_password: newPassword }),
  },
  'resets the password': {
    hasFactor: true,
    async go(stage, { user }) {
      const token = await resetTokenOf(stage.client, user.id);
      await call(stage, null, 'POST', '/auth/password/reset', { token, new_password: newPassword });
    },
  },
  'a refresh token is used twice': {
    hasFactor: true,
    keepsActing: true,
    async go({ client }, { put }) {
      const refresh = () => client.call('POST', '/auth/refresh', { body: { refresh_token: put.refreshToken } });
      await refresh();
      await client.rows("update refresh_tokens set used_at = now() - interval '11 seconds' where session_id = ? and used_at is not null", [
        put.sessionId,
      ]);
      if ((await refresh()).body.code !== 'refresh_reuse_detected') throw new Error('a reuse was not found');
    },
  },
  'confirms a second factor': {
    hasFactor: false,
    keepsActing: true,
    async go({ client }, { acting }) {
      await enrol(client, acting);
    },
  },
  'removes the second factor': {
    hasFactor: true,
    keepsActing: true,
    go: (stage, { acting }) => call(stage, acting, 'DELETE', '/auth/mfa/totp'),
  },
  'makes new recovery codes': {
    hasFactor: true,
    keepsActing: true,
    go: (stage, { acting }) => call(stage, acting, 'POST', '/auth/mfa/recovery-codes'),
  },
  '`longhaul users reset-mfa`': {
    hasFactor: true,
    async go({ client }, { user }) {
      if (!(await resetMfa({ db: client.api.db, keys: client.api.keys }, user.email))) throw new Error('there was no factor');
    },
  },
  'is deactivated': {
    hasFactor: true,
    go: (stage, { tenant, user }) => call(stage, tenant.organizationOwner.token, 'POST', `/users/${user.id}/deactivate`),
  },
  'is deleted': {
    hasFactor: true,
    go: (stage, { tenant, user }) => call(stage, tenant.organizationOwner.token, 'DELETE', `/users/${user.id}`),
  },
  'is moved to another workspace with a lower role': {
    hasFactor: true,
    keepsActing: true,
    go: (stage, { tenant, user }) =>
      call(stage, tenant.organizationOwner.token, 'PUT', `/users/${user.id}/role`, {
        role: 'member',
        scope: 'workspace',
        workspace_id: tenant.workspaceIds[1],
      }),
  },
  '`require_mfa` is switched on': {
    hasFactor: false,
    go: (stage, { tenant }) =>
      call(stage, tenant.organizationOwner.token, 'PATCH', `/organizations/${tenant.organizationId}/settings`, { require_mfa: true }),
  },
  'the organization is purged': {
    hasFactor: true,
    go: (stage, { tenant }) => purge(stage, tenant),
  },
};

export async function purge(stage: Stage, { organizationId, tokens }: TestTenant): Promise<void> {
  const [organization] = await stage.client.rows<{ slug: string }>('select slug from organizations where id = ?', [organizationId]);
  await call(stage, tokens.operator, 'DELETE', `/organizations/${organizationId}`);
  await call(stage, tokens.operator, 'POST', `/organizations/${organizationId}/purge`, { reason: 'over', confirm: organization?.slug });
  // The first steps of the bulk worker, which doesn't run here; those after them erase what nobody reaches any more.
  await sweep(stage.client.api.db, async (em) => {
    await openPurge(em, stage.client.api.keys, organizationId);
    await lockOut(em, organizationId);
  });
}

/** A request that must succeed. */
export async function call(
  { client }: Stage,
  token: string | null,
  method: Parameters<Stage['client']['call']>[0],
  path: string,
  body?: object,
): Promise<Answer['body']> {
  const answer = await client.call(method, path, { ...(token === null ? {} : { token }), body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
