import type { TestTenant } from '../../support/tenant.ts';
import { approve, basic, exchange, refresh, type TestClient } from '../oauth/client.ts';
import { made, type Stage } from './stage.ts';
import { outcomeOf, type Outcome } from './things.ts';
import { call, purge } from './ways.ts';

/** A credential that is no session of a person's, with what else its holder has. */
export interface Program {
  readonly token: string;
  readonly hasMcp: boolean;
  /** Beside its access, by the column of the table. */
  readonly things: Readonly<Record<string, () => Promise<Outcome>>>;
  readonly end: () => Promise<unknown>;
}

type Make = (stage: Stage, tenant: TestTenant) => Promise<Program>;

/** By the row of the table: whose access it is, and what ends it. */
export const programs: Readonly<Record<string, Make>> = {
  'an impersonation ends': async (stage, tenant) => {
    const { operator } = tenant.tokens;
    const started = await made(stage.client, operator, '/impersonations', {
      user_id: tenant.users.member.id,
      reason: 'Support case 4711: nothing shows',
      minutes: 15,
    });
    const end = () => call(stage, operator, 'DELETE', `/impersonations/${started.impersonation.id}`);
    return { token: started.access_token, hasMcp: true, things: {}, end };
  },
  "an app's token is revoked": async (stage, tenant) => {
    const grant = await grantOf(stage, tenant);
    return { ...grant, end: () => stage.oauth.form('/oauth/revoke', { token: grant.refreshToken, ...grant.proof }) };
  },
  "an app's code is used twice": async (stage, tenant) => {
    const grant = await grantOf(stage, tenant);
    return { ...grant, end: () => exchange(stage.oauth, grant.app, grant.used, grant.proof) };
  },
  'an app is deleted (access that a person gave it)': async (stage, tenant) => {
    const grant = await grantOf(stage, tenant);
    return { ...grant, end: () => call(stage, tenant.tokens.operator, 'DELETE', `/oauth-clients/${grant.app.clientId}`) };
  },
  'an app is deleted (its own access)': async (stage, tenant) => {
    const own = await ownAccess(stage, tenant);
    return { ...own, end: () => call(stage, tenant.tokens.operator, 'DELETE', `/oauth-clients/${own.app.clientId}`) };
  },
  "an app's secret is rotated (access that a person gave it)": async (stage, tenant) => {
    const grant = await grantOf(stage, tenant);
    return { ...grant, end: async () => grant.learn(await rotateSecret(stage, tenant, grant.app)) };
  },
  "an app's secret is rotated (its own access)": async (stage, tenant) => {
    const own = await ownAccess(stage, tenant);
    return { ...own, end: () => rotateSecret(stage, tenant, own.app) };
  },
  "an app's organization is purged (its own access)": async (stage, tenant) => {
    const own = await ownAccess(stage, tenant);
    return { ...own, end: () => purge(stage, tenant) };
  },
  'a service key is revoked': async (stage, tenant) =>
    keyOf(tenant, () => call(stage, tenant.organizationOwner.token, 'DELETE', `/service-keys/${tenant.serviceKey.id}`)),
  'a service key is rotated': async (stage, tenant) =>
    keyOf(tenant, () => call(stage, tenant.organizationOwner.token, 'POST', `/service-keys/${tenant.serviceKey.id}/rotate`)),
  'the maker of a service key is deactivated': async (stage, tenant) => {
    const key = await made(stage.client, tenant.tokens.admin, '/service-keys', { name: 'back end', role: 'member' });
    const end = () => call(stage, tenant.organizationOwner.token, 'POST', `/users/${tenant.users.admin.id}/deactivate`);
    return { token: key.plaintext, hasMcp: true, things: {}, end };
  },
};

function keyOf({ serviceKey }: TestTenant, end: Program['end']): Program {
  return { token: serviceKey.plaintext, hasMcp: true, things: {}, end };
}

/** What a member has allowed a confidential app, with a further code that is still to be exchanged. */
async function grantOf({ client, oauth }: Stage, { tokens }: TestTenant) {
  const app = await oauth.client(tokens.operator, { token_endpoint_auth_method: 'client_secret_post' });
  const proof = { client_id: app.clientId, client_secret: app.secret ?? '' };
  const asked = { token: tokens.member, parameters: { scope: 'runs:read agents:read' } };
  const used = await approve(oauth, app, asked);
  const { body } = await exchange(oauth, app, used, proof);
  const pending = await approve(oauth, app, asked);

  return {
    app,
    proof,
    used,
    token: String(body.access_token),
    refreshToken: String(body.refresh_token),
    hasMcp: false,
    learn: (secret: string) => Object.assign(proof, { client_secret: secret }),
    things: {
      'access': async () => outcomeOf(await client.call('GET', '/agents', { token: body.access_token })),
      'refresh token': async () => outcomeOf(await refresh(oauth, app, body.refresh_token, proof)),
      'code': async () => outcomeOf(await exchange(oauth, app, pending, proof)),
    },
  };
}

/** What a confidential app of an organization may do by itself. */
async function ownAccess({ oauth }: Stage, { tokens, organizationId, workspaceId }: TestTenant) {
  const app = await oauth.client(tokens.operator, {
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    scope: 'runs:read agents:read',
    organization_id: organizationId,
    workspace_id: workspaceId,
    role: 'member',
  });
  const { body } = await oauth.form('/oauth/token', { grant_type: 'client_credentials' }, basic(app));

  return { app, token: String(body.access_token), hasMcp: false, things: {} };
}

async function rotateSecret(stage: Stage, { tokens }: TestTenant, app: TestClient): Promise<string> {
  const rotated = await call(stage, tokens.operator, 'POST', `/oauth-clients/${app.clientId}/rotate-secret`);
  return rotated.client_secret;
}
