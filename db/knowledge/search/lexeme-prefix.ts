/** Returns the prefix of each lexeme that a base stores: its number in base 36, so that one index serves every base as if it were its own. */
export function lexemePrefix(lexNo: number): string {
  return `k${lexNo.toString(36)}:`;
}
