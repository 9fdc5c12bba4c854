import type { PasswordStrength } from '../../../ports/passwords/strength.ts';
import type { Deps } from '../operation/deps.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';

/** Whose password it will be, and its location in the request. */
export interface PasswordSubject {
  readonly email: string;
  readonly fullName: string | null;
  /** With a confirmed second factor a shorter one will do. */
  readonly hasFactor: boolean;
  /** JSON pointer of the field. */
  readonly pointer: string;
}

const minChars = { alone: 15, withFactor: 8 } as const;
const minScore = 3;
/** Longer texts are guessed no sooner, and would take long to look at. */
const ratedCharacters = 100;

/** The hash of a new password that holds the rules; throws what `checkNewPassword` does. Takes tens of milliseconds: outside any transaction. */
export async function hashNewPassword(
  { passwordStrength, identity }: Pick<Deps, 'passwordStrength' | 'identity'>,
  password: string,
  subject: PasswordSubject,
): Promise<string> {
  await checkNewPassword(passwordStrength, password, subject);
  return identity.passwords.hash(password);
}

/** Refuses a password that is short or, with address and name known, easily guessed. Throws 422 `password_too_short`, `password_guessable`. */
export async function checkNewPassword(
  strength: PasswordStrength,
  password: string,
  { email, fullName, hasFactor, pointer }: PasswordSubject,
): Promise<void> {
  const characters = [...password.normalize('NFC')];
  const minimum = hasFactor ? minChars.withFactor : minChars.alone;

  if (characters.length < minimum) {
    throw invalid(pointer, 'password_too_short', `must have at least ${minimum} characters`, { minimum });
  }
  const known = [email, ...email.split(/[@.]/), ...(fullName === null ? [] : [fullName, ...fullName.split(/\s+/)])];
  const score = await strength.rate({
    password: characters.slice(0, ratedCharacters).join(''),
    known: known.filter((word) => word !== '').slice(0, 50),
  });

  if (score === null)
    throw fail('service_unavailable', { retryAfterS: 1, detail: 'The strength of the password could not be checked in time.' });
  if (score < minScore) throw invalid(pointer, 'password_guessable', 'is too easy to guess');
}
