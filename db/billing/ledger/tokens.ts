/** Bytes of UTF-8 a token takes, as the long-run mean of common tokenizers. */
const bytesPerToken = 4;

/** Tokens of so many bytes of text. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}
