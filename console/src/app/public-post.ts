import { ConnectionError } from '@longhaul/client';
import { thrownFor } from './problem.ts';

/** A POST without a session: sign-in, and what the links of mails lead to. A refresh token in the reply goes into the cookie, which the client never takes. */
export async function publicPost<R>(path: string, body: Readonly<Record<string, unknown>>): Promise<R> {
  const headers = { 'content-type': 'application/json', 'X-Refresh-Cookie': '1' };
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }).catch(() => {
    throw new ConnectionError('no answer');
  });
  if (!answer.ok) throw await thrownFor(answer);
  const text = await answer.text();
  return (text === '' ? undefined : JSON.parse(text)) as R; // of the operation
}
