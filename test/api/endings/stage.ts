import { tmpdir } from 'node:os';
import pino from 'pino';
import { mailToken } from '../../../db/identity/factors/opaque-tokens.ts';
import { createPublisher } from '../../../db/streams/publisher.ts';
import { connectRedis } from '../../../db/streams/redis.ts';
import { openSse } from '../../streams/sse-client.ts';
import { testServices } from '../../support/services.ts';
import { testPassword, tokenFor, type TestTenant, type TestUser } from '../../support/tenant.ts';
import { openClient, type Client } from '../authentication/client.ts';
import { codeOf, enrol, verify, type Enrolled } from '../authentication/second-factor.ts';
import { openOauth, type OauthWorld } from '../oauth/client.ts';

/** A deployment of two processes: people use the one, apps the other. */
export interface Stage {
  readonly client: Client;
  readonly oauth: OauthWorld;
  /** Resolves when the rights behind everything open at the first process have been looked at after this call. */
  allChecked(open: { readonly tenant: TestTenant; readonly runId: string }): Promise<void>;
  close(): Promise<void>;
}

const env = {
  MAIL_DIR: tmpdir(),
  RATE_LIMITS: [
    ...['anonymous', 'mail_ip', 'login_ip', 'invitation_accept', 'mfa', 'oauth_token'].map((policy) => `${policy}=100000/60`),
    'login_pair=1000/60',
  ].join(),
};

export async function openStage(): Promise<Stage> {
  const client = await openClient({ env });
  const { database, keys, redisPrefix } = client.api;
  const oauth = await openOauth({ env, database, keys, redisPrefix });
  const redis = connectRedis(testServices().redisUrl, 'commands');
  const publisher = createPublisher({ redis, prefix: redisPrefix, log: pino({ level: 'silent' }) });
  const { api } = client;

  return {
    client,
    oauth,
    async allChecked({ tenant, runId }) {
      // Ended behind everybody's back: only a look at all rights finds it, and it looks at all in one query.
      const canary = await tokenFor(api.db, api.keys, tenant.users.operator);
      const stream = await openSse(api.url, runId, { bearer: canary.token });
      await client.rows('update sessions set revoked_at = now() where id = ?', [canary.sessionId]);
      // A notice of any kind brings that look forward.
      publisher.notifyRevoked(['session:nobody']);
      await stream.ended;
    },
    async close() {
      redis.disconnect();
      await oauth.close();
      await client.close();
    },
  };
}

/** One session as its device knows it. */
export interface Device {
  readonly sessionId: string;
  readonly token: string;
  readonly refreshToken: string;
}

/** Somebody who is to be put out: an admin of the first of two workspaces, signed in three times. */
export interface Somebody {
  readonly tenant: TestTenant;
  readonly user: TestUser;
  /** Null where there is no second factor. */
  readonly factor: Enrolled | null;
  /** The session that acts, where it is the person who does. */
  readonly acting: string;
  /** The session that is put out, and to which hangs what is looked at. */
  readonly put: Device;
  readonly other: Device;
  readonly agentId: string;
  readonly runId: string;
}

export async function makeSomebody({ client }: Stage, { hasFactor }: { readonly hasFactor: boolean }): Promise<Somebody> {
  const tenant = await client.tenant({ workspaces: 2 });
  const user = tenant.users.admin;
  const factor = hasFactor ? await enrol(client, user.token) : null;
  const put = await signIn(client, user, factor?.codes[0] ?? null);
  const other = await signIn(client, user, factor?.codes[1] ?? null);
  const agent = await made(client, user.token, '/agents', {
    slug: 'guide',
    name: 'Guide',
    revision: { model: 'builtin/extractive', instructions: 'Answer.' },
    activate: true,
  });
  const run = await made(client, user.token, '/runs', { agent_id: agent.id, input: { text: 'Hello' } });

  return { tenant, user, factor, acting: user.token, put, other, agentId: agent.id, runId: run.id };
}

/** Signs in with the password, and with a recovery code where there is a factor. */
async function signIn(client: Client, user: TestUser, code: string | null): Promise<Device> {
  const { body: login } = await client.logIn(user.email, testPassword);
  const { body } =
    code === null ? { body: login } : await verify(client, { challenge_id: login.challenge_id, method: 'recovery_code', code });
  return { sessionId: body.session_id, token: body.access_token, refreshToken: body.refresh_token };
}

/** POSTs what makes something, as it must. */
export async function made(client: Client, token: string, path: string, body: object, headers = {}) {
  const reply = await client.call('POST', path, { token, body, headers });
  if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** Gives everything pending an hour, so that nothing ends by itself before it is looked at. */
export async function stretch({ client }: Stage): Promise<void> {
  for (const table of ['oauth_codes', 'oauth_transactions', 'auth_challenges', 'stream_tokens'])
    await client.rows(`update ${table} set expires_at = now() + interval '1 hour'`);
}

/** The token of the newest mail about something. */
export async function tokenOfMail(client: Client, field: 'invitationId' | 'userId', id: string, template: string): Promise<string> {
  const [mail] = await client.rows<{ id: string }>(
    `select id from outbox where kind = 'mail' and payload -> 'mail' ->> 'template' = ? and payload -> 'mail' ->> ? = ? order by id desc limit 1`,
    [template, field, id],
  );
  if (!mail) throw new Error(`no mail ${template}`);
  return mailToken(client.api.keys.mailKeys[0], mail.id);
}

/** A code of the app that has not been used. */
export function unusedCode({ factor }: Somebody): string {
  if (!factor) throw new Error('there is no factor');
  return codeOf(factor.secret);
}
