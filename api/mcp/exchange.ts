import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Ctx } from '../http/operation/operation.ts';
import { metaKeys, type Era } from './era.ts';
import type { Json } from './json-rpc.ts';

export type RawCtx = Pick<Ctx, 'deps' | 'caller' | 'log'>;
export interface Http {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** One message and its answer, by the rules of its era. */
export interface Exchange {
  readonly ctx: RawCtx;
  readonly http: Http;
  readonly era: Era;
  /** Returns a result as JSON, made of fields that are JSON texts (`"name":value`) and the members of `_meta`. */
  result(fields: readonly string[], meta?: Json): string;
}

/** Name and version by which the server identifies itself to clients. */
export function serverInfoOf({ deps }: Pick<RawCtx, 'deps'>): Json {
  return { name: 'longhaul', title: 'Longhaul', version: deps.env.build.version };
}

export function newExchange(ctx: RawCtx, http: Http, era: Era): Exchange {
  return {
    ctx,
    http,
    era,
    result(fields, meta = {}) {
      const own = era === 'stateless' ? { [metaKeys.serverInfo]: serverInfoOf(ctx) } : {};
      const whole = { ...meta, ...own };
      const metaField = Object.keys(whole).length > 0 ? [`"_meta":${JSON.stringify(whole)}`] : [];
      return `{${[...fields, ...(era === 'stateless' ? ['"resultType":"complete"'] : []), ...metaField].join()}}`;
    },
  };
}
