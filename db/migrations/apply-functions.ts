import { createHash } from 'node:crypto';
import { definerFunctions, definerSql } from '../definer-functions.ts';
import { definerStatements } from './statements.ts';

/** Runs one statement on the connection of the owner, within a transaction that the caller has opened. */
type Run = (sql: string, parameters?: readonly unknown[]) => Promise<readonly object[]>;

/** The signature of a definer function and the SQL that creates it. */
interface Definition {
  readonly signature: string;
  readonly sql: string;
}

/**
 * Creates the definer functions whose definition in the code is not the one in the database, and returns their signatures. The comment of a function holds
 * the SHA-256 of the definition it was made from. They are applied from their source at each migration, so that no migration holds a copy. A function that
 * the code no longer lists stays, since older processes may still call it, until a later migration drops it.
 */
export async function applyDefinerFunctions(run: Run, definitions: readonly Definition[] = listed()): Promise<string[]> {
  const applied = (await run(
    `select s as signature, obj_description(to_regprocedure(s)::oid, 'pg_proc') as comment from unnest($1::text[]) s`,
    [definitions.map(({ signature }) => signature)],
  )) as readonly { readonly signature: string; readonly comment: string | null }[];
  const comments = new Map(applied.map(({ signature, comment }) => [signature, comment]));
  const outdated = definitions.filter((definition) => comments.get(definition.signature) !== commentOf(definition));
  if (outdated.length === 0) return [];

  const signatures = outdated.map(({ signature }) => signature);
  const comment = outdated.map((definition) => `comment on function ${definition.signature} is '${commentOf(definition)}'`);
  for (const sql of definerStatements([...outdated.map((definition) => definition.sql), ...comment], signatures)) await run(sql);
  return signatures;
}

function listed(): Definition[] {
  return definerFunctions.map((signature, at) => ({ signature, sql: definerSql[at] ?? '' }));
}

function commentOf({ sql }: Definition): string {
  return `sha256:${createHash('sha256').update(sql).digest('hex')}`;
}
