import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import pg from 'pg';
import pino from 'pino';
import type { Deps } from '../../api/http/operation/deps.ts';
import { sendFailure } from '../../api/http/reply/error-envelope.ts';
import { openState } from '../../api/http/operation/request-state.ts';
import { trustedProxies } from '../../api/http/credentials/client-address.ts';
import { openStream } from '../../api/streams/attach.ts';
import { createHub, type Hub } from '../../api/streams/hub.ts';
import type { HubLimits } from '../../api/streams/limits.ts';
import { serveSse } from '../../api/streams/sse.ts';
import { registerWebsocket } from '../../api/streams/websocket.ts';
import type { Caller } from '../../db/caller.ts';
import { newId } from '../../db/ids.ts';
import { systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { appendFrames, stateBatch } from '../../db/streams/append.ts';
import { createEmitter, type Emitter } from '../../domain/streams/emitter.ts';
import type { RunIdentity } from '../../db/streams/frame-text.ts';
import type { FrameDraft } from '../../db/streams/frame.schema.ts';
import { createPublisher, type Publisher } from '../../db/streams/publisher.ts';
import { connectRedis } from '../../db/streams/redis.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { callerOf } from '../support/caller.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { testServices } from '../support/services.ts';
import { finished, queued, started } from './frame-samples.ts';

export interface StreamWorldOptions {
  readonly limits?: Partial<HubLimits>;
  readonly redisUrl?: string;
}

/** Writers and readers of streams on a database and a Redis prefix of their own. */
export interface StreamWorld {
  readonly database: TestDatabase;
  readonly redis: Redis;
  readonly redisUrl: string;
  readonly prefix: string;
  readonly publisher: Publisher;
  readonly emitter: Emitter;
  readonly hub: Hub;
  readonly url: string;
  /** Statements of both pools since the last reset. */
  readonly queries: string[];
  readonly callers: Map<string, Caller>;
  /** Somebody in the run's workspace whose credential never ends; gives the bearer that the test server knows. */
  bearerOf(run: RunIdentity, given?: Partial<Caller>): string;
  makeRun(parent?: RunIdentity | null, home?: Pick<RunIdentity, 'organizationId' | 'workspaceId'>): Promise<RunIdentity>;
  /** A run that has started: two frames are written. */
  startRun(home?: Pick<RunIdentity, 'organizationId' | 'workspaceId'>): Promise<RunIdentity>;
  /** Appends state frames in a transaction and publishes them. */
  append(run: RunIdentity, frames: readonly FrameDraft[]): Promise<void>;
  finish(run: RunIdentity): Promise<void>;
  inTransaction<R>(run: RunIdentity, work: (tx: TenantTransaction) => Promise<R>): Promise<R>;
  admin<Row extends pg.QueryResultRow>(sql: string, params?: unknown[]): Promise<Row[]>;
  archived(run: RunIdentity): Promise<string[]>;
  close(): Promise<void>;
}

export async function openStreamWorld(options: StreamWorldOptions = {}): Promise<StreamWorld> {
  const queries: string[] = [];
  const database = await testDatabase({ onQuery: (sql) => void queries.push(sql) });
  const admin = new pg.Pool({ connectionString: database.adminUrl, max: 2 });
  const log = pino({ level: 'silent' });
  const { db } = database;
  const redisUrl = options.redisUrl ?? testServices().redisUrl;
  const prefix = `test-${randomUUID().slice(0, 8)}:`;
  const redis = connectRedis(redisUrl, 'commands');
  const publisher = createPublisher({ redis, prefix, log });
  const emitter = createEmitter({ db, publisher, log });
  const hub = createHub({ redisUrl, prefix, db, log, limits: options.limits });
  const callers = new Map<string, Caller>();
  const app = await streamServer({ db, hub, log, env: { publicUrl: 'http://longhaul.test' } } as unknown as Deps, callers); // the streams use no more of it
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

  const world: StreamWorld = {
    database,
    redis,
    redisUrl,
    prefix,
    publisher,
    emitter,
    hub,
    url,
    queries,
    callers,
    bearerOf(run, given = {}) {
      const bearer = randomUUID();
      callers.set(
        bearer,
        callerOf({
          organizationId: run.organizationId,
          workspaceId: run.workspaceId,
          // A principal that no row stands for, so that its access is nobody's to take away.
          kind: 'ingress',
          principalId: newId(),
          ...given,
        }),
      );
      return bearer;
    },
    async makeRun(parent, given) {
      const id = newId();
      const home = parent ?? given ?? { organizationId: newId(), workspaceId: newId() };
      const run = {
        runId: id,
        rootRunId: parent?.rootRunId ?? id,
        parentRunId: parent?.runId ?? null,
        organizationId: home.organizationId,
        workspaceId: home.workspaceId,
        path: [...(parent?.path ?? []), 'agent'],
      };
      await insertRun(admin, run);
      await world.append(run, [queued()]);
      return run;
    },
    async startRun(home) {
      const run = await world.makeRun(null, home);
      await world.append(run, [started()]);
      return run;
    },
    async append(run, frames) {
      const { outgoing } = await transact(db, transactionOptions(run), (tx) => appendFrames(tx, [stateBatch(run, frames)]));
      publisher.publish(outgoing.frames);
    },
    async finish(run) {
      const [row] = await world.admin<{ head_seq: string }>('select head_seq from run_streams where run_id = $1', [run.runId]);
      await world.append(run, [finished(Number(row?.head_seq) + 1)]);
    },
    inTransaction: async (run, work) => (await transact(db, transactionOptions(run), work)).value,
    async admin<Row extends pg.QueryResultRow>(sql: string, params: unknown[] = []) {
      return (await admin.query<Row>(sql, params)).rows;
    },
    async archived(run) {
      const chunks = await world.admin<{ frames: string[] }>('select frames from run_frame_chunks where run_id = $1 order by first_seq', [
        run.runId,
      ]);
      return chunks.flatMap((chunk) => chunk.frames);
    },
    async close() {
      await hub.close();
      await emitter.close();
      await app.close();
      redis.disconnect();
      await admin.end();
      await database.drop();
    },
  };
  return world;
}

function transactionOptions(run: RunIdentity) {
  return { tenant: workspaceTenant(run.organizationId, run.workspaceId), actor: systemActor, correlationId: randomUUID() };
}

/** The row of a run as far as streams look at it, without its agent and conversation. */
export async function insertRun(pool: pg.Pool, run: RunIdentity): Promise<void> {
  const admin = await pool.connect();
  await admin.query(`set session_replication_role = replica`); // no foreign keys
  await admin.query(
    `insert into runs (id, organization_id, workspace_id, agent_id, agent_revision_id, conversation_id, root_run_id, parent_run_id, agent_slug, source, created_by_kind, input, limits, usage_own, usage_subtree)
     values ($1, $2, $3, $1, $1, $1, $4, $5, 'agent', 'api', 'system', '{}', '{}', '{}', '{}')`,
    [run.runId, run.organizationId, run.workspaceId, run.rootRunId, run.parentRunId],
  );
  await admin.query('insert into run_streams (run_id, organization_id, workspace_id, root_run_id) values ($1, $2, $3, $4)', [
    run.runId,
    run.organizationId,
    run.workspaceId,
    run.rootRunId,
  ]);
  await admin.query(`set session_replication_role = origin`);
  admin.release();
}

/** Streams alone, for callers that the test names by bearer. */
async function streamServer(deps: Deps, callers: Map<string, Caller>): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    loggerInstance: deps.log as FastifyBaseLogger,
    genReqId: () => randomUUID(),
    forceCloseConnections: true,
  });
  const proxies = trustedProxies([]);
  app.decorateRequest('state', null);
  app.setErrorHandler((error, request, reply) => sendFailure(deps.env.publicUrl, request, reply, error));
  app.addHook('onRequest', (request, _reply, done) => {
    openState(request, proxies);
    done();
  });
  app.get<{ Params: { id: string }; Querystring: { after_seq?: string; replay?: string } }>('/runs/:id/stream', async (request, reply) => {
    const caller = callers.get(request.headers.authorization?.replace('Bearer ', '') ?? '');
    if (!caller) throw new Error('unknown bearer');
    const lastEventId = request.headers['last-event-id'];
    const opening = await openStream(deps, {
      socket: request.raw.socket,
      caller,
      correlationId: request.id,
      runId: request.params.id,
      lastEventId: typeof lastEventId === 'string' ? lastEventId : null,
      afterSeq: Number(request.query.after_seq ?? 0),
      isReplay: request.query.replay !== 'false',
    });
    serveSse({ request, reply }, opening, { hub: deps.hub, caller, publicUrl: deps.env.publicUrl });
    return reply;
  });
  await registerWebsocket(app, deps);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app;
}
