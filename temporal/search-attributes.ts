import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';
import type { Temporal } from './client.ts';

const names = ['OrganizationId', 'WorkspaceId', 'AgentId', 'RunKind', 'SourceId'] as const;

/** Ids by which an operator may search workflows; all of type keyword. */
export type SearchAttributeName = (typeof names)[number];

export const searchAttributeNames: readonly SearchAttributeName[] = names;

// temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
const keyword = 2;

/** Returns the typed pairs of the values that are set. */
export function searchAttributePairs(values: Partial<Record<SearchAttributeName, string | null>>): SearchAttributePair[] {
  return names.flatMap((name) => {
    const value = values[name];

    return value ? [{ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value }] : [];
  });
}

/** Returns the search attributes that the namespace lacks: without them it would refuse every start. */
export async function missingSearchAttributes({ connection, namespace }: Temporal): Promise<SearchAttributeName[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });

  return names.filter((name) => !(name in (customAttributes ?? {})));
}

/** Registers search attributes; does nothing for an empty list. */
export async function addSearchAttributes({ connection, namespace }: Temporal, missing: readonly SearchAttributeName[]): Promise<void> {
  if (missing.length === 0) return;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, keyword])),
  });
}
