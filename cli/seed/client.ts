import { SetupError } from '../setup-error.ts';

/** A row of the API, as far as a seed reads it. */
export interface Item {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** The API as one caller sees it. */
export interface Client {
  /** Returns the body of a successful reply. Throws SetupError with the API's error otherwise, or if the API does not answer. */
  call(method: string, path: string, body?: object): Promise<Item>;
  /** Returns the first matching item of a list, or null. Seeds are small, so only the first 200 are checked. */
  find(path: string, fits: (item: Item) => boolean): Promise<Item | null>;
}

/** A client with a bearer credential. */
export function clientOf(baseUrl: string, credential: string | null): Client {
  const call: Client['call'] = async (method, path, body) => {
    const headers = {
      ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const answer = await fetch(baseUrl + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }).catch(
      () => {
        throw new SetupError(`No API answers at ${baseUrl}. Start the processes first (npm start).`);
      },
    );
    const text = await answer.text();
    if (!answer.ok) throw new RefusedError(`${method} ${path} answered ${answer.status}: ${text.slice(0, 500)}`, answer.status);
    return JSON.parse(text);
  };
  return {
    call,
    async find(path, fits) {
      const page = await call('GET', `${path}${path.includes('?') ? '&' : '?'}limit=200`);
      return Array.isArray(page['items']) ? (page['items'].find(fits) ?? null) : null;
    },
  };
}

/** A user's password, and the file from which it was read. */
export interface SignIn {
  readonly email: string;
  readonly password: string;
  readonly keptIn: string;
}

/** Returns a client for a user who signs in with a password. Throws SetupError if the password is refused or a second factor is required. */
export async function signIn(baseUrl: string, { email, password, keptIn }: SignIn): Promise<Client> {
  const session = await clientOf(baseUrl, null)
    .call('POST', '/auth/login', { email, password })
    .catch((error: unknown) => {
      if (!(error instanceof RefusedError) || error.status !== 401) throw error;
      throw new SetupError(
        `${email} cannot sign in with the password in ${keptIn}. If the password has been changed, write the current one there.`,
      );
    });
  if (typeof session['access_token'] !== 'string')
    throw new SetupError(`${email} has a second factor, but the seed can only sign in with a password.`);
  return clientOf(baseUrl, session['access_token']);
}

class RefusedError extends SetupError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}
