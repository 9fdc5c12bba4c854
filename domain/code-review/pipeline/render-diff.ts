import type { Hunk } from '../../../ports/diff/patch.ts';
import type { FileToRead } from './select-files.ts';
import { dataLine } from './text-safety.ts';

/** The most characters of diff in one call of a model. */
const maxBatch = 90_000;

/** Some files as a model reads them. */
export interface DiffBatch {
  readonly paths: readonly string[];
  readonly text: string;
}

/**
 * Renders files for a model, in as few batches as fit: each line with its number and the letter of its side (R: the new one, L: the removed one), by which a
 * finding names it. A file too large for a batch is split between its hunks, a hunk between its lines.
 */
export function renderBatches(files: readonly FileToRead[], limit: number = maxBatch): DiffBatch[] {
  const batches: { paths: Set<string>; text: string }[] = [];
  for (const { patch, hunks } of files) {
    const from = patch.previousPath === null ? '' : ` (was ${nameOf(patch.previousPath)})`;
    const title = `=== ${patch.status} ${nameOf(patch.path)}${from}\n`;
    for (const chunk of hunks.flatMap((hunk) => chunksOf(hunk, limit - title.length))) {
      const last = batches.at(-1);
      const isNew = last === undefined || last.text.length + title.length + chunk.length > limit;
      const batch = isNew ? { paths: new Set<string>(), text: '' } : last;
      if (isNew) batches.push(batch);
      if (!batch.paths.has(patch.path)) batch.text += title;
      batch.paths.add(patch.path);
      batch.text += chunk;
    }
  }
  return batches.map(({ paths, text }) => ({ paths: [...paths], text }));
}

/** A path may contain whatever its author likes, line feeds too. */
function nameOf(path: string): string {
  return dataLine(path.replaceAll(/[\r\n]/gu, ' '));
}

function chunksOf(hunk: Hunk, limit: number): string[] {
  const head = `@@ ${dataLine(hunk.section).trim()}\n`;
  const chunks: string[] = [];
  let chunk = head;
  for (const line of renderLines(hunk)) {
    if (chunk.length + line.length > limit && chunk !== head) {
      chunks.push(chunk);
      chunk = head;
    }
    chunk += line;
  }
  return [...chunks, chunk];
}

const signs = { context: ' ', added: '+', removed: '-' } as const;

function renderLines(hunk: Hunk): string[] {
  let isInKey = false;
  return hunk.lines.map((line) => {
    if (/-----BEGIN [A-Z ]{0,30}PRIVATE KEY/u.test(line.text)) isInKey = true;
    const text = isInKey ? '[redacted]' : dataLine(line.text.replace(/\r$/u, ''));
    if (/-----END [A-Z ]{0,30}PRIVATE KEY/u.test(line.text)) isInKey = false;
    return `${line.newLine === null ? `L${line.oldLine}` : `R${line.newLine}`} ${signs[line.kind]}${text}\n`;
  });
}

/** Lines of a file at the head for a second look, each with its number. */
export function renderCode(lines: readonly { readonly line: number; readonly text: string }[]): string {
  const rendered = lines.map(({ line, text }) => `R${line} ${dataLine(text.replace(/\r$/u, ''))}\n`);
  return rendered.join('').slice(0, maxCode).toWellFormed();
}

const maxCode = 30_000;
