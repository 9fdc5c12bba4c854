import { allows, appOfJwt, installationOf, mintToken, tokenOf } from './auth.ts';
import { appRoutes } from './rest-app.ts';
import { checkRoutes } from './rest-checks.ts';
import { commentRoutes } from './rest-comments.ts';
import { pullRoutes } from './rest-pulls.ts';
import { notFound, Refusal } from './refusal.ts';
import type { FakeApp, FakePull, FakeRepository, FakeToken, HostState } from './state.ts';

type Json = Record<string, any>;

export interface RestContext {
  readonly state: HostState;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Json;
  readonly app: FakeApp;
}

export interface RepositoryContext extends RestContext {
  readonly repository: FakeRepository;
  readonly token: FakeToken;
  /** The pull request that the path names. 404 where there is none. */
  readonly pull: () => FakePull;
}

export interface RestAnswer {
  readonly status?: number;
  readonly data: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type AppHandler = (ctx: RestContext) => RestAnswer | Promise<RestAnswer>;
export type RepositoryHandler = (ctx: RepositoryContext) => RestAnswer;

/** A route of a repository with the permissions that open it: any of them. */
export interface RepositoryRoute {
  readonly needs: readonly (readonly [string, 'read' | 'write'])[];
  readonly handle: RepositoryHandler;
}

const repositoryRoutes: Readonly<Record<string, RepositoryRoute>> = { ...pullRoutes, ...commentRoutes, ...checkRoutes };

export interface RestRequest {
  readonly route: string;
  readonly authorization: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Json;
}

/** Answers a request that the description knows. Throws Refusal. */
export async function answerRest(state: HostState, { route, authorization, ...request }: RestRequest): Promise<RestAnswer> {
  if (route.includes(' /app')) {
    const app = appOfJwt(state, authorization);
    if (route === 'POST /app/installations/{installation_id}/access_tokens') return mint(state, app, request);
    return appRoutes[route]!({ state, app, ...request });
  }
  const token = tokenOf(state, authorization);
  const { needs, handle } = repositoryRoutes[route]!;
  const repository = state.repositories.find(
    ({ owner, name }) => same(owner, request.params['owner']) && same(name, request.params['repo']),
  );
  const isRead = needs.every(([, level]) => level === 'read');
  // Every token reads every public repository.
  if (!repository || !(token.repositoryIds.has(repository.id) || (isRead && !repository.isPrivate))) throw notFound();
  if (!needs.some(([name, level]) => allows(token.permissions[name], level)))
    throw new Refusal(403, 'Resource not accessible by integration');

  const app = state.apps.find(({ id }) => id === token.installation.appId)!;
  const pull = (): FakePull => {
    const found = repository.pulls.get(Number(request.params['pull_number'] ?? request.params['issue_number']));
    if (!found) throw notFound();
    return found;
  };
  return handle({ state, app, token, repository, pull, ...request });
}

function mint(state: HostState, app: FakeApp, { params, body }: Omit<RestRequest, 'route' | 'authorization'>): RestAnswer {
  const made = mintToken(state, installationOf(state, app, Number(params['installation_id'])), body);
  const granted = state.repositories.filter(({ id }) => made.repositoryIds.has(id));
  return { status: 201, data: appRoutes.tokenView(made, granted) };
}

function same(name: string, asked: string | undefined): boolean {
  return name.toLowerCase() === asked?.toLowerCase();
}
