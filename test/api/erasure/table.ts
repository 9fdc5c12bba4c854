import type { EntityClass } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { entities } from '../../../db/entities.ts';
import { tablesOfOrganization, tablesOfWorkspace } from '../../../db/operator/purge-tables.ts';
import { others, type ErasureOutcome, type ErasureOutcomes, type OtherErasureOutcomes } from './stores.ts';

const outlives: Readonly<Record<string, ErasureOutcome>> = {
  organizations: 'kept: a tombstone without a name',
  purges: 'kept: the record of the purge itself',
  usage_entries: 'kept: the ledger',
  usage_rollups: 'kept: the ledger',
};

/** Where `docs/security/erasure.md` has its table: between two of these. */
export const mark = '<!-- stores × erasures -->\n';

/**
 * What the document claims of each table: its line is written by hand, and what a purge of a workspace or an organization empties follows from the
 * table's columns.
 */
export function claimedFates(document: string): ReadonlyMap<string, ErasureOutcomes> {
  const lines = [...document.matchAll(/^\| `(\w+)` \| (.+?) \| (.+?) \|[^|]*\|[^|]*\| (.+?) \|$/gm)];
  return new Map(lines.map(([, name = '', person = '', run = '', age = '']) => [name, { person: asFate(person), run: asFate(run), age }]));
}

function asFate(text: string): ErasureOutcome {
  if (text === 'at once' || text === '-') return text;
  const [, word, rest] = /^(within |kept: )(.+)$/.exec(text) ?? [];
  if (word === 'within ') return `within ${rest}`;
  if (word === 'kept: ') return `kept: ${rest}`;
  throw new Error(`${text} is no fate`);
}

/** The columns of each table, by name. */
export function columnsOf(em: SqlEntityManager): Map<string, string[]> {
  const classes: readonly EntityClass<object>[] = entities;
  return new Map(classes.map((entity) => em.getMetadata(entity)).map((meta) => [meta.tableName, Object.keys(meta.properties)]));
}

/** Stores × erasures, as `docs/security/erasure.md` shows them. */
export function erasureTable(em: SqlEntityManager, claimed: ReadonlyMap<string, ErasureOutcomes>): string {
  const inOrganization = new Set([...tablesOfOrganization(em), 'data_keys']);
  const inWorkspace = new Set([...tablesOfWorkspace(em), 'workspaces', 'users']);
  const byTable = [...columnsOf(em)].map(([name, columns]): [string, OtherErasureOutcomes] => {
    const fates = claimed.get(name);
    if (!fates) throw new Error(`${name} stands in no table of erasures`);
    const workspace = inWorkspace.has(name) ? 'at once' : columns.includes('workspaceId') ? 'kept: it is the organization’s' : '-';
    const organization = outlives[name] ?? (inOrganization.has(name) ? 'at once' : '-');
    return [`\`${name}\``, { ...fates, workspace, organization }];
  });
  const lines = [...byTable, ...Object.entries(others)].map(
    ([name, fates]) => `| ${name} | ${fates.person} | ${fates.run} | ${fates.workspace} | ${fates.organization} | ${fates.age} |`,
  );
  return ['| Store | A person | A run | A workspace | An organization | By age |', '|---|---|---|---|---|---|', ...lines, ''].join('\n');
}
