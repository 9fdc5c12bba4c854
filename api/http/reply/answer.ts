import type { FastifyReply } from 'fastify';
import type { Outgoing } from '../../../db/tenant-transaction.ts';
import { toFailure } from './error-envelope.ts';
import { isNotModified } from './etag.ts';
import { execute, type Executed } from '../operation/execute.ts';
import type { Execution } from '../operation/make-context.ts';
import { settleFinal, settleRefusal, type Reservation } from '../idempotency/idempotency.ts';
import { render, unwrap, type Rendered } from './render.ts';

/** What an operation answered, and what its transaction put into the outbox; null once that has left. */
export interface Carried {
  readonly rendered: Rendered;
  readonly outgoing: Outgoing | null;
}

/** Executes an operation, answers, and only then lets leave what the transaction put into the outbox. */
export async function perform(execution: Execution, reply: FastifyReply, reservation: Reservation | null): Promise<FastifyReply> {
  const { rendered, outgoing } = await carryOut(execution, reservation);
  send(execution, reply, rendered);
  if (outgoing) void execution.deps.dispatch(outgoing);
  return reply;
}

/** Executes an operation up to its answer; what it still waits for comes after the outbox. */
export async function carryOut(execution: Execution, reservation: Reservation | null): Promise<Carried> {
  let done: Executed;
  try {
    done = await execute(execution, reservation);
  } catch (error) {
    if (reservation) await settleRefusal(execution, reservation, toFailure(error));
    throw error;
  }

  if (!done.afterCommit) return { rendered: done.reply, outgoing: done.outgoing };
  await execution.deps.dispatch(done.outgoing);
  return { rendered: await finish(execution, done.afterCommit, reservation), outgoing: null };
}

/** The reply that comes after the commit; whatever happens to it, a repeat finds that the work was done. */
async function finish(
  execution: Execution,
  afterCommit: NonNullable<Executed['afterCommit']>,
  reservation: Reservation | null,
): Promise<Rendered> {
  try {
    const { view, options } = unwrap(await afterCommit());
    const final = render(execution.operation, view, options);
    if (reservation) await settleFinal(execution, reservation, final);
    return final;
  } catch (error) {
    if (reservation) await settleFinal(execution, reservation, null);
    throw error;
  }
}

/** Writes a rendered reply; 304 if the client already has it. */
export function send({ operation, request }: Execution, reply: FastifyReply, rendered: Rendered): FastifyReply {
  const etag = rendered.headers['etag'];
  const mayBeUnchanged = operation.method === 'GET' && operation.notModified !== false && etag !== undefined;
  reply.headers(rendered.headers);

  if (mayBeUnchanged && isNotModified(request.headers['if-none-match'], etag)) {
    return reply.code(304).removeHeader('content-type').send();
  }
  return rendered.body === null ? reply.code(rendered.status).send() : reply.code(rendered.status).send(rendered.body);
}
