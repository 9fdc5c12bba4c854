import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseFile } from '../../ports/parsing/index.ts';
import { ParseFailure, type ParsedPart } from '../../ports/parsing/parsed.ts';

/** How a file ended: its parts and the codes of its warnings, or why it failed. */
export type Outcome =
  | {
      readonly state: 'ready';
      readonly parts: readonly ParsedPart[];
      readonly warnings: readonly string[];
      readonly details: readonly string[];
    }
  | { readonly state: 'failed'; readonly code: string; readonly detail: string };

/** Folder of the files that other programs made; its README says which. */
export const fixtures = fileURLToPath(new URL('../fixtures/knowledge/', import.meta.url));

/** Parses a file to its end. Throws what is no failure of the file. */
export async function parsed(path: string, filename = basename(path)): Promise<Outcome> {
  const parts: ParsedPart[] = [];
  const warnings: { readonly code: string; readonly detail: string }[] = [];
  try {
    for await (const event of parseFile(path, { filename, mediaType: '' })) {
      if (event.kind === 'part') parts.push(event.part);
      else warnings.push(event.warning);
    }
  } catch (error) {
    if (error instanceof ParseFailure) return { state: 'failed', code: error.code, detail: error.message };
    throw error;
  }
  return { state: 'ready', parts, warnings: warnings.map(({ code }) => code), details: warnings.map(({ detail }) => detail) };
}

/** Parses bytes under a name. */
export async function parsedBytes(filename: string, bytes: string | Uint8Array): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-parsing-'));
  try {
    const path = join(folder, 'file');
    await writeFile(path, bytes);
    return await parsed(path, filename);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The text of all parts; the reason of a failure. */
export function textOf(outcome: Outcome): string {
  return outcome.state === 'ready' ? outcome.parts.map(({ content }) => content).join('\n\n') : `failed: ${outcome.code}`;
}
