/** Escapes one segment of a JSON pointer (RFC 6901 §3). */
export function escapePointer(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}
