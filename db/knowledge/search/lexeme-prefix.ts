/** What stands before each lexeme that a base stores: its number in base 36, so that one index serves each base as its own. */
export function lexemePrefix(lexNo: number): string {
  return `k${lexNo.toString(36)}:`;
}
