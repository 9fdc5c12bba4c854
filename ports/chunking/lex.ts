import { lexLanguage, type LexLanguage } from './lex-languages.ts';

/** Maximum code points of a token: longer words are truncated, and longer compounds are found only by their parts. */
const maxTokenChars = 64;
const maxKnownStems = 50_000;

/** Letters, marks and digits of scripts that are written without spaces between words; Hangul because its particles join the word. */
const unspaced = String.raw`[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]&&[\p{L}\p{M}\p{N}]]`;
const spaced = String.raw`[[\p{L}\p{M}\p{N}']--${unspaced}]`;
/** A run of an unspaced script, or words joined to a compound: `node.js`, `snake_case`, `a/b`, `me@example.org`, `C++`, `C#`. */
const runs = new RegExp(String.raw`(?<unspaced>${unspaced}+)|(?<compound>${spaced}+(?:[._@&\/\-]${spaced}+)*(?:\+\+|#)?)`, 'gv');
const units = /[\p{L}\p{N}]\p{M}*|\p{M}+/gv;
const joiners = /[._@&/\-+#]+/u;
const apostrophes = /[\u2019\u02BC\uFF07]/gv;
/** Joiners inside a word that carry no meaning, and the soft hyphen. */
const invisible = /\u{AD}|\u{200C}|\u{200D}|\u{2060}|\u{FEFF}/gu;

/**
 * Returns the tokens of a document, in order and with repeats: NFKC, lower case, without stop words, stemmed; compounds as a whole and in parts; runs of
 * unspaced scripts as single characters and pairs. Pure: the same text and language yield the same tokens in every process and release.
 * @param language a code of `lexLanguages`; an unknown one is like `none`.
 */
export function lex(text: string, language: string): string[] {
  return tokensOf(text, language, true);
}

/**
 * Returns the tokens of a query: as `lex`, but of an unspaced run only its pairs, or its character where it has one. All are tokens of any document with these
 * words.
 */
export function lexQuery(text: string, language: string): string[] {
  return tokensOf(text, language, false);
}

function tokensOf(text: string, code: string, isDocument: boolean): string[] {
  const language = lexLanguage(code);
  const tokens: string[] = [];
  for (const { groups } of fold(text, code).matchAll(runs)) {
    if (groups?.['unspaced'] !== undefined) addRun(tokens, groups['unspaced'], { language, isDocument });
    else if (groups?.['compound'] !== undefined) addCompound(tokens, groups['compound'], { language, code });
  }
  return tokens;
}

/** Final sigma depends on what surrounds a word, which differs between a document and a query: one form for both. */
function fold(text: string, code: string): string {
  const lower = text.normalize('NFKC').toLocaleLowerCase(code === 'tr' ? 'tr' : 'en');
  return lower.normalize('NFKC').replaceAll(invisible, '').replaceAll(apostrophes, "'").replaceAll('ς', 'σ');
}

function addRun(tokens: string[], run: string, { language, isDocument }: { language: LexLanguage; isDocument: boolean }): void {
  const chars = run.match(units) ?? [];
  const add = (token: string) => {
    const short = truncate(token);
    if (!language.stopWords.has(short)) tokens.push(short);
  };
  for (const [at, char] of chars.entries()) {
    if (isDocument || chars.length === 1) add(char);
    const next = chars[at + 1];
    if (next !== undefined) add(char + next);
  }
}

function addCompound(tokens: string[], compound: string, { language, code }: { language: LexLanguage; code: string }): void {
  const whole = compound.replaceAll(/^'+|'+$/gv, '');
  const parts = whole.split(joiners).filter((part) => part !== '');
  const isCompound = parts.length > 1 || /[+#]$/v.test(whole);
  if (isCompound && [...whole].length <= maxTokenChars && !whole.includes("'")) tokens.push(whole);
  for (const part of parts) addWord(tokens, part, { language, code });
}

/** An elided part before or after an apostrophe is one letter in most languages (`l'eau`, `Peter's`) and not a word. */
function addWord(tokens: string[], word: string, { language, code }: { language: LexLanguage; code: string }): void {
  if (language.stopWords.has(word)) return;
  const parts = word.includes("'") && !language.hasApostrophe ? word.split("'").filter((part) => [...part].length > 1) : [word];
  for (const part of parts) {
    if (part !== "'" && !language.stopWords.has(part)) tokens.push(stemOf(truncate(part), { language, code }));
  }
}

const stems = new Map<string, string>();

function stemOf(word: string, { language, code }: { language: LexLanguage; code: string }): string {
  if (language.stem === null || /[\p{N}_]/v.test(word)) return word;
  const key = `${code} ${word}`;
  const known = stems.get(key);
  if (known !== undefined) return known;

  const stem = truncate(language.stem(word));
  if (stems.size >= maxKnownStems) stems.clear();
  stems.set(key, stem);
  return stem;
}

function truncate(token: string): string {
  return token.length <= maxTokenChars ? token : [...token].slice(0, maxTokenChars).join('');
}
