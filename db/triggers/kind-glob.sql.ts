/**
 * Whether a kind meets a glob (`domain/events/kinds.ts` says its form), as an expression: `*` stands for one segment, `**` at the end for one or more. Both are texts of SQL.
 */
export function meetsGlobSql(kind: string, glob: string): string {
  const pattern = `'^' || replace(replace(replace(${glob}, '.', '\\.'), '**', '.+'), '*', '[^.]+') || '$'`;
  return `(${glob} = ${kind} or (strpos(${glob}, '*') > 0 and ${kind} ~ (${pattern})))`;
}
