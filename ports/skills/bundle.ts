import { invalid } from '../../workflows/contracts/failure.ts';
import { readSkillMarkdown, type SkillMarkdown } from './markdown.ts';
import { isZip, readZip, type BundleFile } from './zip.ts';

/** A skill as its files define it: its SKILL.md, its other texts, and the files that are not text, or too large for one. */
export interface SkillBundle extends SkillMarkdown {
  readonly documents: readonly { readonly name: string; readonly content: string }[];
  readonly files: readonly SkillFile[];
}

/** A file of a skill, by its relative path. */
export interface SkillFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Characters of a text; null: it is not text. */
  readonly chars: number | null;
}

/** Maximum characters of one document of a skill. */
export const documentChars = 262_144;
/** Maximum bytes of all its documents together. */
export const documentsBytes = 2 * 1_024 * 1_024;

/** Maximum bytes of an archive or file that is read. */
export const maxBundleBytes = 16 * 1_024 * 1_024;

const skillFile = 'skill.md';

/**
 * Reads an uploaded bundle: a zip with one SKILL.md at its top, or the SKILL.md alone. Texts that are too long for a document, or that exceed what all
 * documents may hold together (the longest first), become files, like everything that is not text. Runs in the calling process: callers outside the pool's
 * children use `createSkillReader`.
 */
export async function readBundle(bytes: Buffer, pointer: string): Promise<SkillBundle> {
  const files = isZip(bytes) ? await readZip(bytes, pointer) : [{ path: 'SKILL.md', bytes }];
  const skills = files.filter(({ path }) => nameOf(path) === skillFile);
  const [skill] = skills;
  if (skills.length > 1)
    throw invalid(pointer, 'uniqueItems', 'The bundle contains two SKILL.md files.', {
      names: skills.slice(0, 20).map(({ path }) => path),
    });
  if (!skill || skill.path.includes('/')) throw invalid(pointer, 'required', 'The bundle has no SKILL.md at its top level.');

  const markdown = textOf(skill);
  if (markdown === null) throw invalid(pointer, 'encoding', 'The SKILL.md is not UTF-8 text.');
  return { ...readSkillMarkdown(markdown, pointer), ...sorted(files.filter((file) => file !== skill)) };
}

/** Separates texts that a row can hold from files. */
function sorted(found: readonly BundleFile[]): Pick<SkillBundle, 'documents' | 'files'> {
  const all = found.map((file) => ({ name: file.path, bytes: file.bytes, text: textOf(file) }));
  const asFiles = new Set(all.filter(({ text }) => text === null || text.length > documentChars));
  const texts = all.filter((file) => !asFiles.has(file)).toSorted((left, right) => right.bytes.length - left.bytes.length);
  let total = texts.reduce((sum, { bytes }) => sum + bytes.length, 0);
  for (const longest of texts) {
    if (total <= documentsBytes) break;
    asFiles.add(longest);
    total -= longest.bytes.length;
  }
  return {
    documents: all.flatMap((file) => (asFiles.has(file) ? [] : [{ name: file.name, content: file.text ?? '' }])),
    files: all.flatMap((file) => (asFiles.has(file) ? [{ name: file.name, bytes: file.bytes, chars: file.text?.length ?? null }] : [])),
  };
}

/** Whether a path names a second SKILL.md. */
export function isSkillFile(path: string): boolean {
  return nameOf(path) === skillFile;
}

/** Returns valid UTF-8 that a row can hold, otherwise null. */
function textOf({ bytes }: BundleFile): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\u0000') ? null : text;
  } catch {
    return null;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).toLowerCase();
}
