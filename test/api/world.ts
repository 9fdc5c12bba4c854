import { startApi, type TestApi, type TestApiOptions } from '../support/api.ts';
import { bearer, makeTenant, type TestTenant } from '../support/tenant.ts';

/** A reply as tests read it; `body` is whatever JSON came. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  // Tests look at fields by name; the replies themselves are validated against the served document.
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any
}

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One API process on a database of its own, for all tests of a file. */
export interface World {
  readonly api: TestApi;
  tenant(options?: Parameters<typeof makeTenant>[2]): Promise<TestTenant>;
  call(token: string, method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, options?: CallOptions): Promise<Answer>;
  close(): Promise<void>;
}

export async function openWorld(options: TestApiOptions = {}): Promise<World> {
  const api = await startApi(options);

  return {
    api,
    tenant: (shape) => makeTenant(api.db, api.keys, shape),
    async call(token, method, path, { body, headers } = {}) {
      const reply = await api.app.inject({
        method,
        url: path,
        headers: { ...bearer(token), ...headers },
        ...(body === undefined ? {} : { payload: body as object }),
      });
      return {
        status: reply.statusCode,
        headers: reply.headers as Record<string, string | undefined>,
        body: reply.body === '' ? null : JSON.parse(reply.body),
      };
    },
    close: () => api.close(),
  };
}

/** An active agent on the model that needs no provider; gives the agent's view. */
export async function makeAgent(world: World, token: string, extra: Readonly<Record<string, unknown>> = {}) {
  const slug = `agent-${Math.random().toString(36).slice(2, 10)}`;
  const made = await world.call(token, 'POST', '/agents', {
    body: { slug, name: 'Agent', revision: { model: 'builtin/extractive', instructions: 'Answer.' }, activate: true, ...extra },
  });
  if (made.status !== 201) throw new Error(`createAgent: ${made.status} ${JSON.stringify(made.body)}`);
  return made.body;
}
