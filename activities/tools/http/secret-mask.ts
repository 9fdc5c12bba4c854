import { createTextMask, maskJson } from '../../../ports/text-mask.ts';
import { toolError, type ToolFile, type ToolOutcome } from '../calls/outcome.ts';

/** What a call has learned of secrets, and how it masks them in everything it returns. */
export interface SecretMask {
  /** Returns the value of a named secret; from then on it is masked. */
  readonly secret: (name: string) => Promise<string | null>;
  /** Also masks a value derived from a secret: a token, an encoded pair. */
  readonly conceal: (name: string, value: string) => void;
  readonly mask: (text: string) => string;
  readonly maskOutcome: (outcome: ToolOutcome) => ToolOutcome;
}

/** Remembers every value that `resolve` returns and replaces it with `[secret:name]`, also where it is encoded. */
export function createSecretMask(resolve: (name: string) => Promise<string | null>): SecretMask {
  const { conceal, mask, hasValues } = createTextMask();

  return {
    async secret(name) {
      const value = await resolve(name);
      if (value !== null) conceal(name, value);
      return value;
    },
    conceal,
    mask,
    maskOutcome: (outcome) => (hasValues() ? maskedOutcome(outcome, mask) : outcome),
  };
}

/** The call has happened, and its result is withheld: it may contain a secret. */
const undecodable: ToolOutcome = {
  status: 'failed',
  error: toolError(
    'upstream_status',
    'the answer is in a coding that can not be read, so no secret in it could be masked',
    false,
    'undecodable',
  ),
  mayHaveHappened: true,
};

function maskedOutcome(outcome: ToolOutcome, mask: (text: string) => string): ToolOutcome {
  if (outcome.status !== 'succeeded') return { ...outcome, error: { ...outcome.error, message: mask(outcome.error.message) } };
  switch (outcome.type) {
    case 'text':
      return { ...outcome, text: mask(outcome.text) };
    case 'json':
      return { ...outcome, value: maskJson(outcome.value, mask) };
    case 'files':
      if (outcome.files.some(({ isOpaque }) => isOpaque)) return undecodable;
      return { ...outcome, text: mask(outcome.text), files: outcome.files.map((file) => maskedFile(file, mask)) };
    default:
      return outcome satisfies never;
  }
}

/** Latin-1 preserves every byte, so a value within bytes is replaced and everything else stays as it was. */
function maskedFile(file: ToolFile, mask: (text: string) => string): ToolFile {
  const text = file.bytes.toString('latin1');
  const masked = mask(text);
  return { ...file, name: mask(file.name), bytes: masked === text ? file.bytes : Buffer.from(masked, 'latin1') };
}
