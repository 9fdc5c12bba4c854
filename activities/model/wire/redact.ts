import { cleanText } from './plain-text.ts';

export interface Redaction {
  /** Texts that must not reappear: instructions and history, as they were sent. */
  readonly prompt: () => string;
  readonly apiKey: string | null;
}

const limit = 500;
const windowSize = 16;
const stride = 8;

const credentials = /\b(?:sk|pk|rk|key|org|proj|xai|gsk|AIza)[-_][\w*.-]{6,}|\bBearer\s+\S+|\bAIza[\w-]{10,}|\b[\w-]{40,}\b/g;
const addresses = /\bhttps?:\/\/\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g;

/** Returns a provider's message as it may be stored and shown: one line, at most 500 characters, no key, address, or excerpt of the prompt. */
export function redact(message: string, { prompt, apiKey }: Redaction): string {
  const withoutKey = apiKey ? message.replaceAll(apiKey, '[redacted]') : message;
  const plain = cleanText(withoutKey.slice(0, 2_000).replaceAll(/\s+/g, ' ').trim());
  const safe = plain.replaceAll(credentials, '[redacted]').replaceAll(addresses, '[address]');

  return cleanText(withoutEchoes(safe.slice(0, limit), prompt()).slice(0, limit));
}

/** Blanks what also occurs in the prompt. Any common run of 24 characters contains one of the windows that are looked up. */
function withoutEchoes(message: string, prompt: string): string {
  const flat = prompt.replaceAll(/\s+/g, ' ');
  let result = '';
  let copied = 0;

  for (let at = 0; at + windowSize <= message.length; at += stride) {
    if (at < copied || !flat.includes(message.slice(at, at + windowSize))) continue;
    const start = Math.max(copied, at - stride);
    const end = endOfEcho(message, flat, at);
    result += start === copied && copied > 0 ? '' : `${message.slice(copied, start)}[…]`;
    copied = end;
  }

  return result + message.slice(copied);
}

function endOfEcho(message: string, flat: string, start: number): number {
  let end = start + windowSize;
  while (end < message.length && flat.includes(message.slice(end - windowSize + 1, end + 1))) end++;

  return end;
}
