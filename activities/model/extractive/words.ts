// Function words and phrases of asking: they carry nothing of what is asked.
const functionWords = new Set(
  (
    'a an and any are as at be been but by can could did do does for from get give had has have how i if in into is it its ' +
    'just me my no not of on or our out please shall should so some such than that the their them then there these they this those to ' +
    'up us was we were what when where which while who whom whose why will with would you your'
  ).split(' '),
);

const synonymGroups = [
  'start create launch begin submit',
  'delete remove erase purge',
  'read get fetch show retrieve',
  'list enumerate browse',
  'update change edit modify',
  'cancel stop abort halt',
  'login signin',
  'cost price',
  'error fault failure',
].map((group) => group.split(' '));
const synonyms = new Map(
  synonymGroups.flatMap((group) => group.map((word) => [stem(word), group.map(stem).filter((other) => other !== stem(word))] as const)),
);

/** Returns the words of a text in order: lower case, without accents, compound names (`run_id`, `createRun`, paths) taken apart, Han and Kana in pairs. */
export function wordsOf(text: string): string[] {
  const plain = text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase();

  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((word) =>
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(word) ? pairs(word) : [word],
  );
}

/** Returns the words that carry meaning, as stems. */
export function stemsOf(text: string): string[] {
  return wordsOf(text)
    .filter((word) => !functionWords.has(word))
    .map(stem);
}

export function synonymsOf(wordStem: string): readonly string[] {
  return synonyms.get(wordStem) ?? [];
}

/** A light stemmer for English plurals and verb endings; other languages mostly pass through. */
export function stem(word: string): string {
  if (word.length <= 3) return word;
  const base = word
    .replace(/(ss|us|is)$/, '$1~')
    .replace(/ies$/, 'y')
    .replace(/(x|ch|sh|ss~)es$/, '$1')
    .replace(/s$/, '')
    .replace(/~/, '');
  const root = base.length > 5 ? base.replace(/(ing|ed|er)$/, '') : base.length === 5 ? base.replace(/ed$/, '') : base;

  return undouble(root).replace(/e$/, '');
}

function undouble(word: string): string {
  return /([bdgkmnprt])\1$/.test(word) ? word.slice(0, -1) : word;
}

function pairs(word: string): string[] {
  const letters = [...word];
  if (letters.length < 2) return letters;

  return letters.slice(1).map((letter, at) => `${letters[at] ?? ''}${letter}`);
}
