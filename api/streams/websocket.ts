import type { IncomingMessage } from 'node:http';
import websocket, { type WebSocket } from '@fastify/websocket';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../../db/caller.ts';
import { openStreamToken } from '../../domain/identity/sessions/stream-tokens.ts';
import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import { logSocketEnd } from '../http/access-log.ts';
import type { Deps } from '../http/operation/deps.ts';
import { toFailure } from '../http/reply/error-envelope.ts';
import { openStream, startStream } from './attach.ts';
import { closeOf, type CloseName } from './close-reasons.ts';
import type { StreamConnection } from './connection.ts';
import { parseFirstFrame } from './first-frame.ts';
import { noticeText } from './notice.ts';
import { SocketSink } from './socket-sink.ts';

const maxMessageBytes = 64 * 1024;
const firstFrameMs = 5_000;
/** The maximum number of sockets that are not authenticated yet. */
const maxUnnamed = 1_000;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Adds `/ws/runs/{run_id}`. Before the upgrade, a refusal is an HTTP reply; afterwards, a notice and a close code. */
export async function registerWebsocket(app: FastifyInstance, deps: Deps): Promise<void> {
  let unnamed = 0;
  // Any other request that offers an upgrade, such as h2c, is served without one.
  Object.assign(app.server, { shouldUpgradeCallback: isOurs });
  await app.register(websocket, {
    options: { maxPayload: maxMessageBytes },
    // The hub's drain ends open sockets.
    preClose: (done) => done(),
    errorHandler: (_error, socket) => socket.terminate(),
  });

  app.route({
    method: 'GET',
    url: '/ws/runs/:run_id',
    preValidation: async (request) => {
      if (!request.ws) throw fail('not_found');
      if (deps.hub.draining.aborted) throw fail('service_unavailable', { reason: 'draining', retryAfterS: 1 });
      if (unnamed >= maxUnnamed) throw fail('rate_limited', { reason: 'streams', retryAfterS: 5 });
      runIdOf(request);
    },
    handler: async () => {
      throw fail('not_found');
    },
    wsHandler: (socket, request) => {
      unnamed += 1;
      serve(deps, socket, request, () => (unnamed -= 1));
    },
  });
}

/** Serves one socket. Its handlers are attached at once, and messages are always read, so that nothing that the client sends blocks it. */
function serve(deps: Deps, socket: WebSocket, request: FastifyRequest, onNamed: () => void): void {
  const runId = runIdOf(request);
  const answer = { publicUrl: deps.env.publicUrl, correlationId: request.id };
  const sink = new SocketSink(socket, request.raw.socket, deps.hub.limits.heartbeatMs);
  let connection: StreamConnection | null = null;
  let caller: Caller | null = null;
  let isNamed = false;
  let isDone = false;

  const timer = setTimeout(
    () => refuse(fail('unauthenticated', { detail: 'The first message did not arrive in time.' }), 'no_first_frame'),
    firstFrameMs,
  );
  socket.on('message', (message: Buffer, isBinary: boolean) => {
    if (!isNamed) void name(message, isBinary);
  });
  socket.on('close', (closeCode: number) => {
    done();
    logSocketEnd(request, { closeCode, caller });
    connection?.gone();
  });
  request.raw.socket.on('drain', () => connection?.drained());

  async function name(message: Buffer, isBinary: boolean): Promise<void> {
    isNamed = true;
    clearTimeout(timer);
    try {
      const first = parseFirstFrame(message, isBinary);
      caller = await deps.hub.connectQueue.run('caller', request.raw.socket, () => openStreamToken(deps.db, first.token, runId));
      done();
      const connect = await openStream(deps, {
        caller,
        runId,
        lastEventId: null,
        afterSeq: first.afterSeq,
        isReplay: first.isReplay,
        correlationId: request.id,
        socket: request.raw.socket,
      });
      if (connect.kind !== 'stream') return sink.end('finished');
      if (socket.readyState !== socket.OPEN) return connect.slot.release();
      connection = startStream(deps.hub, connect, { sink, caller, answer });
    } catch (error) {
      const failure = toFailure(error);
      if (failure.code === 'internal_error') request.log.error({ err: error, run_id: runId }, 'socket failed on a bug');
      refuse(failure, closeOf(failure.code));
    }
  }

  /** Stops counting the socket among those that are not authenticated. */
  function done(): void {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    onNamed();
  }

  function refuse(failure: Failure, reason: CloseName): void {
    done();
    sink.notice(noticeText({ runId, rootRunId: runId, parentRunId: null, path: [] }, failure, { resumeAfterSeq: null, answer }));
    sink.end(reason);
  }
}

function isOurs(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket' && request.url?.startsWith('/ws/') === true;
}

function runIdOf(request: FastifyRequest): string {
  const { run_id: runId } = request.params as { run_id: string }; // the route's own parameter
  if (uuidPattern.test(runId)) return runId.toLowerCase();
  throw fail('validation_failed', { errors: [{ in: 'path', pointer: null, name: 'run_id', rule: 'format', message: 'must be a uuid' }] });
}
