import type { ModelErrorClass } from './model-error.ts';

/** What an error says about itself besides its status. */
export interface NamedError {
  readonly code: string | null;
  readonly message: string;
}

/** Whether a provider's status is worth another try; `x-should-retry` outranks it. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** Returns the class of an answer with an error status. A context overflow is classed as one under any status except 429. */
export function classOfStatus(status: number, error: NamedError): ModelErrorClass {
  if (status === 429) return 'RateLimited';
  if (isOverflow(error)) return 'ContextTooLong';
  if (isRetryableStatus(status)) return 'Unavailable';
  if (status === 401 || status === 403) return 'AuthRefused';
  if (status === 413) return 'ContextTooLong';
  return isAboutContent(`${error.code ?? ''} ${error.message}`) ? 'ContentRefused' : 'Rejected';
}

/**
 * Returns the class of an error that came in a 200 or inside a stream. A status inside it counts like one of HTTP; otherwise its code decides, then its
 * message. An error that nothing identifies counts as a cut-off stream.
 */
export function classOfReported(error: NamedError & { readonly status: number | null }): ModelErrorClass {
  if (error.status !== null) return classOfStatus(error.status, error);
  const code = (error.code ?? '').toLowerCase();
  if (/rate_?limit|too_many|quota|throttl|resource_exhausted/.test(code)) return 'RateLimited';
  if (isOverflow(error)) return 'ContextTooLong';
  if (/overload|server_?error|api_error|internal|unavailable|timeout|capacity/.test(code)) return 'Unavailable';
  if (/authentication|unauthorized|unauthenticated|permission|forbidden|invalid_api_key/.test(code)) return 'AuthRefused';
  if (isAboutContent(code)) return 'ContentRefused';
  if (
    /invalid_?(request|argument|prompt|image|base64)|bad_?request|not_?found|validation|unsupported_image|image_(too|parse|file)/.test(code)
  )
    return 'Rejected';
  return classOfMessage(error.message);
}

/** For servers that send only a sentence (Ollama, TGI, FastAPI), the sentence decides. */
function classOfMessage(message: string): ModelErrorClass {
  if (/\b(invalid|incorrect|missing|no) api[ _-]?key\b|\bunauthorized\b|\bauthentication (failed|required)\b|\bforbidden\b/i.test(message))
    return 'AuthRefused';
  if (
    /\bmodel\b.{0,120}\b(not found|does ?n[o']t exist|not exist)\b|\bdoes not support\b|\bvalidation error\b|\bbad request\b/i.test(message)
  )
    return 'Rejected';
  return 'StreamCut';
}

/** How servers say that a prompt is longer than the context. `docs/model-providers.md` lists which server says what. */
const overflowMessages = [
  /context_?length_?exceeded|exceed_?context_?size|context_window_exceeded|string_above_max_length|request_too_large/i,
  /(maximum|max|model'?s?) (context|prompt|sequence|model) (length|window)/i,
  /(exceed\w*|beyond|larger than|longer than|greater than|outside)\b.{0,60}\b(context|model'?s?) (length|window|size)/i,
  /context (length|window|size)\b.{0,40}\b(exceed|too (small|long)|limit|is full|overflow)/i,
  /context (the )?overflows?\b/i,
  /\b(prompt|input|request|messages?|conversation)( is| are|'s)? too (long|large)\b(?! for the (rate|tpm))/i,
  /\bprompt too long\b/i,
  /\bexceed\w* (the )?(model'?s? )?(maximum|max|limit|context).{0,60}\btokens?\b/i,
  /\binput token count\b.{0,60}\bexceeds?\b/i,
  /\btoken count\b.{0,60}\bexceeds? the limit/i,
  /\b(exceeded|exceeds) model token limit/i,
  /\binput length\b.{0,60}\bexceeds?\b/i,
  /`?inputs`? (tokens \+ `?max_new_tokens`? )?must (be <=|have less than) ?\d+/i,
  /\btoo many (input |prompt )?tokens\b/i,
  /\breduce the length of the (messages|prompt|input)/i,
  /\btoo large for model with \d+ maximum context/i,
  /\bcontains \d+ tokens\b.{0,60}\b(too large|exceed|maximum)/i,
];

function isOverflow({ code, message }: NamedError): boolean {
  const words = `${code ?? ''} ${message}`.slice(0, 4_000);
  return overflowMessages.some((pattern) => pattern.test(words));
}

function isAboutContent(words: string): boolean {
  return /content_?filter|content_policy|safety_violation|responsible_?ai/i.test(words);
}
