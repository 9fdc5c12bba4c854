/**
 * The session of this browser. The access token lies in the memory of each tab and nowhere else; the refresh token lies in a cookie that no script can read.
 * All tabs share one session: one of them refreshes at a time and hands the new access token on.
 */
import { ConnectionError, type ErrorEnvelope } from '@longhaul/client';
import { decodeProblem } from './problem.ts';

/** Why a person has to sign in again; null: for the first time, or after signing out. */
export type SignedOutReason = 'session_revoked' | 'refresh_reuse_detected' | 'expired' | null;

export interface SignedIn {
  readonly kind: 'in';
  readonly userId: string;
  readonly sessionId: string;
}

export type SessionState = { readonly kind: 'starting' } | { readonly kind: 'out'; readonly reason: SignedOutReason } | SignedIn;

/** The part of TokenView that a tab keeps. */
export interface Tokens {
  readonly access_token: string;
  readonly session_id: string;
  readonly user: { readonly id: string };
}

type TabMessage =
  | { readonly type: 'tokens'; readonly tokens: Tokens }
  | { readonly type: 'signed-in'; readonly tokens: Tokens }
  | { readonly type: 'signed-out'; readonly reason: SignedOutReason };

/** The session has ended; the console shows the sign-in. */
export class SignedOutError extends Error {
  override readonly name = 'SignedOutError';
}

const cookieHeader = { 'X-Refresh-Cookie': '1' };
const channel = new BroadcastChannel('longhaul-session');
const listeners = new Set<() => void>();
/** Called when everything of the person who was signed in must leave the screen and the memory. */
const leavers = new Set<(keepsDrafts: boolean) => void>();

let state: SessionState = { kind: 'starting' };
let accessToken: string | null = null;

channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
  switch (data.type) {
    case 'tokens':
      if (state.kind !== 'out') adopt(data.tokens);
      return;
    case 'signed-in': {
      if (state.kind === 'in' && state.userId !== data.tokens.user.id) leave(false);
      adopt(data.tokens);
      return;
    }
    case 'signed-out':
      if (state.kind !== 'out') end(data.reason);
  }
});

export const session = {
  get: () => state,
  accessToken: () => accessToken,
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  onLeave(leaver: (keepsDrafts: boolean) => void): void {
    leavers.add(leaver);
  },
  /** Finds out whether there is a session: on load there is only the cookie. */
  async start(): Promise<void> {
    await refresh(null).catch((error: unknown) => {
      if (!(error instanceof SignedOutError)) throw error;
    });
  },
  /** After a sign-in, a verified factor or an accepted invitation. */
  signedIn(tokens: Tokens): void {
    adopt(tokens);
    say({ type: 'signed-in', tokens });
  },
  /** After a step-up, which gives a new access token for the same session. */
  renewed(tokens: Tokens): void {
    adopt(tokens);
    say({ type: 'tokens', tokens });
  },
  refresh,
  /** Ends the session on the server, and in all tabs whatever the server says. */
  async signOut(): Promise<void> {
    const token = accessToken;
    end(null);
    say({ type: 'signed-out', reason: null });
    if (token === null) return;
    await fetch('/auth/logout', { method: 'POST', keepalive: true, headers: { ...cookieHeader, authorization: `Bearer ${token}` } }).catch(
      () => null,
    );
  },
  /** The server has refused the session. */
  ended(reason: SignedOutReason): void {
    if (state.kind === 'out') return;
    end(reason);
    say({ type: 'signed-out', reason });
  },
};

function say(message: TabMessage): void {
  channel.postMessage(message);
}

function adopt({ access_token, session_id, user }: Tokens): void {
  accessToken = access_token;
  if (state.kind === 'in' && state.sessionId === session_id) return;
  change({ kind: 'in', userId: user.id, sessionId: session_id });
}

function end(reason: SignedOutReason): void {
  accessToken = null;
  // Whoever was thrown out comes back to the same place; whoever leaves takes everything along.
  leave(reason !== null);
  change({ kind: 'out', reason });
}

function leave(keepsDrafts: boolean): void {
  for (const leaver of leavers) leaver(keepsDrafts);
}

function change(next: SessionState): void {
  state = next;
  for (const listener of listeners) listener();
}

/**
 * Gets a new access token in place of `stale`; null: there is none yet. One tab at a time asks; the others find what it got.
 * @throws SignedOutError when the session is over
 * @throws ConnectionError when the server can't answer now
 */
async function refresh(stale: string | null): Promise<void> {
  await withLock('lh-refresh', async () => {
    if (accessToken !== null && accessToken !== stale) return;
    for (let attempt = 0; ; attempt++) {
      const answer = await askForTokens();
      if (answer.status === 200) return session.renewed((await answer.json()) as Tokens); // TokenView
      const problem = await decodeProblem(answer);
      if (problem?.code === 'refresh_superseded' && attempt < 5) {
        // Another browser window without locks was faster: by then its cookie is here.
        await delay(300 + Math.random() * 700);
        if (accessToken !== null && accessToken !== stale) return;
        continue;
      }
      if (answer.status !== 401) throw new ConnectionError(`refresh answered ${answer.status}`);
      const hadSession = state.kind === 'in';
      session.ended(reasonOf(problem, hadSession));
      throw new SignedOutError('the session is over');
    }
  });
}

function askForTokens(): Promise<Response> {
  return fetch('/auth/refresh', {
    method: 'POST',
    // A page that is left in the middle must not lose the successor.
    keepalive: true,
    headers: { ...cookieHeader, 'content-type': 'application/json' },
    body: JSON.stringify({ refresh_token: 'cookie' }),
  }).catch(() => {
    throw new ConnectionError('no answer');
  });
}

function reasonOf(problem: ErrorEnvelope | null, hadSession: boolean): SignedOutReason {
  if (problem?.code === 'session_revoked' || problem?.code === 'refresh_reuse_detected') return problem.code;
  return hadSession ? 'expired' : null;
}

/** Web Locks exist only in secure contexts; without them the server's 409 keeps the order. */
async function withLock(name: string, work: () => Promise<void>): Promise<void> {
  if (!('locks' in navigator)) return work();
  let isFree = true;
  await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock === null) isFree = false;
    else await work();
  });
  if (isFree) return;
  await navigator.locks.request(name, async () => {
    // The news of the tab that held it may come a moment after its lock.
    await delay(50);
    await work();
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
