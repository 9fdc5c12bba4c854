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

/** UTF-8 bytes per token, as the long-run mean of common tokenizers. */
const bytesPerToken = 4;

/** Returns the estimated tokens of a text of this many bytes. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}
