import type { InjectionSuspect, ParseInput } from '../parsed.ts';

/**
 * Phrases by which texts try to command a model that reads them. They catch plain wording only; they are a hint for curators and lower the trust of an item,
 * but are no security boundary: what a run may do never depends on them. Only bounded repeats, so that each takes linear time.
 */
const rules: readonly (readonly [InjectionSuspect['rule'], RegExp])[] = [
  [
    'override',
    /\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|preceding|all|any|your|system)\b[^.\n]{0,30}\b(?:instruction|prompt|rule|direction|guideline|message|context)s?\b/iu,
  ],
  [
    'override',
    /\b(?:ignorier|vergiss|missachte)\w{0,4}\b[^.\n]{0,40}\b(?:anweisung|instruktion|regel|vorgabe)\w{0,4}\b|\bignore[rz]?\b[^.\n]{0,30}\binstructions?\b[^.\n]{0,20}\bprécédentes\b|\bignora\b[^.\n]{0,30}\binstrucciones\b|(?:忽略|无视|無視)[^。\n]{0,20}(?:指令|指示|提示)/iu,
  ],
  [
    'override',
    /\b(?:you are now|from now on,? you(?: are|'re| must| will)|new (?:system )?instructions?:|act as (?:an? )?(?:unrestricted|jailbroken|dan\b))/iu,
  ],
  [
    'role_marker',
    /<\|?(?:im_start|im_end|system|endoftext|start_header_id)\|?>|\[\/?INST\]|<<SYS>>|^\s{0,8}#{0,4}\s?(?:system|assistant) ?(?:prompt|message)?:\s/imu,
  ],
  [
    'tool_order',
    /\b(?:call|use|invoke|run|execute)\b[^.\n]{0,20}\b(?:the|your|this)\b[^.\n]{0,30}\b(?:tool|function|command|plugin)\b[^.\n]{0,40}\b(?:to (?:send|delete|transfer|post|email|upload|reveal)|without (?:asking|approval|confirmation))/iu,
  ],
  [
    'exfiltration',
    /\b(?:send|post|upload|forward|email|reveal|print|repeat|leak)\s+(?:me |us |back |out )?(?:the|your|all|any|its|their|every)\b[^.\n`]{0,30}\b(?:system prompt|api[ _-]?keys?|passwords?|credentials?|secrets?|conversation history|hidden instructions?)\b/iu,
  ],
  ['override', /\bdo not (?:tell|inform|mention|reveal)\b[^.\n]{0,30}\b(?:user|human|operator)\b/iu],
];

/** Characters of Unicode's tag block spell ASCII that no reader sees; a long run of zero-width ones hides bits. */
const invisible = /[\u{E0020}-\u{E007E}]{4,}|[\u200B\u200C\u2060\u2062-\u2064]{16,}/u;

/** Returns the first place in a text that reads like an instruction to a model; null when there is none. */
export function findInjection(text: string): InjectionSuspect | null {
  const hidden = invisible.exec(text);
  // The flag of a region is an emoji followed by tags (UTS #51).
  if (hidden && !text.slice(0, hidden.index).endsWith('\u{1F3F4}'))
    return { rule: 'invisible_characters', excerpt: excerptOf(readTags(hidden[0])) };
  for (const [rule, pattern] of rules) {
    const match = pattern.exec(text);
    if (match) return { rule, excerpt: excerptOf(text.slice(Math.max(0, match.index - 20), match.index + match[0].length + 60)) };
  }
  return null;
}

/** Text of a document that its readers do not see. */
export interface HiddenText {
  /** The text that was left out. */
  readonly hidden: string;
  /** Number of characters that stayed, since a reader may see them after all. */
  readonly doubtfulChars?: number;
}

/** Warns of hidden text. Instructions in the text that was left out make the document suspect; those in the text that stayed are found there. */
export function suspectHidden({ hidden, doubtfulChars = 0 }: HiddenText, warn: ParseInput['warn']): InjectionSuspect | null {
  if (hidden !== '') warn('hidden_text', `${hidden.length} characters that a reader would not see were omitted.`);
  if (doubtfulChars > 0)
    warn(
      'hidden_text',
      `The text contains ${doubtfulChars} characters that a reader may not see because of their position, size, colour or style.`,
    );
  return findInjection(hidden) && { rule: 'hidden_text', excerpt: hidden.slice(0, 200).toWellFormed() };
}

function readTags(text: string): string {
  return Array.from(text, (sign) => String.fromCodePoint(((sign.codePointAt(0) ?? 0xe0020) - 0xe0000) & 0x7f)).join('');
}

function excerptOf(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, 200)
    .toWellFormed();
}
