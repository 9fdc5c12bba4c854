import { type NotNull, sql } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { ToolDescriptor } from '../tools/tool-descriptor.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Settings that were in force with a revision, until another followed it. */
export interface FormerSettings {
  /** Hash of the tool that they were approved for. */
  readonly remoteHash: string;
  readonly effect: 'read' | 'write';
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly isIdempotent: boolean;
  readonly timeoutS: number;
  readonly responseMaxChars: number;
}

/**
 * Returns the settings that the tools of a toolkit last had while a revision was in force, by tool id: those of its latest activation, with later manual
 * changes. Empty for a revision that was never in force.
 */
export async function formerSettings(
  tx: TenantTransaction,
  toolkitId: string,
  revisionId: string,
): Promise<ReadonlyMap<string, FormerSettings>> {
  const found = await rows(
    tx.em,
    query
      .selectFrom(latestActivations(toolkitId, revisionId).as('a'))
      .innerJoinLateral(
        ({ selectFrom }) =>
          selectFrom('tool_versions as h')
            .select('h.descriptor')
            .whereRef('h.toolId', '=', 'a.toolId')
            .whereRef('h.version', '>=', 'a.version')
            .where(({ eb, fn, lit, selectFrom: nextActivation }) =>
              eb(
                'h.version',
                '<',
                fn.coalesce(
                  nextActivation('tool_versions as n')
                    .select(({ fn: { min } }) => min('n.version').as('version'))
                    .whereRef('n.toolId', '=', 'a.toolId')
                    .whereRef('n.version', '>', 'a.version')
                    .where('n.toolkitRevisionId', 'is not', null),
                  lit(maxInteger),
                ),
              ),
            )
            .orderBy('h.version', 'desc')
            .limit(1)
            .as('l'),
        (join) => join.onTrue(),
      )
      .select(['a.toolId', 'a.remoteHash', 'l.descriptor'])
      .where('a.remoteHash', 'is not', null)
      .$narrowType<{ remoteHash: NotNull }>(),
  );
  return new Map(found.map(({ toolId, remoteHash, descriptor }) => [toolId, toFormer(remoteHash, descriptor)]));
}

const maxInteger = 2_147_483_647;

/** Returns the version that the latest activation of the revision gave each tool. */
function latestActivations(toolkitId: string, revisionId: string) {
  return query
    .selectFrom('tool_versions as v')
    .innerJoin('tools as t', 't.id', 'v.toolId')
    .distinctOn('v.toolId')
    .select(['v.toolId', 'v.version'])
    .select(({ ref }) => sql<string | null>`${ref('v.descriptor')} ->> 'remote_hash'`.as('remoteHash'))
    .where('t.toolkitId', '=', toolkitId)
    .where('v.toolkitRevisionId', '=', revisionId)
    .orderBy('v.toolId')
    .orderBy('v.version', 'desc');
}

function toFormer(remoteHash: string, descriptor: ToolDescriptor): FormerSettings {
  return {
    remoteHash,
    effect: descriptor.effect,
    concurrency: descriptor.concurrency,
    isIdempotent: descriptor.is_idempotent,
    timeoutS: descriptor.timeout_s,
    responseMaxChars: descriptor.response_max_chars,
  };
}
