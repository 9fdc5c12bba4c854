import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';
import type { Temporal } from './client.ts';

const names = ['OrganizationId', 'WorkspaceId', 'AgentId', 'RunKind', 'SourceId'] as const;

/** Ids an operator may search workflows by; all of type keyword. */
export type SearchAttributeName = (typeof names)[number];

export const searchAttributeNames: readonly SearchAttributeName[] = names;

// temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
const keyword = 2;

/** The typed pairs of what is set. */
export function searchAttributePairs(values: Partial<Record<SearchAttributeName, string | null>>): SearchAttributePair[] {
  return names.flatMap((name) => {
    const value = values[name];

    return value ? [{ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value }] : [];
  });
}

/** Registers in the namespace what it lacks: without them every start would be refused. A repeat changes nothing. */
export async function ensureSearchAttributes({ connection, namespace }: Temporal): Promise<void> {
  const { customAttributes = {} } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = names.filter((name) => !(name in (customAttributes ?? {})));

  if (missing.length === 0) return;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, keyword])),
  });
}
