import { createHash, randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { fail } from '../../workflows/contracts/failure.ts';

/** Where the sessions of the MCP endpoint are stored; any process of the deployment serves any of them. */
export interface McpSessionStore {
  readonly redis: Redis;
  readonly redisPrefix: string;
}

/** MCP sessions expire this long after their last request. */
const idleS = 3_600;
const idForm = /^[\w-]{43}$/;

/** Opens an MCP session of one principal; returns its id, of which only the hash is stored. Throws `service_unavailable` without Redis. */
export async function openMcpSession(store: McpSessionStore, principal: string): Promise<string> {
  const id = randomBytes(32).toString('base64url');
  await asFailure(() => store.redis.set(keyOf(store, id), principal, 'EX', idleS));
  return id;
}

/** Whether an MCP session exists and belongs to this principal; if so, its hour restarts. */
export async function touchMcpSession(store: McpSessionStore, id: string, principal: string): Promise<boolean> {
  if (!idForm.test(id)) return false;
  return (await asFailure(() => store.redis.getex(keyOf(store, id), 'EX', idleS))) === principal;
}

/** Ends an MCP session; false when this principal has no such session. */
export async function endMcpSession(store: McpSessionStore, id: string, principal: string): Promise<boolean> {
  if (!(await touchMcpSession(store, id, principal))) return false;
  return (await asFailure(() => store.redis.del(keyOf(store, id)))) === 1;
}

function keyOf({ redisPrefix }: McpSessionStore, id: string): string {
  return `${redisPrefix}mcp:session:${createHash('sha256').update(id).digest('base64url')}`;
}

async function asFailure<T>(command: () => Promise<T>): Promise<T> {
  try {
    return await command();
  } catch (cause) {
    throw fail('service_unavailable', { detail: 'Sessions cannot be read at the moment.', retryAfterS: 1, cause });
  }
}
