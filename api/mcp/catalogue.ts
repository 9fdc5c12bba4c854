import type { Caller } from '../../db/caller.ts';
import type { RegisteredOperation } from '../http/operation/operation.ts';
import { checkFloor } from '../http/credentials/role-floor.ts';
import { oauthScopes } from '../http/credentials/scopes.ts';
import { inputSchemaOf } from './tool-schema.ts';

/** The tools of a deployment: its operations that are flagged `mcp`, in the contract's order. */
export interface Catalogue {
  find(name: string): RegisteredOperation | null;
  /** The joined names of the tools that a caller may call: callers with the same key have the same list. */
  keyOf(caller: Caller): string;
  /** The JSON array for tools/list. */
  listFor(caller: Caller): string;
}

const known = new WeakMap<readonly RegisteredOperation[], Catalogue>();
const maxLists = 200;
const askable = [...oauthScopes.keys()];

/** The catalogue of the mounted operations, created once. */
export function catalogueOf(operations: readonly RegisteredOperation[]): Catalogue {
  const made = known.get(operations) ?? makeCatalogue(operations.filter((operation) => operation.mcp === true));
  known.set(operations, made);
  return made;
}

function makeCatalogue(operations: readonly RegisteredOperation[]): Catalogue {
  const byName = new Map(operations.map((operation) => [operation.operationId, operation]));
  const texts = new Map(operations.map((operation) => [operation.operationId, JSON.stringify(toolOf(operation))]));
  const lists = new Map<string, string>();
  const keyOf = (caller: Caller) =>
    operations
      .filter((operation) => isOpenTo(operation, caller))
      .map(({ operationId }) => operationId)
      .join();

  return {
    find: (name) => byName.get(name) ?? null,
    keyOf,
    listFor(caller) {
      const key = keyOf(caller);
      const before = lists.get(key);
      if (before !== undefined) return before;
      const names = key === '' ? [] : key.split(',');
      const list = `[${names.map((name) => texts.get(name)).join()}]`;
      // There are as many lists as kinds of callers; combinations of scopes could make more.
      if (lists.size < maxLists) lists.set(key, list);
      return list;
    },
  };
}

function toolOf(operation: RegisteredOperation): object {
  const isRead = operation.method === 'GET';
  return {
    name: operation.operationId,
    title: operation.summary,
    description: operation.description,
    inputSchema: inputSchemaOf(operation),
    annotations: {
      title: operation.summary,
      readOnlyHint: isRead,
      destructiveHint: operation.method === 'DELETE' || operation.operationId === 'cancelRun',
      idempotentHint: isRead || operation.method === 'PUT',
      openWorldHint: operation.spends === true,
    },
  };
}

/**
 * Whether role and scopes allow the operation. An application that a person has connected also sees tools beyond its grant: it requests further scopes by a
 * call (MCP, authorization: step-up), and no client calls a tool that it does not see. Service keys and clients that act for themselves can't request scopes.
 */
function isOpenTo(operation: RegisteredOperation, caller: Caller): boolean {
  const canAsk = caller.clientId !== null && caller.userId !== null;
  try {
    checkFloor(operation, canAsk ? { ...caller, scopes: askable } : caller, '');
    return true;
  } catch {
    return false;
  }
}
