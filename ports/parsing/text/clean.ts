import { truncateText } from '../../../workflows/contracts/truncate-text.ts';
import { parseLimits, type ParseInput, type ParsedPart } from '../parsed.ts';

/**
 * Returns the text without U+0000, and with U+FFFD for each lone surrogate: PostgreSQL stores neither. Each one is a warning with its offset.
 * @param offset characters of the file before this text
 */
export function cleanText(text: string, warn: ParseInput['warn'], offset = 0): string {
  const isClean = text.isWellFormed() && !text.includes('\0');
  if (isClean) return text;
  for (const match of text.matchAll(/\0|\p{Surrogate}/gu)) {
    const at = `at character ${offset + match.index}`;
    if (match[0] === '\0') warn('nul_dropped', `U+0000 ${at} was dropped.`);
    else warn('lone_surrogate', `A lone surrogate ${at} was replaced by U+FFFD.`);
  }
  return text.replaceAll('\0', '').toWellFormed();
}

/** Returns a part that can be stored: clean, its title truncated; null when no visible character is left in it. */
export function cleanPart(part: ParsedPart, warn: ParseInput['warn']): ParsedPart | null {
  const content = cleanText(part.content, warn);
  if (!/[^\s\p{Cc}\p{Cf}]/u.test(content)) return null;
  const fields = part.fields && { fields: cleanFields(part.fields, warn) };
  return { ...part, content, title: titleOf(part.title), ...fields };
}

function cleanFields(fields: Readonly<Record<string, unknown>>, warn: ParseInput['warn']): Record<string, unknown> {
  const cleanValue = (value: unknown): unknown => {
    if (typeof value === 'string') return cleanText(value, warn);
    if (Array.isArray(value)) return value.map(cleanValue);
    return typeof value === 'object' && value !== null ? cleanFields(Object.fromEntries(Object.entries(value)), warn) : value;
  };
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [cleanText(name, warn), cleanValue(value)]));
}

/** Returns one line of at most 300 characters; null when nothing is left. */
export function titleOf(text: string | null | undefined): string | null {
  const line = (text ?? '').replaceAll('\0', '').toWellFormed().replaceAll(/\s+/g, ' ').trim();
  return line === '' ? null : truncateText(line, parseLimits.titleChars);
}

/** Returns a file's name without its extension, as a title. */
export function nameOf(filename: string): string | null {
  return titleOf(filename.replace(/\.[^.]{1,8}$/, ''));
}
