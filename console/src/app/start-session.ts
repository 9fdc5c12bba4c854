import { api } from './api.ts';
import { connection } from './connection.ts';
import { session } from './session.ts';

const checkEveryMs = 4_000;
const silentMs = 6_000;

/** Finds the session, again and again while the API is away, and from then on notices within ten seconds when it has ended elsewhere. */
export function startSession(): void {
  void find(0);
  setInterval(() => void check(), checkEveryMs);
  document.addEventListener('visibilitychange', () => void check());
}

async function find(failures: number): Promise<void> {
  try {
    await session.start();
    connection.heard(200);
  } catch {
    connection.heard(0);
    const waitMs = Math.min(30_000, 1_000 * 2 ** failures) * (0.5 + Math.random() / 2);
    setTimeout(() => void find(failures + 1), waitMs);
  }
}

/** Views that poll learn it by themselves; this asks only when nothing has been heard for a while. */
async function check(): Promise<void> {
  if (session.get().kind !== 'in' || document.visibilityState !== 'visible') return;
  if (Date.now() - connection.heardAt() < silentMs) return;
  // A refusal ends the session on its way; that there is no answer is the banner's to say.
  await api.getCurrentSession({}).catch(() => undefined);
}
