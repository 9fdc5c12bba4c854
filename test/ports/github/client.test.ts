import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { deadlineIn } from '../../../ports/deadline.ts';
import { createEgress } from '../../../ports/egress/egress.ts';
import { createGitHub, type RepositoryClient } from '../../../ports/github/client.ts';
import { HostError } from '../../../ports/github/host-error.ts';
import { proveInstallation } from '../../../ports/github/prove.ts';
import { isUnchanged } from '../../../ports/github/send.ts';
import { startGitHubHost, type GitHubHost, type HostFault } from '../../fakes/github/index.ts';
import { addRepository, createScene, openPull, type Scene } from '../../fakes/github/scene.ts';
import { createApp } from '../../fakes/github/state.ts';

const egress = createEgress();
let host: GitHubHost;
let scene: Scene;

beforeAll(async () => {
  host = await startGitHubHost();
  scene = createScene(host);
});

beforeEach(() => {
  host.requests.length = 0;
  host.onRequest = null;
  host.state.clockShiftMs = 0;
});

afterAll(async () => {
  expect(host.mistakes).toEqual([]);
  host.close();
  await egress.close();
});

const signal = () => deadlineIn(20_000);
const newGitHub = () => createGitHub({ egress, apiUrl: host.env['GITHUB_API_URL'] ?? '', bucket: null });
const credentials = ({ app }: Pick<Scene, 'app'>) => ({ appId: String(app.id), privateKey: app.privateKey });

function clientOf(github = newGitHub()): RepositoryClient {
  const { installation, repository, fullName } = scene;
  return github.repository({ app: credentials(scene), installationId: installation.id, repositoryId: repository.id, fullName });
}

const read = (client: RepositoryClient) => client.rest('GET /repos/{owner}/{repo}', {}, { signal: signal() });
const mints = () => host.requests.filter(({ route }) => route.endsWith('/access_tokens'));

test('an installation proves its own repository and gives its id and the name as the host spells it', async () => {
  const target = { app: credentials(scene), installationId: scene.installation.id, fullName: 'OCTO/Hello' };

  const proof = await proveInstallation(newGitHub(), target, signal());

  expect(proof).toEqual({ state: 'proven', repositoryId: scene.repository.id, fullName: 'octo/hello', defaultBranch: 'main' });
});

test('a foreign App, a random installation, an ungranted repository, another key and a public namesake prove nothing', async () => {
  const stranger = createApp(host.state, 'stranger');
  addRepository(host, { owner: 'octo', name: 'secret' });
  addRepository(host, { owner: 'evil', name: 'hello', isPrivate: false });
  const own = { app: credentials(scene), installationId: scene.installation.id, fullName: 'octo/hello' };
  const prove = (changed: Partial<typeof own>) => proveInstallation(newGitHub(), { ...own, ...changed }, signal());

  const proofs = await Promise.all([
    prove({ app: credentials({ app: stranger }) }),
    prove({ installationId: 999_999 }),
    prove({ fullName: 'octo/secret' }),
    prove({ fullName: 'octo/none' }),
    prove({ app: { ...own.app, privateKey: stranger.privateKey } }),
    prove({ app: { ...own.app, privateKey: 'no key' } }),
    // Every token reads a public repository; that it lies in the installation is something else.
    prove({ fullName: 'evil/hello' }),
    prove({ fullName: 'hello' }),
  ]);

  expect(proofs).toEqual(proofs.map(() => ({ state: 'unproven' })));
});

test('a suspended installation says so', async () => {
  scene.installation.suspendedAt = '2026-01-01T00:00:00Z';
  const target = { app: credentials(scene), installationId: scene.installation.id, fullName: scene.fullName };

  const proof = await proveInstallation(newGitHub(), target, signal());
  scene.installation.suspendedAt = null;

  expect(proof).toEqual({ state: 'suspended' });
});

test.each([
  [-180_000, 1],
  [180_000, 0],
  [3_600_000, 1],
])('a host whose clock is %i ms ahead costs %i refusals, once', async (shiftMs, refusals) => {
  host.state.clockShiftMs = shiftMs;
  const github = newGitHub();

  await read(clientOf(github));
  await github.tokens.asApp(credentials(scene), { route: 'GET /app', parameters: {} }, signal());

  expect(host.requests.filter(({ status }) => status === 401).length).toBe(refusals);
});

test('a token that the host refuses midway is made anew once; refused again it is given up', async () => {
  const client = clientOf();
  await read(client);
  host.state.tokens.clear();

  await expect(read(client)).resolves.toMatchObject({ data: { full_name: 'octo/hello' } });
  expect(mints().length).toBe(2);

  host.onRequest = ({ route }) => (route === 'GET /repos/{owner}/{repo}' ? { before: 401, message: 'Bad credentials' } : null);
  await expect(read(client)).rejects.toMatchObject({ kind: 'unauthorized', isRetryable: false });
  expect(mints().length).toBe(3);
});

test('a token opens one repository with what a review needs', async () => {
  const client = clientOf();
  await read(client);
  await read(client);

  expect(mints().map(({ body }) => body)).toEqual([
    {
      repository_ids: [scene.repository.id],
      permissions: { contents: 'read', pull_requests: 'write', issues: 'write', checks: 'write' },
    },
  ]);
});

test.each([
  [299_000, 2],
  [360_000, 1],
])('a token that lives %i ms is made %i times for two requests', async (lifeMs, made) => {
  host.state.tokenLifeMs = lifeMs;
  const client = clientOf();
  await read(client);
  await read(client);
  host.state.tokenLifeMs = 3_600_000;

  expect(mints().length).toBe(made);
});

const faults: readonly (readonly [string, HostFault, object])[] = [
  [
    '429',
    { before: 429, headers: { 'retry-after': '7' } },
    { kind: 'limited', retryAfterMs: 7_000, isRetryable: true, mayHaveActed: false },
  ],
  ['a secondary limit', { before: 403, message: 'You have exceeded a secondary rate limit' }, { kind: 'limited', retryAfterMs: 60_000 }],
  ['403', { before: 403, message: 'Resource not accessible by integration' }, { kind: 'forbidden', isRetryable: false }],
  ['404', { before: 404 }, { kind: 'gone', isRetryable: false }],
  ['422', { before: 422 }, { kind: 'invalid', isRetryable: false }],
  ['502', { before: 502 }, { kind: 'failed', isRetryable: true, mayHaveActed: true }],
  ['a lost answer', { drop: true }, { kind: 'unreachable', isRetryable: true, mayHaveActed: true }],
];

test.each(faults)('%s is told apart', async (_name, fault, expected) => {
  const client = clientOf();
  host.onRequest = ({ route }) => (route === 'GET /repos/{owner}/{repo}' ? fault : null);

  const error = await read(client).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(HostError);
  expect(error).toMatchObject(expected);
});

test('a used-up limit waits until the host’s own time of its reset', async () => {
  const client = clientOf();
  host.state.clockShiftMs = 1_800_000;
  const resetS = Math.floor(host.state.now().getTime() / 1_000) + 90;
  const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(resetS) };
  host.onRequest = ({ route }) => (route === 'GET /repos/{owner}/{repo}' ? { before: 403, headers } : null);

  const error = await read(client).catch((thrown: unknown) => thrown);

  expect(error).toMatchObject({ kind: 'limited' });
  expect(Math.abs((error as HostError).retryAfterMs! - 90_000)).toBeLessThan(5_000);
});

test('errors hold neither token nor key', async () => {
  const client = clientOf();
  host.onRequest = ({ headers, route }) => {
    if (route !== 'GET /repos/{owner}/{repo}') return null;
    return { before: 422, message: `no ${headers.authorization} at https://x:y@host/ ${scene.app.privateKey}` };
  };

  const error = (await read(client).catch((thrown: unknown) => thrown)) as HostError;

  const [token = ''] = [...host.state.tokens.keys()].slice(-1);
  const all = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
  expect(error.message).toContain('no Bearer [redacted] at https://host/');
  expect(all).not.toContain(token);
  expect(all).not.toContain('PRIVATE KEY');
});

test('what has not changed is not sent again', async () => {
  const client = clientOf();
  const { headers } = await read(client);

  const again = client.rest('GET /repos/{owner}/{repo}', {}, { signal: signal(), etag: headers.etag ?? '' });

  await expect(again.catch(isUnchanged)).resolves.toBe(true);
});

test('GraphQL answers by GitHub’s schema; its errors have classes', async () => {
  const client = clientOf();
  const { number } = openPull(scene.repository, { branch: 'one', files: { 'a.txt': 'a\n' } });
  const ask = (fields: string, pull = number) =>
    client.graphql(
      {
        document: `query($n: Int!) { repository(owner: "octo", name: "hello") { pullRequest(number: $n) { ${fields} } } }`,
        variables: { n: pull },
        isMutation: false,
      },
      signal(),
    );

  await expect(ask('number reviewThreads(first: 10) { totalCount }')).resolves.toEqual({
    repository: { pullRequest: { number, reviewThreads: { totalCount: 0 } } },
  });
  await expect(ask('number', 77)).rejects.toMatchObject({ kind: 'gone' });
  await expect(ask('nothingLikeIt')).rejects.toMatchObject({ kind: 'unexpected' });
});
