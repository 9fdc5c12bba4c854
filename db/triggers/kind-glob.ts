import { type Expression, type RawBuilder, sql } from 'kysely';

/** Returns whether a kind matches a glob (`domain/triggers/kinds.ts` defines its form). `*` stands for one segment, `**` at the end for one or more. */
export function meetsGlob(kind: Expression<string>, glob: Expression<string>): RawBuilder<boolean> {
  const pattern = sql`'^' || replace(replace(replace(${glob}, '.', '\\.'), '**', '.+'), '*', '[^.]+') || '$'`;
  return sql<boolean>`(${glob} = ${kind} or (strpos(${glob}, '*') > 0 and ${kind} ~ (${pattern})))`;
}
