import type { PromptTool } from '../prompt/prompt.ts';
import { stemsOf, wordsOf } from './words.ts';

/** Returns the arguments of a read tool as far as the user's words fill them; null when a required one stays empty. */
export function fillArguments(tool: PromptTool, words: string): Record<string, unknown> | null {
  const properties = record(tool.inputSchema['properties']) ?? {};
  const required = Array.isArray(tool.inputSchema['required'])
    ? tool.inputSchema['required'].filter((name) => typeof name === 'string')
    : [];
  if (required.length === 0) return fillOptional(tool, properties, words);

  const args: Record<string, unknown> = {};
  for (const name of required) {
    const value = fillOne(name, record(properties[name]) ?? {}, words);
    if (value === undefined) return null;
    args[name] = value;
  }

  return args;
}

/** A tool without required arguments is called with a search text if it takes one; otherwise only when the question is about it. */
function fillOptional(tool: PromptTool, properties: Record<string, unknown>, words: string): Record<string, unknown> | null {
  const search = Object.keys(properties).find((name) => /^(query|q|search|question)$/i.test(name));
  if (search !== undefined) return { [search]: fillOne(search, record(properties[search]) ?? {}, words) };

  const about = new Set(stemsOf(tool.slug));
  return stemsOf(words).some((word) => about.has(word)) ? {} : null;
}

function fillOne(name: string, schema: Record<string, unknown>, words: string): unknown {
  if ('const' in schema) return schema['const'];
  if ('default' in schema) return schema['default'];
  if (Array.isArray(schema['enum'])) return schema['enum'].find((value) => typeof value === 'string' && isSaid(value, words));
  if (![schema['type']].flat().includes('string')) return undefined;
  if (schema['format'] === 'uri' || /(^|_)(url|uri|href|link)$/i.test(name))
    return /https?:\/\/[^\s<>"'`)\]}]+/.exec(words)?.[0].replace(/[.,;:!?]+$/, '');
  if (schema['format'] !== undefined || schema['pattern'] !== undefined || /(^|_)id$/i.test(name)) return undefined;

  const text = words.trim();
  const maxChars = typeof schema['maxLength'] === 'number' ? schema['maxLength'] : text.length;
  return text === '' ? undefined : text.slice(0, maxChars).toWellFormed();
}

function isSaid(value: string, words: string): boolean {
  const said = new Set(wordsOf(words));
  const parts = wordsOf(value);

  return parts.length > 0 && parts.every((part) => said.has(part));
}

function record(value: unknown): Record<string, unknown> | null {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : null; // any such object has string keys
}
