/**
 * Returns an expression: whether a kind matches a glob (`domain/events/kinds.ts` defines its form). `*` stands for one segment, `**` at the end for one or
 * more. Both arguments are SQL expressions of type text.
 */
export function meetsGlobSql(kind: string, glob: string): string {
  const pattern = `'^' || replace(replace(replace(${glob}, '.', '\\.'), '**', '.+'), '*', '[^.]+') || '$'`;
  return `(${glob} = ${kind} or (strpos(${glob}, '*') > 0 and ${kind} ~ (${pattern})))`;
}
