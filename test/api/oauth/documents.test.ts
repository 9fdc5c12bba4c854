import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createEgress } from '../../../ports/egress/egress.ts';
import { age, authorizePath, documentsOf, grantTo, openOauth, refresh, type OauthWorld, type TestClient } from './client.ts';

const base = 'https://client.test';
const redirectUri = 'http://localhost:7777/callback';
const good = (path: string, more: Readonly<Record<string, unknown>> = {}) => ({
  client_id: `${base}${path}`,
  client_name: 'Document app',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  ...more,
});

const documents: Record<string, unknown> = Object.fromEntries(
  Object.entries({
    '/good': good('/good'),
    '/cached': good('/cached'),
    '/changing': good('/changing'),
    '/deleted': good('/deleted'),
    '/other': good('/good'),
    '/secret': good('/secret', { client_secret: 'x' }),
    '/method': good('/method', { token_endpoint_auth_method: 'client_secret_post' }),
    '/jwt': good('/jwt', { token_endpoint_auth_method: 'private_key_jwt' }),
    '/redirect': good('/redirect', { redirect_uris: ['http://evil.test/cb'] }),
    '/native': good('/native', { redirect_uris: ['vscode://editor/callback', redirectUri] }),
    '/script': good('/script', { redirect_uris: ['javascript://editor/callback', redirectUri] }),
    '/none': good('/none', { redirect_uris: [] }),
    '/types': good('/types', { redirect_uris: 'x' }),
    '/long': good('/long', { padding: 'x'.repeat(6_000) }),
    '/nul': good('/nul', { client_name: 'a\u0000b' }),
    '/array': [],
    '/garbage': '{',
    '/bidi': good('/bidi', { client_name: 'Good\u202eppa\u200b app' }),
  }).map(([path, document]) => [`${base}${path}`, document]),
);

const egress = documentsOf(documents, { 'cache-control': 'public, max-age=600' });
let world: OauthWorld;

beforeAll(async () => {
  world = await openOauth({ egress });
});

afterAll(() => world.close());

const clientAt = (path: string): TestClient => ({ clientId: `${base}${path}`, secret: null, redirectUri });
const start = (path: string) => world.get(authorizePath(clientAt(path)));

test('a client that names itself by its document signs a user in; the page is told its host', async () => {
  const { users } = await world.tenant();

  const started = await start('/good');
  const grant = await grantTo(world, clientAt('/good'), users.member);
  const renewed = await refresh(world, clientAt('/good'), grant.refresh);

  expect(started.body).toMatchObject({
    client: { client_id: `${base}/good`, client_name: 'Document app', kind: 'document', host: 'client.test' },
    warnings: ['loopback_only'],
    redirect_host: 'localhost:7777',
  });
  expect(renewed.status).toBe(200);
});

test('a document may name a private scheme; people see the whole address', async () => {
  const { users } = await world.tenant();
  const native = { ...clientAt('/native'), redirectUri: 'vscode://editor/callback' };

  const started = await world.get(authorizePath(native));

  expect(started.body).toMatchObject({ redirect_host: 'vscode://editor/callback', warnings: ['private_scheme'] });
  expect((await grantTo(world, native, users.member)).access).toBeTruthy();
});

test('a document is asked for once within what its headers allow, by whoever asks at once', async () => {
  const askedFor = () => egress.asked.filter((url) => url === `${base}/cached`).length;

  await Promise.all(Array.from({ length: 10 }, () => start('/cached')));
  expect(askedFor()).toBe(1);
  await start('/cached');
  expect(askedFor()).toBe(1);
  await age(world, "update oauth_clients set document_expires_at = now() - interval '1 second' where client_id = ?", [`${base}/cached`]);
  await start('/cached');
  expect(askedFor()).toBe(2);
});

test('what a document says later counts once it is read again', async () => {
  await start('/changing');
  documents[`${base}/changing`] = good('/changing', { client_name: 'Renamed', redirect_uris: ['https://client.test/cb'] });
  await age(world, "update oauth_clients set document_expires_at = now() - interval '1 second' where client_id = ?", [`${base}/changing`]);

  expect((await start('/changing')).status).toBe(400);
  const started = await world.get(authorizePath({ ...clientAt('/changing'), redirectUri: 'https://client.test/cb' }));
  expect(started.body).toMatchObject({ client: { client_name: 'Renamed' }, warnings: [] });
});

test.each([
  '/other',
  '/secret',
  '/method',
  '/jwt',
  '/redirect',
  '/script',
  '/none',
  '/types',
  '/long',
  '/nul',
  '/array',
  '/garbage',
  '/absent',
])('the document %s makes no client, and is not asked for again at once', async (path) => {
  const [first, second] = [await start(path), await start(path)];

  for (const refused of [first, second])
    expect(refused).toMatchObject({ status: 400, body: { code: 'oauth_request_invalid', error: 'invalid_client', context: {} } });
  expect(egress.asked.filter((url) => url === `${base}${path}`)).toHaveLength(1);
});

test.each([
  'https://client.test',
  'https://client.test/',
  'http://client.test/good',
  'https://client.test/a/../good',
  'https://user@client.test/good',
  'https://client.test/good#x',
  'HTTPS://client.test/good',
])('%s is no name of a client, and nothing is fetched', async (clientId) => {
  const before = egress.asked.length;

  const refused = await world.get(authorizePath({ clientId, secret: null, redirectUri }));

  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_client' } });
  expect(egress.asked).toHaveLength(before);
});

test('a name is shown without characters that turn or hide text', async () => {
  expect((await start('/bidi')).body.client.client_name).toBe('Goodppa app');
});

test('a document client whom an operator has deleted stays shut out', async () => {
  const { tokens } = await world.tenant();
  await start('/deleted');

  const removed = await world.remove(`/oauth-clients/${encodeURIComponent(`${base}/deleted`)}`, tokens.operator);
  await age(world, "update oauth_clients set document_expires_at = now() - interval '1 second' where client_id = ?", [`${base}/deleted`]);

  expect(removed.status).toBe(204);
  expect(await start('/deleted')).toMatchObject({ status: 400, body: { error: 'invalid_client' } });
});

test('the guard lets nothing be fetched from the network of the deployment', async () => {
  const real = createEgress();
  const guarded = await openOauth({ egress: real });
  const targets = [
    'https://127.0.0.1/client',
    'https://[::1]/client',
    'https://169.254.169.254/latest',
    'https://10.0.0.1/x',
    'https://localhost/client',
    'https://127.0.0.1:8443/client',
  ];

  const answers = await Promise.all(targets.map((clientId) => guarded.get(authorizePath({ clientId, secret: null, redirectUri }))));
  await guarded.close();
  await real.close();

  expect(answers.map(({ status, body }) => [status, body.error])).toEqual(targets.map(() => [400, 'invalid_client']));
});

test('while off, no document is read and the metadata says so', async () => {
  const asked = documentsOf(documents);
  const off = await openOauth({ egress: asked, env: { OAUTH_CLIENT_DOCUMENTS: 'false' } });

  const refused = await off.get(authorizePath(clientAt('/good')));
  const metadata = await off.get('/.well-known/oauth-authorization-server');
  await off.close();

  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_client' } });
  expect(asked.asked).toEqual([]);
  expect(metadata.body.client_id_metadata_document_supported).toBe(false);
});
