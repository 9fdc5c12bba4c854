import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { requestChecks } from './request-checks.ts';
import { perform, send } from '../reply/answer.ts';
import { bodyLimitOf } from '../input/body.ts';
import type { AppDeps } from './deps.ts';
import { rawContext } from './make-context.ts';
import { reserveOrReplay } from '../idempotency/idempotency.ts';
import { formReader, type RequestForm } from '../input/multipart.ts';
import type { Area, RegisteredOperation } from './operation.ts';
import { inputParser } from '../input/parse-input.ts';
import { prepare } from './prepare.ts';

type RawHandle = (ctx: unknown, input: unknown, http: { request: FastifyRequest; reply: FastifyReply }) => Promise<void>;

/** Turns the operations of the areas into routes. `standingHeaders` returns the headers that every reply of an operation carries. */
export function mount(
  app: FastifyInstance,
  deps: AppDeps,
  areas: readonly Area[],
  standingHeaders: (operation: RegisteredOperation) => Readonly<Record<string, string>>,
): void {
  for (const operation of areas.flatMap((area) => area.operations)) {
    if (operation.status === 'specified') continue;
    app.route({
      method: methodsOf(operation),
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      exposeHeadRoute: false,
      bodyLimit: bodyLimitOf(operation, deps.env),
      onRequest: requestChecks(deps, operation, standingHeaders(operation)),
      handler: server(deps, operation),
    });
  }
}

/** Returns the methods of an operation's route: a GET also serves HEAD, unless it refuses it. */
export function methodsOf(operation: RegisteredOperation): HTTPMethods[] {
  return operation.method === 'GET' && operation.headReply === 'allowed' ? ['GET', 'HEAD'] : [operation.method];
}

function server(deps: AppDeps, operation: RegisteredOperation) {
  const parse = inputParser(operation);
  const read = operation.multipart ? formReader(operation) : null;

  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const form = read?.(request, bodyLimitOf(operation, deps.env)) ?? null;
    return withDiscard(deps, form, () => serve(request, reply, form));
  };

  async function serve(request: FastifyRequest, reply: FastifyReply, form: RequestForm | null): Promise<FastifyReply> {
    const readForm = form?.read ?? null;
    const execution = await prepare(deps, operation, { request, input: parse(request), readForm, source: 'api', signal: null });
    if (operation.kind === 'raw') {
      // The registry erases each handler's own types; its schemas have just been enforced on the input.
      await (operation.handler as unknown as RawHandle)(rawContext(execution), execution.input, { request, reply });
      return reply;
    }

    const key = execution.input.idempotencyKey;
    const reserved = key === null ? null : await reserveOrReplay(execution, key);
    if (reserved?.kind === 'replay') {
      await discardForm(deps, form);
      return send(execution, reply, reserved.reply);
    }
    return perform(execution, reply, reserved?.reservation ?? null);
  }
}

/**
 * Discards what a form has stored if its request is refused: the refusal was rolled back, so no row names it. After any other error, a commit may have
 * succeeded, so the sweep decides.
 */
async function withDiscard<R>(deps: AppDeps, form: RequestForm | null, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure && error.status < 500) await discardForm(deps, form);
    throw error;
  }
}

/** Never throws: the request already has its answer, and the sweep deletes the rest later. */
async function discardForm({ log }: AppDeps, form: RequestForm | null): Promise<void> {
  await form?.discard().catch((err: unknown) => log.warn({ err }, 'form not discarded'));
}
