/** Returns an expression: whether a tool and its toolkit are active. An inactive toolkit disables its tools, however they are bound. */
export function isToolOn(at: string): string {
  return `(${at}.is_active and not exists (select from toolkits off where off.id = ${at}.toolkit_id and not off.is_active))`;
}
