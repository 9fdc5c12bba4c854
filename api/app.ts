import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { createPoolMetrics } from '../db/postgres/pool-metrics.ts';
import { fail } from '../workflows/contracts/failure.ts';
import { isTracing } from '../ports/telemetry/spans.ts';
import { serveConsole } from './console/serve.ts';
import { traceRequests } from './http/tracing.ts';
import { recordRefusal, recordReply, recordRequests } from './http/access-log.ts';
import { trustedProxies, type TrustedProxies } from './http/credentials/client-address.ts';
import { isAuditedRefusal, recordAuditedRefusal } from './http/reply/audited-refusals.ts';
import { checkDeprecations, deprecationHeaders, type Deprecation } from './http/openapi/deprecations.ts';
import type { AppDeps, Deps } from './http/operation/deps.ts';
import { documentsOf } from './http/openapi/documents.ts';
import { sendFailure } from './http/reply/error-envelope.ts';
import { corsHeaders, finishHeaders } from './http/reply/headers.ts';
import { createMetrics } from './http/metrics.ts';
import { mount } from './http/operation/mount.ts';
import type { Area } from './http/operation/operation.ts';
import { checkRegistry, liveOperations } from './http/operation/registry.ts';
import { refuseAmbiguousHead } from './http/input/request-head.ts';
import { correlationId, openState } from './http/operation/request-state.ts';
import { answerUnrouted, pathTable } from './http/operation/routing.ts';
import { answerClientError, answerServerFaults, type ServerFaults } from './http/reply/server-faults.ts';
import { endUnreadBody } from './http/input/unread-body.ts';
import { areas as ownAreas } from './operations.ts';
import { registerWebsocket } from './streams/websocket.ts';

export interface AppOptions {
  readonly areas?: readonly Area[];
  readonly deprecations?: readonly Deprecation[];
  /** Adds hooks behind those of the API, before it is ready: tests look at every reply. */
  readonly extend?: (app: FastifyInstance, deps: AppDeps) => void;
}

const requestTimeoutMs = 60_000;
// No URL that Node takes is longer: the schema of an operation refuses what is too long, in the words of that operation.
const parameterLength = 16_384;

/** What of the contract is on its way out: nothing yet. In contract 0.x nothing is removed, even after its sunset. */
const ownDeprecations: readonly Deprecation[] = [];

/** The whole API over the given parts, ready to listen. Throws when its own list of operations or deprecations contradicts itself. */
export async function buildApp(given: Deps, options: AppOptions = {}): Promise<FastifyInstance> {
  const areas = options.areas ?? ownAreas;
  const deprecations = options.deprecations ?? ownDeprecations;
  checkRegistry(areas);
  const deps = completeDeps(given, areas, deprecations);
  // The document takes longer to build than the rest of the app.
  if (deprecations.length > 0) checkDeprecations(deprecations, deps.documents.source);

  const proxies = trustedProxies(deps.env.trustedProxies);
  const app = createServer(deps, proxies);
  if (isTracing()) traceRequests(app);
  addHooks(app, deps, proxies, answerUnrouted(deps, pathTable(areas)));
  recordRequests(app, deps);
  options.extend?.(app, deps);
  mount(app, deps, areas, (operation) => deprecationHeaders(deprecations, operation, deps.env.publicUrl));
  if (deps.env.consoleDir !== null) serveConsole(app, { publicUrl: deps.env.publicUrl, dir: deps.env.consoleDir });
  // After the routes, because its plugin wraps every handler that is registered after it.
  await registerWebsocket(app, deps);
  await app.ready();
  answerServerFaults(app.server, serverFaults(deps));
  return app;
}

function completeDeps(deps: Deps, areas: readonly Area[], deprecations: readonly Deprecation[]): AppDeps {
  return {
    ...deps,
    deprecations,
    operations: liveOperations(areas),
    documents: documentsOf(areas, deps.env.publicUrl),
    metrics: createMetrics({
      openStreams: () => deps.hub.counts().streams,
      more: [deps.work.ended, ...deps.runMetrics.all, ...deps.permitMetrics.all, ...createPoolMetrics(deps.db)],
    }),
  };
}

function serverFaults(deps: AppDeps): ServerFaults {
  return { publicUrl: deps.env.publicUrl, record: (refusal) => recordRefusal(deps, refusal) };
}

function createServer(deps: AppDeps, proxies: TrustedProxies): FastifyInstance {
  const app: FastifyInstance = Fastify({
    loggerInstance: deps.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'correlation_id' }),
    genReqId: (request) => correlationId(proxies, request),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    requestTimeout: requestTimeoutMs,
    // A missing Host is refused by us, with the envelope.
    http: { requireHostHeader: false },
    routerOptions: { maxParamLength: parameterLength, querystringParser: () => ({}) },
    clientErrorHandler: answerClientError(serverFaults(deps)),
    frameworkErrors: (error, request, reply) => {
      openState(request, proxies);
      sendFailure(deps.env.publicUrl, request, reply, error);
      recordReply(deps, request, reply);
    },
  });
  // Bodies arrive as bytes; each operation parses its own after the checks that come before.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  // The one form with a file is streamed to its place.
  app.addContentTypeParser('multipart/form-data', (_request, _payload, done) => done(null));
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  return app;
}

function addHooks(
  app: FastifyInstance,
  deps: AppDeps,
  proxies: TrustedProxies,
  answerRouteless: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  let isClosing = false;
  app.decorateRequest('state', null);
  app.setErrorHandler((error, request, reply) =>
    isAuditedRefusal(request, error) ? answerRefused(deps, request, reply, error) : sendFailure(deps.env.publicUrl, request, reply, error),
  );

  app.addHook('onRequest', (request, reply, done) => {
    const state = openState(request, proxies);
    Object.assign(state.headers, corsHeaders(null, request.headers.origin, deps.env.corsOrigins));

    if (isClosing && request.routeOptions.url !== '/health/live')
      return done(fail('service_unavailable', { detail: 'This process is shutting down.', retryAfterS: 1 }));
    try {
      refuseAmbiguousHead(request);
      if (request.is404) return answerRouteless(request, reply);
    } catch (refusal) {
      return done(refusal instanceof Error ? refusal : new Error('unrouted', { cause: refusal }));
    }
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    finishHeaders(request, reply);
    endUnreadBody(request, reply);
    if (deps.isDraining()) reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('preClose', (done) => {
    isClosing = true;
    done();
  });
}

/** The record comes first; if it fails, the refusal still stands. */
async function answerRefused(deps: AppDeps, request: FastifyRequest, reply: FastifyReply, error: unknown): Promise<FastifyReply> {
  try {
    await recordAuditedRefusal(deps, request);
  } catch (err) {
    request.log.error({ err }, 'refusal not recorded');
  }
  sendFailure(deps.env.publicUrl, request, reply, error);
  return reply;
}
