import * as linguist from 'linguist-languages';
import picomatch from 'picomatch';

/** Paths of a change, and lists of globs from configuration. */
export interface PathsJob {
  readonly paths: readonly string[];
  /** Each list by itself: `!` before a glob excludes what it matches, and a list of only such globs includes everything else. */
  readonly lists: readonly (readonly string[])[];
}

/** What a path's name alone tells. */
export interface PathReading {
  /** In the order of the lists: whether the list includes the path. */
  readonly taken: readonly boolean[];
  /** Names of the languages that use this file name, in lower case: `.h` is C and C++. */
  readonly languages: readonly string[];
  readonly kind: 'programming' | 'markup' | 'data' | 'prose' | 'unknown';
}

/** Runs in a child of the pool: globs become regular expressions that may backtrack without bound. Throws for an invalid glob. */
export function work({ paths, lists }: PathsJob): PathReading[] {
  const matchers = lists.map(listMatcher);
  return paths.map((path) => ({ taken: matchers.map((takes) => takes(path)), ...languageOf(path) }));
}

function listMatcher(globs: readonly string[]): (path: string) => boolean {
  const included = globs.filter((glob) => !glob.startsWith('!')).map(matcher);
  const excluded = globs.filter((glob) => glob.startsWith('!')).map((glob) => matcher(glob.slice(1)));
  return (path) => (included.length === 0 || included.some((fits) => fits(path))) && !excluded.some((fits) => fits(path));
}

/** As in a `.gitattributes`, a glob without a slash matches the name in any folder. */
function matcher(glob: string): (path: string) => boolean {
  return picomatch(glob.includes('/') ? glob : `**/${glob}`, { dot: true, nonegate: true });
}

function languageOf(path: string): Pick<PathReading, 'languages' | 'kind'> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const found = [...(byFilename.get(name) ?? []), ...extensionsOf(name).flatMap((extension) => byExtension.get(extension) ?? [])];
  const kinds = found.map(({ type }) => type);
  const kind = (['programming', 'markup', 'data', 'prose'] as const).find((each) => kinds.includes(each)) ?? 'unknown';
  return { languages: [...new Set(found.map((language) => language.name.toLowerCase()))], kind };
}

/** `a.d.ts` has the extensions `.d.ts` and `.ts`; the longest known one counts. */
function extensionsOf(name: string): string[] {
  for (let at = name.indexOf('.'); at !== -1; at = name.indexOf('.', at + 1)) {
    const extension = name.slice(at).toLowerCase();
    if (byExtension.has(extension)) return [extension];
  }
  return [];
}

type Language = (typeof linguist)[keyof typeof linguist];

const languages: readonly Language[] = Object.values(linguist);
const byExtension = indexBy((language) => ('extensions' in language ? (language.extensions ?? []) : []));
const byFilename = indexBy((language) => ('filenames' in language ? (language.filenames ?? []) : []));

function indexBy(keysOf: (language: Language) => readonly string[]): Map<string, Language[]> {
  const index = new Map<string, Language[]>();
  for (const language of languages) for (const key of keysOf(language)) index.set(key, [...(index.get(key) ?? []), language]);
  return index;
}
