/** Truncates a text to at most `maxChars` UTF-16 units, never splitting a surrogate pair. */
export function truncateText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const last = text.charCodeAt(maxChars - 1);
  const isSplit = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isSplit ? maxChars - 1 : maxChars);
}
