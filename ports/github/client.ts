import type { Egress } from '../egress/egress.ts';
import { createHostClock, type HostClock } from './app-jwt.ts';
import type { HostBucket } from './bucket.ts';
import { HostError } from './host-error.ts';
import { graphqlData, graphqlUrl } from './graphql.ts';
import { send, sendAny, type HostAnswer, type HostParameters, type HostRoute, type SendOptions } from './send.ts';
import type { AppCredentials } from './app-key.ts';
import { createAppTokens, reviewPermissions, type AppTokens, type TokenPermissions, type TokenScope } from './tokens.ts';

export interface GitHubDeps {
  readonly egress: Pick<Egress, 'fetch'>;
  readonly apiUrl: string;
  /** Null: nothing is counted (the proof of a binding, which the API limits). */
  readonly bucket: HostBucket | null;
  /** Replaced in tests. */
  readonly clock?: HostClock;
}

/** A repository as an installation of an App reaches it. */
export interface RepositoryAccess {
  readonly app: AppCredentials;
  readonly installationId: number;
  readonly repositoryId: number;
  /** `owner/name`, as the host spells it now. */
  readonly fullName: string;
  /** Permissions of its tokens; those of a review by default. */
  readonly permissions?: TokenPermissions;
}

type Asked = Pick<SendOptions, 'signal' | 'etag' | 'accept'>;

/** Parameters of a route without those that name the repository. */
export type RepositoryParameters<R extends HostRoute> = Omit<HostParameters<R>, 'owner' | 'repo'>;

/** Sends requests about one repository, with tokens that open only that one. A 401 leads to one new token; every other failure is thrown as HostError. */
export interface RepositoryClient {
  readonly fullName: string;
  rest<R extends HostRoute>(route: R, parameters: RepositoryParameters<R>, asked: Asked): Promise<HostAnswer<R>>;
  /** Runs a document of the GraphQL API and returns its `data`; `isMutation` determines its cost. */
  graphql(request: GraphqlRequest, signal: AbortSignal): Promise<unknown>;
  /** Returns the App's identity, requested once per process. */
  self(signal: AbortSignal): Promise<OwnApp>;
  /** Returns the token for git. `isNew` when the host has refused the last one. */
  token(signal: AbortSignal, isNew?: boolean): Promise<string>;
}

/** The App as the host knows it. */
export interface OwnApp {
  readonly id: number;
  /** Author of what it writes: `slug[bot]`. */
  readonly login: string;
}

export interface GraphqlRequest {
  readonly document: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly isMutation: boolean;
}

/** The Git host's API. */
export interface GitHub {
  readonly tokens: AppTokens;
  repository(access: RepositoryAccess): RepositoryClient;
  /** Returns a client for a given token scope; every caller except the proof of a binding uses `repository`. */
  scoped(app: AppCredentials, scope: TokenScope, fullName: string): RepositoryClient;
}

/** One per process: it caches tokens and the offset of the host's clock. */
export function createGitHub({ egress, apiUrl, bucket, clock = createHostClock() }: GitHubDeps): GitHub {
  const deps = { egress, apiUrl };
  const tokens = createAppTokens(deps, clock);
  const apps = new Map<string, OwnApp>();
  return {
    tokens,
    scoped,
    repository: ({ app, installationId, repositoryId, fullName, permissions = reviewPermissions }) =>
      scoped(app, { installationId, repository: { id: repositoryId }, permissions }, fullName),
  };

  function scoped(app: AppCredentials, scope: TokenScope, fullName: string): RepositoryClient {
    const [owner = '', repo = ''] = fullName.split('/');
    const share = `${app.appId}:${scope.installationId}`;
    const token = async (signal: AbortSignal, isNew = false): Promise<string> => {
      if (isNew) tokens.drop(app, scope);
      return (await tokens.forInstallation(app, scope, signal)).token;
    };
    const authorized = async <R>(signal: AbortSignal, work: (authorization: string) => Promise<R>): Promise<R> => {
      try {
        return await work(`Bearer ${await token(signal)}`);
      } catch (error) {
        if (!(error instanceof HostError && error.kind === 'unauthorized' && error.status === 401)) throw error;
        return work(`Bearer ${await token(signal, true)}`);
      }
    };

    return {
      fullName,
      token,
      async self(signal) {
        const self = apps.get(app.appId) ?? (await readApp(tokens, app, signal));
        apps.set(app.appId, self);
        return self;
      },
      async rest(route, parameters, asked) {
        await bucket?.take(share, costOf(route));
        // Adds the two parameters that were omitted.
        const named = { owner, repo, ...parameters } as unknown as HostParameters<typeof route>;
        return authorized(asked.signal, (authorization) => send(deps, { route, parameters: named }, { ...asked, authorization }));
      },
      async graphql({ document, variables, isMutation }, signal) {
        await bucket?.take(share, { points: isMutation ? 5 : 1, creations: 0 });
        const request = { route: 'POST /graphql', parameters: { query: document, variables } };
        const answer = await authorized(signal, (authorization) =>
          sendAny({ egress, apiUrl: graphqlUrl(apiUrl) }, request, { authorization, signal }),
        );
        return graphqlData(answer.data);
      },
    };
  }
}

async function readApp(tokens: AppTokens, app: AppCredentials, signal: AbortSignal): Promise<OwnApp> {
  const { data } = await tokens.asApp(app, { route: 'GET /app', parameters: {} }, signal);
  if (data === null || data.slug === undefined) throw new HostError('GET /app: no App', { kind: 'unexpected' });
  return { id: Number(data.id), login: `${data.slug}[bot]` };
}

function costOf(route: string): { readonly points: number; readonly creations: number } {
  const [method] = route.split(' ');
  return method === 'GET' ? { points: 1, creations: 0 } : { points: 5, creations: method === 'POST' ? 1 : 0 };
}
