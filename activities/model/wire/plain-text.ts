import { findInexact } from '../../../workflows/contracts/tools/exact-json.ts';

const replacement = '\uFFFD';

/** Returns a text that PostgreSQL and JSON readers accept: U+0000 and lone surrogates become U+FFFD. */
export function cleanText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();

  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', replacement) : wellFormed;
}

/** Does the same for every string and key inside a JSON value. */
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  if (value === null || typeof value !== 'object') return value;

  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleanJson(inner)]));
}

/**
 * Returns the JSON object that a model wrote as arguments, cleaned. An empty text is `{}`; anything else is null, and so is JSON with a number that would
 * change.
 */
export function parseArguments(written: string): Record<string, unknown> | null {
  if (written.trim() === '') return {};
  const text = unwrapped(written);
  if (findInexact(text, 'large') !== null) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleanJson(inner)]));
  } catch {
    return null;
  }
}

/**
 * Returns the arguments without what servers wrap around them: an empty object before the real one (Bedrock behind Chat Completions), and a second encoding, as
 * a string that holds the object (vLLM with Granite). No model can mean either.
 */
function unwrapped(text: string): string {
  const whole = text.trim();
  const second = /^\{\s*\}\s*(?=\{)/.exec(whole);
  if (second !== null) return whole.slice(second[0].length);
  if (!whole.startsWith('"')) return text;
  try {
    return String(JSON.parse(whole));
  } catch {
    return text;
  }
}

/** Returns a number in a model's arguments that a double would change, including a long fraction, which may be an amount. Null without one. */
export function inexactArgument(written: string): string | null {
  return findInexact(unwrapped(written), 'all');
}

/** Explains to a model what is wrong with arguments that reach no tool: the number, or the parser's message and what the model wrote, all truncated. */
export function brokenArguments(text: string): string {
  const meant = unwrapped(text);
  const inexact = findInexact(meant, 'all');
  if (inexact !== null && isJson(meant)) return inexactNumber(inexact);
  const wrote = `You wrote: ${text.slice(0, 300).toWellFormed()}${text.length > 300 ? ` … (${text.length} characters)` : ''}`;
  try {
    JSON.parse(text);
    return `The arguments are not a JSON object. ${wrote}`;
  } catch (error) {
    const words = error instanceof Error ? error.message.slice(0, 300).toWellFormed() : '';
    return `The arguments are not a JSON object: ${words}. ${wrote}`;
  }
}

/** Explains to a model that a number would change in transit. */
export function inexactNumber(literal: string): string {
  const shown = literal.length > 60 ? `${literal.slice(0, 60)}…` : literal;
  return `The number ${shown} has more digits than a number can keep, so it would be changed on its way. Write it as a string ("${shown}") where a string is taken, else with 17 digits or fewer.`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Cleans a text that arrives in parts. A high surrogate at the end of a part waits for its partner in the next one, so no delta ever holds half a pair. */
export interface TextCleaner {
  /** Returns the clean text that can be emitted now, possibly empty. */
  push(chunk: string): string;
  /** Returns what was still held back when the block ended. */
  end(): string;
}

export function createTextCleaner(): TextCleaner {
  let waiting = '';

  return {
    push(chunk) {
      const text = waiting + chunk;
      waiting = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(-1) : '';
      return cleanText(waiting === '' ? text : text.slice(0, -1));
    },
    end() {
      const rest = waiting === '' ? '' : replacement;
      waiting = '';
      return rest;
    },
  };
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
