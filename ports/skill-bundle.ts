import { invalid } from '../workflows/contracts/failure.ts';
import { readSkillMarkdown, type SkillMarkdown } from './skill-markdown.ts';
import { isZip, readZip, type BundleFile } from './skill-zip.ts';

/** A skill as files describe it: its SKILL.md and its other text files. */
export interface SkillBundle extends SkillMarkdown {
  readonly documents: readonly { readonly name: string; readonly content: string }[];
}

/** Most bytes of an archive or file that is read. */
export const bundleLimitBytes = 5 * 1_024 * 1_024;

const skillFile = 'skill.md';

/**
 * Reads an uploaded bundle: a zip with one SKILL.md at its top, or the SKILL.md alone. Files that are not text are 422 with their names,
 * unless they are to be skipped. Reads where it is called: callers outside the pool's children use `createSkillReader`.
 */
export async function readBundle(
  bytes: Buffer,
  { pointer, skipUnsupported }: { readonly pointer: string; readonly skipUnsupported: boolean },
): Promise<SkillBundle> {
  const files = isZip(bytes) ? await readZip(bytes, pointer) : [{ path: 'SKILL.md', bytes }];
  const skills = files.filter(({ path }) => nameOf(path) === skillFile);
  const [skill] = skills;
  if (skills.length > 1)
    throw invalid(pointer, 'uniqueItems', 'The bundle holds two SKILL.md.', { names: skills.slice(0, 20).map(({ path }) => path) });
  if (!skill || skill.path.includes('/')) throw invalid(pointer, 'required', 'The bundle has no SKILL.md at its top.');

  const markdown = textOf(skill);
  if (markdown === null) throw invalid(pointer, 'encoding', 'The SKILL.md is not text in UTF-8.');
  const others = files.filter((file) => file !== skill).map((file) => ({ name: file.path, content: textOf(file) }));
  const binary = others.flatMap(({ name, content }) => (content === null ? [name] : []));
  if (binary.length > 0 && !skipUnsupported)
    throw invalid(pointer, 'unsupported_files', `Files that are not text: ${namesOf(binary)}.`, { names: binary.slice(0, 50) });
  return {
    ...readSkillMarkdown(markdown, pointer),
    documents: others.flatMap(({ name, content }) => (content === null ? [] : [{ name, content }])),
  };
}

/** Whether a path names a second SKILL.md. */
export function isSkillFile(path: string): boolean {
  return nameOf(path) === skillFile;
}

/** Valid UTF-8 that a row can hold, else null. */
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

function namesOf(names: readonly string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return `${names.slice(0, 5).join(', ')}${more}`.slice(0, 400);
}
