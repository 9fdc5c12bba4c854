/** UTF-8 bytes per token, as the long-run mean of common tokenizers. */
const bytesPerToken = 4;

/** Returns the estimated tokens of a text of this many bytes. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}
