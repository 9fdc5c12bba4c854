import { WebSocket } from 'ws';
import { testPassword } from '../../support/tenant.ts';
import { openSse } from '../../streams/sse-client.ts';
import { mailedToken, resetTokenOf, verify } from '../authentication/second-factor.ts';
import { approve, authorizePath, exchange, grantTo, refresh, type TestClient } from '../oauth/client.ts';
import { openSession } from '../mcp/client.ts';
import { made, tokenOfMail, unusedCode, type Somebody, type Stage } from './stage.ts';

/** What has become of something: `held` is 401 `mfa_required` until the person has enrolled a factor. */
export type Outcome = 'ends' | 'stays' | 'held';

/** Tries something pending; gives what has become of it. */
type Probe = () => Promise<Outcome>;

interface Reply {
  readonly status: number;
  // Tests look at fields by name.
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any
}

/** What an answer says about whatever it was asked with. */
export function outcomeOf({ status, body }: Reply): Outcome {
  if (status < 300) return 'stays';
  if (status === 401 && body?.code === 'mfa_required') return 'held';
  if ([400, 401, 403, 404, 410, 423].includes(status)) return 'ends';
  throw new Error(`neither let in nor put out: ${status} ${JSON.stringify(body)}`);
}

/** What somebody has pending, each by its column of the table. The order matters: later ones change what earlier ones look at. */
export async function prepareThings(stage: Stage, somebody: Somebody): Promise<Readonly<Record<string, Probe>>> {
  const { put } = somebody;
  const app = await stage.oauth.client(somebody.tenant.tokens.operator);

  return {
    'session': await session(stage, somebody),
    'refresh token': async () => outcomeOf(await stage.client.call('POST', '/auth/refresh', { body: { refresh_token: put.refreshToken } })),
    'other sessions': async () => outcomeOf(await agents(stage, somebody.other.token)),
    'connected apps': await connectedApp(stage, somebody, app),
    'service keys': await serviceKey(stage, somebody),
    'invitations': await invitation(stage, somebody),
    'code': await code(stage, somebody, app),
    'open consent': await openConsent(stage, somebody, app),
    ...(somebody.factor ? { 'half-done sign-in': await halfSignIn(stage, somebody) } : {}),
    'reset token': await resetToken(stage, somebody),
    'change of address': await changeOfAddress(stage, somebody),
  };
}

function agents({ client }: Stage, token: string): Promise<Reply> {
  return client.call('GET', '/agents', { token });
}

/** Its access token, and a request that is repeated under its Idempotency-Key. */
async function session(stage: Stage, { put, agentId }: Somebody): Promise<Probe> {
  const repeat = () =>
    stage.client.call('POST', '/runs', {
      token: put.token,
      headers: { 'idempotency-key': 'again' },
      body: { agent_id: agentId, input: { text: 'Again' } },
    });
  await repeat();

  return async () => {
    const outcome = outcomeOf(await agents(stage, put.token));
    if (outcome !== 'stays' && outcomeOf(await repeat()) !== outcome) throw new Error('a repeat is let in, the session is not');
    return outcome;
  };
}

async function connectedApp(stage: Stage, { put }: Somebody, app: TestClient): Promise<Probe> {
  const tokens = await grantTo(stage.oauth, app, put);

  return async () => {
    const outcome = outcomeOf(await agents(stage, tokens.access));
    const renewed = await refresh(stage.oauth, app, tokens.refresh);
    if (outcome === 'ends' && renewed.status === 200) throw new Error('the app has ended, its refresh token has not');
    return outcome;
  };
}

async function serviceKey(stage: Stage, { put }: Somebody): Promise<Probe> {
  const key = await made(stage.client, put.token, '/service-keys', { name: 'back end' });
  return async () => outcomeOf(await agents(stage, key.plaintext));
}

async function invitation(stage: Stage, { put }: Somebody): Promise<Probe> {
  const email = freshAddress();
  const { id } = await made(stage.client, put.token, '/invitations', { email, role: 'viewer' });
  const token = await tokenOfMail(stage.client, 'invitationId', id, 'invitation');
  const body = { token, email, password: 'violet anchor meadow 42' };

  return async () => outcomeOf(await stage.client.call('POST', '/invitations/accept', { body }));
}

async function code(stage: Stage, { put }: Somebody, app: TestClient): Promise<Probe> {
  const approved = await approve(stage.oauth, app, { token: put.token });

  return async () => {
    const exchanged = await exchange(stage.oauth, app, approved);
    return exchanged.status === 200 ? outcomeOf(await agents(stage, exchanged.body.access_token)) : outcomeOf(exchanged);
  };
}

/** Nobody's until somebody decides: another may still. */
async function openConsent(stage: Stage, { tenant, put }: Somebody, app: TestClient): Promise<Probe> {
  const started = await stage.oauth.get(authorizePath(app));
  const decide = (token: string) =>
    stage.oauth.json(token, '/oauth/authorize', { transaction_id: started.body.transaction_id, decision: 'approve' });

  return async () => {
    const session = outcomeOf(await agents(stage, put.token));
    if (session !== 'stays' && outcomeOf(await decide(put.token)) !== session) throw new Error('who was put out still decides');
    return outcomeOf(await decide(tenant.tokens.operator));
  };
}

async function halfSignIn(stage: Stage, somebody: Somebody): Promise<Probe> {
  const { body } = await stage.client.logIn(somebody.user.email, testPassword);
  return async () => outcomeOf(await verify(stage.client, { challenge_id: body.challenge_id, code: unusedCode(somebody) }));
}

async function changeOfAddress({ client }: Stage, { put, user }: Somebody): Promise<Probe> {
  const asked = await client.call('PATCH', '/auth/me', { token: put.token, body: { email: freshAddress() } });
  if (asked.status !== 200) throw new Error(`updateMe: ${asked.status} ${JSON.stringify(asked.body)}`);
  const token = await mailedToken(client, 'email_confirm', user.id);

  return async () => {
    const [shown] = await client.rows<{ pending: string | null }>(
      'select pending_email as pending from user_credentials where user_id = ?',
      [user.id],
    );
    const outcome = outcomeOf(await client.call('POST', '/auth/email/confirm', { body: { token } }));
    if (outcome === 'stays' && shown?.pending === null) throw new Error('confirmed what is not shown as pending');
    return outcome;
  };
}

async function resetToken({ client }: Stage, { user }: Somebody): Promise<Probe> {
  const token = await resetTokenOf(client, user.id);

  return async () => {
    // A password that won't do is told to whoever has an open link, and costs nobody the link.
    const answer = await client.call('POST', '/auth/password/reset', { body: { token, new_password: 'password' } });
    return answer.status === 422 ? 'stays' : outcomeOf(answer);
  };
}

/** Something that is open, and how it ends. */
export interface Open {
  readonly ended: Promise<unknown>;
  readonly look: Probe;
}

/** What is open on a run by a credential, each by its column. A null MCP stream: the credential is good at the API alone. */
export async function openThings(
  { client }: Stage,
  { token, runId, hasMcp }: { readonly token: string; readonly runId: string; readonly hasMcp: boolean },
): Promise<Readonly<Record<string, Open>>> {
  const stream = await openSse(client.api.url, runId, { bearer: token });
  const socket = await openSocket(client.api.url, runId, await streamTokenOf(client, { token, runId }));
  const wait = waitFor(client.api.url, runId, token);

  await Promise.all([stream.until(({ frames }) => frames.length > 0), socket.opened]);
  return {
    'event stream': {
      ended: stream.ended,
      look: async () => {
        await stream.ended;
        return stream.frames.at(-1)?.type === 'run.finished' ? 'stays' : 'ends';
      },
    },
    'socket': { ended: socket.ended, look: async () => ((await socket.ended) === 1000 ? 'stays' : 'ends') },
    'wait': { ended: wait, look: async () => ((await wait).status === 200 ? 'stays' : 'ends') },
    ...(hasMcp ? { 'MCP stream': await openMcpStream(client.api, token) } : {}),
  };
}

/** A token that is still to be used. */
export async function pendingStreamToken({ client }: Stage, by: { readonly token: string; readonly runId: string }): Promise<Probe> {
  const token = await streamTokenOf(client, by);

  return async () => {
    const socket = await openSocket(client.api.url, by.runId, token);
    const isIn = await Promise.race([socket.opened.then(() => true), socket.ended.then((closed) => closed === 1000)]);
    socket.close();
    return isIn ? 'stays' : 'ends';
  };
}

async function streamTokenOf(client: Stage['client'], { token, runId }: { token: string; runId: string }): Promise<string> {
  return (await made(client, token, `/runs/${runId}/stream-token`, {})).token;
}

/** `opened` with the run's first frame; a refusal is a notice, whose number is null. */
async function openSocket(url: string, runId: string, token: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws/runs/${runId}`);
  const { promise: opened, resolve } = Promise.withResolvers<void>();
  socket.on('message', (message) => {
    if (!String(message).includes('"seq":null')) resolve();
  });
  socket.on('error', () => undefined);
  const ended = new Promise<number>((end) => socket.on('close', end));
  await new Promise((open) => socket.on('open', open));
  socket.send(JSON.stringify({ type: 'auth', token }));
  return { opened, ended, close: () => socket.terminate() };
}

async function waitFor(url: string, runId: string, token: string): Promise<Reply> {
  const reply = await fetch(`${url}/runs/${runId}/wait?timeout_s=60`, { headers: { authorization: `Bearer ${token}` } });
  return { status: reply.status, body: await reply.json() };
}

async function openMcpStream(api: Stage['client']['api'], token: string): Promise<Open> {
  const headers = { ...(await openSession(api, token)), authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  const leaving = new AbortController();
  const reply = await fetch(`${api.url}/mcp`, { headers, signal: leaving.signal });
  if (reply.status !== 200) throw new Error(`streamMcp: ${reply.status}`);
  let isOver = false;
  const ended = reply
    .text()
    .catch(() => undefined)
    .finally(() => (isOver = true));

  return {
    ended,
    look: async () => {
      const outcome = isOver ? 'ends' : 'stays';
      leaving.abort();
      return outcome;
    },
  };
}

function freshAddress(): string {
  return `new-${crypto.randomUUID()}@example.test`;
}
