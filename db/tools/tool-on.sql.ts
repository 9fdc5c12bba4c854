/** Whether a tool is active, and its toolkit too: one that is switched off takes its tools along, however they are bound. An expression. */
export function isToolOn(at: string): string {
  return `(${at}.is_active and not exists (select from toolkits off where off.id = ${at}.toolkit_id and not off.is_active))`;
}
