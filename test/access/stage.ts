import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Area, RegisteredOperation } from '../../api/http/operation/operation.ts';
import { limitPolicies } from '../../api/http/operation/quotas.ts';
import { liveOperations } from '../../api/http/operation/registry.ts';
import { areas as ownAreas } from '../../api/operations.ts';
import { createLog } from '../../api/dependencies.ts';
import { asObject } from './requests.ts';
import { startRelay } from '../../temporal/relay.ts';
import { startGitHubHost, type GitHubHost } from '../fakes/github/index.ts';
import { createApp, type FakeApp } from '../fakes/github/state.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { testDatabase } from '../support/database.ts';
import { withAdmin } from '../support/template.ts';
import { testNamespace, type TestNamespace } from '../support/temporal.ts';
import { createLeakWatch, type LeakWatch } from './leaks.ts';
import type { Actor } from './world/actors.ts';
import { makeAccessWorld, type AccessWorld } from './world/world.ts';

/** A fault that a check has found: which operation, and what was wrong. */
export interface Fault {
  readonly operation: string;
  readonly fault: string;
}

/** One request and its reply, as checks look at them. */
export interface Sent {
  readonly operation: RegisteredOperation;
  readonly actor: Actor;
  readonly status: number;
  readonly code: string | null;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>> | null;
  readonly correlationId: string;
}

export interface Ask {
  readonly url: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The API over the world, with everything that it has said and written. */
export interface Stage {
  readonly api: TestApi;
  readonly world: AccessWorld;
  /** The operations as they should be; the API may be built from spoilt ones. */
  readonly operations: readonly RegisteredOperation[];
  readonly sent: readonly Sent[];
  readonly leaks: LeakWatch;
  readonly insiders: readonly string[] | null;
  /** The Git host, and the deployment's App there. */
  readonly gitHub: { readonly host: GitHubHost; readonly app: FakeApp };
  /** Lines of the API's log. */
  readonly lines: readonly string[];
  send(operation: RegisteredOperation, actor: Actor, ask: Ask): Promise<Sent>;
  close(): Promise<void>;
}

export interface StageOptions {
  /** Operations that are mounted instead of the real ones. */
  readonly areas?: readonly Area[];
  /** Opens every policy, so that the queries' own predicates stand alone. */
  readonly withoutPolicies?: boolean;
  /** Replies that differ from the document are somebody else's concern here. */
  readonly isUnchecked?: boolean;
  /** Names of those of A who try foreign ids; without it all. */
  readonly insiders?: readonly string[];
}

// The walk is quicker than any client may be; those of the login can't be switched off.
const limits = limitPolicies.map((policy) => `${policy}=${policy.startsWith('login_') ? '1000000/60' : 'off'}`).join(',');

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const place = await testNamespace();
  const lines: string[] = [];
  const mails = mkdtempSync(join(tmpdir(), 'longhaul-mails-'));
  const database = await testDatabase({ poolMax: 5 });
  const host = await startGitHubHost();
  const app = createApp(host.state, 'longhaul');
  const api = await startApi({
    keys: place.keys,
    database,
    log: createLog('trace', { write: (line) => void lines.push(line) }),
    areas: options.areas,
    isUnchecked: options.isUnchecked ?? false,
    env: {
      TEMPORAL_NAMESPACE: place.namespace,
      RATE_LIMITS: limits,
      MAIL_DIR: mails,
      OAUTH_DYNAMIC_REGISTRATION: 'true',
      ...host.env,
      GITHUB_APP_ID: String(app.id),
      GITHUB_APP_PRIVATE_KEY: app.privateKey,
    },
  });
  if (options.withoutPolicies) await openPolicies(database.adminUrl);
  await settleToolTests(database.adminUrl);
  const world = await makeAccessWorld({ db: api.db, keys: api.keys, adminUrl: database.adminUrl });
  const leaks = createLeakWatch(world);
  await leaks.learn();
  return stageOf({ api, world, leaks, lines, place, database, mails, gitHub: { host, app }, insiders: options.insiders ?? null });
}

interface Parts {
  readonly api: TestApi;
  readonly world: AccessWorld;
  readonly leaks: LeakWatch;
  readonly lines: string[];
  readonly place: TestNamespace;
  readonly mails: string;
  readonly gitHub: Stage['gitHub'];
  readonly insiders: readonly string[] | null;
  readonly database: Awaited<ReturnType<typeof testDatabase>>;
}

function stageOf({ api, world, leaks, lines, place, database, mails, gitHub, insiders }: Parts): Stage {
  const sent: Sent[] = [];
  // A busy machine answers the first try too late now and then; no worker is here to try again.
  const relay = startRelay({ temporal: place.temporal, db: api.db, log: api.deps.log });
  return {
    api,
    world,
    leaks,
    lines,
    gitHub,
    insiders,
    sent,
    operations: liveOperations(ownAreas),
    async send(operation, actor, { url, body, headers }) {
      const reply = await api.app.inject({
        method: operation.method,
        url,
        headers: {
          'if-match': '*',
          ...(body === undefined || headers?.['content-type'] ? {} : { 'content-type': bodyTypeOf(operation) }),
          ...actor.headers,
          ...headers,
        },
        ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : encoded(operation, body) }),
      });
      const answer: Sent = {
        operation,
        actor,
        status: reply.statusCode,
        headers: reply.headers,
        text: reply.body,
        correlationId: String(reply.headers['x-correlation-id']),
        ...parsed(String(reply.headers['content-type']), reply.body),
      };
      sent.push(answer);
      leaks.watch(answer, url);
      return answer;
    },
    async close() {
      await relay.stop();
      await world.close();
      try {
        // Throws where replies differ from the document.
        await api.close();
      } finally {
        await database.drop();
        gitHub.host.close();
        await place.close();
        rmSync(mails, { recursive: true });
      }
    },
  };
}

function parsed(type: string, text: string): Pick<Sent, 'body' | 'code'> {
  if (!type.includes('json') || text === '') return { body: null, code: null };
  const body: Record<string, unknown> = JSON.parse(text);
  return { body, code: typeof body['code'] === 'string' ? body['code'] : null };
}

/** What two replies to like requests must share: everything but what is made anew for each. */
export function comparable({ status, body, text, headers }: Sent): unknown {
  const { etag, location, 'www-authenticate': challenge, 'content-type': type } = headers;
  return { status, type, etag, location, challenge, body: body ? withoutNew(body) : text };
}

/** A batch answers with one envelope an item. */
function withoutNew(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNew);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, madeAnew.has(key) ? null : withoutNew(inner)]));
}

const madeAnew: ReadonlySet<string> = new Set(['correlation_id', 'instance']);

/** A line about a reply, for faults. */
export function told({ status, code, actor, body }: Sent): string {
  const errors = JSON.stringify(body?.['errors'] ?? []);
  return `${actor.name}: ${status}${code ? ` ${code}` : ''}${status >= 400 ? ` (${JSON.stringify(body?.['context'] ?? {})} ${errors})`.slice(0, 300) : ''}`;
}

/** Stands for the worker that there is none of: a trial of a tool has its result as soon as it is written. */
async function settleToolTests(adminUrl: string): Promise<void> {
  const result = {
    status: 'succeeded',
    output: null,
    output_type: 'text',
    truncated: false,
    total_chars: 0,
    error: null,
    request: null,
    duration_ms: 1,
  };
  await withAdmin(adminUrl, async (admin) => {
    await admin.query(`create function settle_tool_test() returns trigger language plpgsql as
      $$ begin new.result := '${JSON.stringify(result)}'::jsonb; return new; end $$`);
    await admin.query('create trigger settle_tool_test before insert on tool_tests for each row execute function settle_tool_test()');
  });
}

/** As if somebody had dropped the net under the queries: every row may be seen and written by longhaul_app. */
async function openPolicies(adminUrl: string): Promise<void> {
  await withAdmin(adminUrl, async (admin) => {
    const { rows } = await admin.query<{ table: string; name: string; command: string }>(
      `select tablename as table, policyname as name, cmd as command from pg_policies where 'longhaul_app' = any(roles)`,
    );
    for (const { table, name, command } of rows) {
      const using = command === 'INSERT' ? '' : 'using (true)';
      const check = command === 'SELECT' || command === 'DELETE' ? '' : 'with check (true)';
      await admin.query(`alter policy ${name} on ${table} ${using} ${check}`);
    }
  });
}

const boundary = 'boundary-of-the-checks';

function bodyTypeOf(operation: RegisteredOperation): string {
  return operation.multipart ? `multipart/form-data; boundary=${boundary}` : 'application/json';
}

/** JSON, or for a form with a file the same fields, one part each. */
function encoded(operation: RegisteredOperation, body: unknown): string {
  if (!operation.multipart) return JSON.stringify(body);
  const parts = Object.entries(asObject(body)).map(([name, value]) => {
    const file = name === 'file' ? '; filename="notes.txt"' : '';
    return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${String(value)}\r\n`;
  });
  return `${parts.join('')}--${boundary}--\r\n`;
}
