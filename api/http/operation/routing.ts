import type { FastifyReply, FastifyRequest } from 'fastify';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { AppDeps } from './deps.ts';
import { corsHeaders, preflightHeaders } from '../reply/headers.ts';
import { methodsOf } from './mount.ts';
import type { Area, RegisteredOperation } from './operation.ts';
import { liveOperations, specifiedOperations } from './registry.ts';
import { stateOf } from './request-state.ts';
import { unknownPath } from '../unknown-path.ts';

interface Template {
  readonly segments: readonly string[];
  readonly operation: RegisteredOperation;
}

/** Finds the operations of a path, whatever the method. */
export interface PathTable {
  /** The methods of a path, for Allow; empty if no live template matches. */
  methodsAt(path: string): readonly string[];
  operationsAt(path: string): readonly RegisteredOperation[];
  isSpecified(method: string, path: string): boolean;
}

export function pathTable(areas: readonly Area[]): PathTable {
  const live = liveOperations(areas).map(toTemplate);
  const specified = specifiedOperations(areas).map(toTemplate);
  const matching = (templates: readonly Template[], path: string) =>
    templates.filter((template) => isMatch(template, path.split('/'))).map(({ operation }) => operation);

  return {
    methodsAt: (path) => [...new Set(matching(live, path).flatMap((operation) => methodsOf(operation)))].toSorted(),
    operationsAt: (path) => matching(live, path),
    isSpecified: (method, path) => matching(specified, path).some((operation) => operation.method === method),
  };
}

/** Answers what no route accepts: OPTIONS and preflights on known paths, 405 with a correct Allow, else 404. */
export function answerUnrouted(deps: AppDeps, table: PathTable) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const path = pathOf(request.raw.url ?? '/');
    const live = table.methodsAt(path);
    if (live.length === 0 || table.isSpecified(request.method, path)) throw unknownPath(deps.env.publicUrl, path);

    stateOf(request).template = table.operationsAt(path)[0]?.path ?? null;
    const allow = [...live, 'OPTIONS'].join(', ');
    const { headers } = request;
    const asked = headers['access-control-request-method'];
    const target =
      table.operationsAt(path).find((operation) => operation.method === (asked ?? request.method)) ?? table.operationsAt(path)[0] ?? null;
    Object.assign(stateOf(request).headers, corsHeaders(target, headers.origin, deps.env.corsOrigins));

    if (request.method !== 'OPTIONS') throw fail('method_not_allowed', { headers: { allow } });
    const isPreflight = asked !== undefined && stateOf(request).headers['access-control-allow-origin'] !== undefined;
    reply
      .code(204)
      .headers({ allow, ...(isPreflight ? preflightHeaders(live.join(', ')) : {}) })
      .send();
  };
}

function toTemplate(operation: RegisteredOperation): Template {
  return { segments: operation.path.split('/'), operation };
}

function isMatch({ segments }: Template, given: readonly string[]): boolean {
  return (
    segments.length === given.length &&
    segments.every((segment, index) => (segment.startsWith('{') ? given[index] !== '' : segment === given[index]))
  );
}

/** Returns the path without query, decoded as by the router, which has already refused invalid escapes. */
function pathOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/]*/i, '');
  const end = path.search(/[?#]/);
  return decodeURI(end < 0 ? path : path.slice(0, end));
}
