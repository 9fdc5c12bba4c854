/** What a process sends beside any request: marks of use, its signing keys, the outbox. */
const ofProcess = /outbox|update "?(?:sessions|service_keys|oauth_clients)"? set "?last_|\bsigning_keys\b/;

/** Whether a statement is a request's own work: neither its settings, nor the look for its caller, nor what the process sends of itself. */
export function isOfRequest(sql: string): boolean {
  return !/gate_|set_config/.test(sql) && !ofProcess.test(sql);
}
