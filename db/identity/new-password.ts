import { type OptionsType, ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common';
import { dictionary as english } from '@zxcvbn-ts/language-en';
import { invalid } from '../../workflows/contracts/failure.ts';

/** Whose password it will be, and where it stands in the request. */
export interface PasswordSubject {
  readonly email: string;
  readonly fullName: string | null;
  /** With a confirmed second factor a shorter one will do. */
  readonly hasFactor: boolean;
  /** JSON pointer of the field. */
  readonly pointer: string;
}

const shortest = { alone: 15, withFactor: 8 } as const;
const lowestScore = 3;
/** Longer texts are guessed no sooner, and would take long to look at. */
const looked = 100;

const options: OptionsType = { dictionary: { ...common, ...english }, graphs: adjacencyGraphs };
let estimator: ZxcvbnFactory | null = null;

/** Refuses a password that is short or easily guessed, address and name known. Throws 422 `password_too_short`, `password_guessable`. */
export async function checkNewPassword(password: string, { email, fullName, hasFactor, pointer }: PasswordSubject): Promise<void> {
  const text = password.normalize('NFC');
  const minimum = hasFactor ? shortest.withFactor : shortest.alone;
  if ([...text].length < minimum)
    throw invalid(pointer, 'password_too_short', `a password has at least ${minimum} characters`, { minimum });

  // The dictionaries take a while to load: made on first use.
  estimator ??= new ZxcvbnFactory(options);
  const known = [email, ...email.split(/[@.]/), ...(fullName === null ? [] : [fullName, ...fullName.split(/\s+/)])];
  const { score } = await estimator.checkAsync(
    text.slice(0, looked),
    known.filter((word) => word !== ''),
  );
  if (score < lowestScore) throw invalid(pointer, 'password_guessable', 'this password is easily guessed');
}
