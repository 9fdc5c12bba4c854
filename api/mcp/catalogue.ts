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
      // As many as there are kinds of callers; scopes could make more.
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
 * What role and scopes allow. To an application that a person has connected also what its grant lacks: calling it is how it asks for more (MCP,
 * authorization: step-up), and what nobody sees nobody calls. Keys and clients of their own can't ask.
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
