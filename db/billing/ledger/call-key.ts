/** `<source_kind>:<source_id>:<step>:<attempt>:<call>`: one key per call that may have reached a provider. */
export function callKey(
  sourceKind: 'run' | 'maintenance' | 'search' | 'evaluation',
  sourceId: string,
  step: number,
  attempt: number,
  call: number | string = 0,
): string {
  return `${sourceKind}:${sourceId}:${step}:${attempt}:${call}`;
}
