import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { startApi, type TestApi, type TestApiOptions } from '../../support/api.ts';
import { makeTenant, type TenantOptions, type TestTenant } from '../../support/tenant.ts';

/** A reply as these tests read it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | string[] | undefined>>;
  // Tests look at fields by name; the replies themselves are validated against the served document.
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any
}

export interface Ask {
  /** An access token or service key, sent as bearer. */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** One API process on a database of its own, for all tests of a file. */
export interface Client {
  readonly api: TestApi;
  tenant(options?: TenantOptions): Promise<TestTenant>;
  call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, ask?: Ask): Promise<Answer>;
  logIn(email: string, password: string, from?: string): Promise<Answer>;
  /** Reads or changes rows of any tenant. */
  rows<T = unknown>(sql: string, params?: readonly unknown[]): Promise<T[]>;
  /** The statements of the callers' pool while `work` runs. */
  statementsOf(work: () => Promise<unknown>): Promise<string[]>;
  close(): Promise<void>;
}

/** Options name the database and keys of another, to be its second process. */
export async function openClient(options: Pick<TestApiOptions, 'database' | 'keys' | 'redisPrefix' | 'env' | 'log'> = {}): Promise<Client> {
  const api = await startApi(options);
  const client: Client = {
    api,
    tenant: (options) => makeTenant(api.db, api.keys, options),
    async call(method, path, { token, headers, body } = {}) {
      const reply = await api.app.inject({
        method,
        url: path,
        headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
        ...(body === undefined ? {} : { payload: body as object }),
      });

      return { status: reply.statusCode, headers: reply.headers, body: reply.body === '' ? null : JSON.parse(reply.body) };
    },
    logIn: (email, password, from) =>
      client.call('POST', '/auth/login', { body: { email, password }, ...(from ? { headers: { 'user-agent': from } } : {}) }),
    rows: (sql, params) => sweep(api.db, (em) => rows(em, sql, params)),
    async statementsOf(work) {
      const seen: string[] = [];
      const { config } = api.db.app;
      const before = config.get('onQuery');

      config.set('onQuery', (sql, params) => {
        seen.push(sql);
        return before(sql, params);
      });
      await work();
      config.set('onQuery', before);
      return seen;
    },
    close: () => api.close(),
  };

  return client;
}

/** What of a failing reply must be alike when nothing may be learnt from it. */
export function bareRefusal({ status, body }: Answer) {
  const { correlation_id: _correlation, instance: _instance, ...rest } = body;

  return { status, ...rest };
}
