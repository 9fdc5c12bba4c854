import { findInexact } from '../../../workflows/contracts/tools/exact-json.ts';

const replacement = '\uFFFD';

/** Text as PostgreSQL and JSON readers accept it: U+0000 and lone surrogates become U+FFFD. */
export function cleanText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();

  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', replacement) : wellFormed;
}

/** The same for every string and key inside a JSON value. */
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  if (value === null || typeof value !== 'object') return value;

  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleanJson(inner)]));
}

/** The JSON object that a model wrote as arguments, cleaned; no text at all is `{}`, anything else null, and so is what holds a number that would be changed. */
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
 * The arguments without what servers put around them: an empty object that they begin with before the real one comes (Bedrock behind
 * Chat Completions), and a second encoding, as a string that holds the object (vLLM with Granite). Neither can be meant by a model.
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

/** A number in arguments as a model wrote them that a double would change, a long fraction too: an amount, maybe. Null without one. */
export function inexactArgument(written: string): string | null {
  return findInexact(unwrapped(written), 'all');
}

/** Tells a model what is wrong with arguments that no tool gets: the number, or the parser's words and what it wrote, all cut. */
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

/** Tells a model of a number that would be changed on its way. */
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

/**
 * Cleans a text that arrives in pieces. A high surrogate at the end of a piece waits for its partner in the next one,
 * so no delta ever holds half a pair.
 */
export interface TextCleaner {
  /** The clean text that may leave now, possibly empty. */
  push(piece: string): string;
  /** What still waited when the block ended. */
  end(): string;
}

export function createTextCleaner(): TextCleaner {
  let waiting = '';

  return {
    push(piece) {
      const text = waiting + piece;
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
