import { createHash } from 'node:crypto';
import type { Egress } from '../egress/egress.ts';
import { McpError } from './errors.ts';
import { connectMcp, type McpPatience, type McpSession, type McpTarget } from './mcp.ts';

/** Whose session it is: one toolkit as one principal, in one workspace. */
export interface McpUse extends McpPatience {
  readonly key: string;
  readonly target: McpTarget;
  /** Current credentials; a session that is already open continues with them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called when the server announces that its tools have changed, while the session is open. */
  readonly onToolsChanged?: () => void;
}

/** The open sessions of one process: at most one for each key. */
export interface McpSessions {
  /**
   * Works with the session of the key, connecting if needed. When the server no longer knows the session, it is reopened, once for all waiting callers, and the
   * work is repeated: it was not processed.
   */
  use<R>(asked: McpUse, work: (mcpSession: McpSession, patience: McpPatience) => Promise<R>): Promise<R>;
  readonly size: () => number;
  close(): Promise<void>;
}

export interface McpSessionsOptions {
  readonly egress: Egress;
  /** How long an unused session stays open; 60 s. */
  readonly idleMs?: number;
}

interface Entry {
  readonly opening: Promise<McpSession>;
  mcpSession: McpSession | null;
  uses: number;
  timer: NodeJS.Timeout | null;
}

const idleMs = 60_000;
const connectTimeoutMs = 15_000;
const maxMcpSessions = 500;

export function createMcpSessions({ egress, idleMs: idleFor = idleMs }: McpSessionsOptions): McpSessions {
  const entries = new Map<string, Entry>();
  /** Servers that turned out to support only the older transport: the next connection begins with it. */
  const older = new Set<string>();

  async function use<R>(asked: McpUse, work: (mcpSession: McpSession, patience: McpPatience) => Promise<R>, isAgain = false): Promise<R> {
    const key = keyOf(asked);
    const entry = entryOf(key, asked);
    entry.uses += 1;
    try {
      const mcpSession = await orAborted(entry.opening, asked.signal);
      mcpSession.setHeaders(asked.headers);
      return await work(mcpSession, { timeoutMs: asked.timeoutMs, signal: asked.signal, headers: asked.headers });
    } catch (error) {
      if (isAgain || !(error instanceof McpError) || error.kind !== 'session_lost') throw error;
      drop(key, entry);
    } finally {
      release(key, entry);
    }
    return use(asked, work, true);
  }

  function entryOf(key: string, asked: McpUse): Entry {
    const known = entries.get(key);
    if (known && !known.mcpSession?.isDead()) {
      if (known.timer) clearTimeout(known.timer);
      known.timer = null;
      return known;
    }
    if (known) drop(key, known);
    if (entries.size >= maxMcpSessions) dropIdlest();
    const entry: Entry = { opening: open(key, asked), mcpSession: null, uses: 0, timer: null };
    entries.set(key, entry);
    entry.opening.then(
      (mcpSession) => {
        entry.mcpSession = mcpSession;
        if (mcpSession.transport === 'sse') older.add(key);
      },
      () => {
        older.delete(key);
        drop(key, entry);
      },
    );
    return entry;
  }

  // All waiting callers share it: no single caller's signal ends it.
  function open(key: string, { target, headers, onToolsChanged, timeoutMs }: McpUse): Promise<McpSession> {
    if (older.size > 10 * maxMcpSessions) older.clear();
    const known = older.has(key) ? { ...target, transport: 'sse' as const } : target;
    const patience = { timeoutMs: Math.min(timeoutMs, connectTimeoutMs), signal: new AbortController().signal };
    return connectMcp(egress, known, { ...patience, headers, ...(onToolsChanged ? { onToolsChanged } : {}) });
  }

  function release(key: string, entry: Entry): void {
    entry.uses -= 1;
    if (entry.uses > 0) return;
    if (entries.get(key) !== entry) return void closeEntry(entry);
    entry.timer = setTimeout(() => drop(key, entry), idleFor).unref();
  }

  function drop(key: string, entry: Entry): void {
    if (entries.get(key) === entry) entries.delete(key);
    if (entry.timer) clearTimeout(entry.timer);
    // Other callers may still be waiting for answers on it: the last of them closes it.
    if (entry.uses <= 0) void closeEntry(entry);
  }

  function dropIdlest(): void {
    for (const [key, entry] of entries) if (entry.uses === 0) return drop(key, entry);
  }

  return {
    use: (asked, work) => use(asked, work),
    size: () => entries.size,
    async close() {
      const all = [...entries.values()];
      entries.clear();
      await Promise.all(all.map(closeEntry));
    },
  };
}

async function closeEntry(entry: Entry): Promise<void> {
  if (entry.timer) clearTimeout(entry.timer);
  await entry.opening.then((mcpSession) => mcpSession.close()).catch(() => undefined);
}

function keyOf({ key, target }: McpUse): string {
  const place = createHash('sha256')
    .update(JSON.stringify([target.url, target.transport]))
    .digest('hex')
    .slice(0, 16);
  return `${key}:${place}`;
}

function orAborted<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise<R>((resolve, reject) => {
    const give = () => reject(signal.reason);
    signal.addEventListener('abort', give, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
  });
}
