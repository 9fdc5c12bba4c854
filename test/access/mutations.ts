import type { Area, RegisteredOperation } from '../../api/http/operation/operation.ts';
import type { Caller } from '../../db/caller.ts';

/** The areas with some of their operations spoilt (G13). */
export function spoilt(areas: readonly Area[], spoil: (operation: RegisteredOperation) => RegisteredOperation): readonly Area[] {
  return areas.map((area) => ({
    ...area,
    operations: area.operations.map((operation) => (operation.status === 'specified' ? operation : spoil(operation))),
  }));
}

/** As if every predicate of its queries had been forgotten: the handler believes that its caller may see everything. */
export function withoutPredicates(operation: RegisteredOperation): RegisteredOperation {
  // The registry erases each handler's own types; this one only passes them on.
  const handler = operation.handler as unknown as (ctx: object, input: unknown, http: unknown) => Promise<unknown>;
  return { ...operation, handler: (ctx: object, input: unknown, http: unknown) => handler(unbounded(ctx), input, http) };
}

/** As if its floor had been forgotten. */
export function withoutFloor(operation: RegisteredOperation): RegisteredOperation {
  return { ...operation, access: 'viewer' };
}

/** As if nobody had said that it leaves an audit entry. */
export function withoutAudit(operation: RegisteredOperation): RegisteredOperation {
  return { ...operation, audit: 'none' };
}

/** As if one id had been written as a plain uuid. */
export function withoutMark(operation: RegisteredOperation): RegisteredOperation {
  const part = JSON.stringify(operation.params ?? {}).includes('x-id-of') ? 'params' : 'body';
  return { ...operation, [part]: JSON.parse(JSON.stringify(operation[part]).replace(/,?"x-id-of":"\w+"/, '')) };
}

// Read late: the context of a request without a transaction has none to read.
function unbounded(ctx: object): object {
  return new Proxy(ctx, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'caller')
        return {
          ...(value as Caller),
          role: 'operator',
          ownRole: 'operator',
          scope: 'platform',
          workspaces: 'all',
          view: null,
        } satisfies Caller;
      if (name === 'tenant') return { ...(value as object), isOperator: true, hasAllWorkspaces: true };
      return value;
    },
  });
}
