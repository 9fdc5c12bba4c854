import { createRequire } from 'node:module';

/** Merging pairs takes time quadratic in the length of a run without spaces, so longer runs are counted in parts. */
const maxRunChars = 128;
const longRun = new RegExp(String.raw`\S{${maxRunChars + 1}}|\s{${maxRunChars + 1}}`, 'v');
const parts = new RegExp(String.raw`[\s\S]{1,${maxRunChars}}`, 'gv');

const load = createRequire(import.meta.url);
let count: ((text: string) => number) | null = null;

/**
 * Counts the tokens of a text by cl100k_base, the vocabulary of OpenAI's embedding models, for models without a tokenizer of their own. Names of special tokens
 * in the text count as text. Time is linear in the length of the text, whatever it contains; the vocabulary (44 MB) is loaded at the first call.
 */
export function countTokens(text: string): number {
  count ??= loadCounter();
  if (!longRun.test(text)) return count(text);

  let tokens = 0;
  for (const [part] of text.matchAll(parts)) tokens += count(part);
  return tokens;
}

function loadCounter(): (text: string) => number {
  const counted: unknown = Object(load('gpt-tokenizer/encoding/cl100k_base')).countTokens;
  if (typeof counted !== 'function') throw new Error('gpt-tokenizer counts no tokens');
  const options = { disallowedSpecial: new Set<string>() };
  return (text) => Number(counted(text, options));
}
