import { createRequire } from 'node:module';

/** What the lexer knows about a language. */
export interface LexLanguage {
  readonly stem: ((word: string) => string) | null;
  readonly stopWords: ReadonlySet<string>;
  /** Whether an apostrophe is a letter of its words, as in Ukrainian. */
  readonly hasApostrophe: boolean;
}

/** Languages by their ISO 639-1 code, and their names in Orama's packages. Slovenian is left out: its list there is the Russian one. */
const modules: Readonly<Record<string, { readonly stemmer?: string; readonly stopWords?: string }>> = {
  ar: both('arabic'),
  bg: both('bulgarian'),
  da: both('danish'),
  de: both('german'),
  el: both('greek'),
  en: both('english'),
  es: both('spanish'),
  fi: both('finnish'),
  fr: both('french'),
  ga: both('irish'),
  hi: both('indian'),
  hu: both('hungarian'),
  hy: both('armenian'),
  id: both('indonesian'),
  it: both('italian'),
  ja: { stopWords: 'japanese' },
  lt: both('lithuanian'),
  ne: both('nepali'),
  nl: both('dutch'),
  no: both('norwegian'),
  pt: both('portuguese'),
  ro: both('romanian'),
  ru: both('russian'),
  sa: both('sanskrit'),
  sr: both('serbian'),
  sv: both('swedish'),
  ta: both('tamil'),
  tr: both('turkish'),
  uk: both('ukrainian'),
  zh: { stopWords: 'mandarin' },
};

/** Codes of the languages that have stop words or a stemmer, and `none`, which has neither. */
export const lexLanguages: readonly string[] = ['none', ...Object.keys(modules)];

const load = createRequire(import.meta.url);
const loaded = new Map<string, LexLanguage>();
const none: LexLanguage = { stem: null, stopWords: new Set(), hasApostrophe: false };

/** Returns a language by its code, loaded from its package at the first use; an unknown one is like `none`. */
export function lexLanguage(code: string): LexLanguage {
  const known = loaded.get(code);
  if (known) return known;
  const names = Object.hasOwn(modules, code) ? modules[code] : undefined;
  if (!names) return none;

  const language = {
    stem: names.stemmer === undefined ? null : stemmerOf(load(`@orama/stemmers/${names.stemmer}`)),
    stopWords: new Set(names.stopWords === undefined ? [] : stopWordsOf(load(`@orama/stopwords/${names.stopWords}`)).map(foldStopWord)),
    hasApostrophe: code === 'uk',
  };
  loaded.set(code, language);
  return language;
}

/** Folds a stop word as the lexer folds its input: NFKC, lower case, one form of sigma. */
function foldStopWord(word: string): string {
  return word.normalize('NFKC').toLowerCase().normalize('NFKC').replaceAll('ς', 'σ');
}

function both(name: string) {
  return { stemmer: name, stopWords: name };
}

function stemmerOf(module: unknown): (word: string) => string {
  const stemmer: unknown = Object(module).stemmer;
  if (typeof stemmer !== 'function') throw new Error('the package has no stemmer');
  return (word) => {
    const stem: unknown = stemmer(word);
    return typeof stem === 'string' && stem !== '' ? stem : word;
  };
}

function stopWordsOf(module: unknown): string[] {
  const words: unknown = Object(module).stopwords;
  if (!Array.isArray(words)) throw new Error('the package has no stop words');
  return words.map(String);
}
