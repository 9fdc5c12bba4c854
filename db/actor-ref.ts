import type { Actor, Caller } from './caller.ts';

/** The creator of a row, as views name it. */
export interface ActorRef {
  readonly kind: 'user' | 'service_key' | 'agent' | 'system';
  readonly id: string | null;
}

/** Returns the creator to store in rows that this actor writes. */
export function creatorOf(actor: Actor): ActorRef {
  switch (actor.kind) {
    case 'user':
    case 'operator':
      return { kind: 'user', id: actor.actingUserId ?? actor.id };
    case 'service_key':
      return { kind: 'service_key', id: actor.id };
    case 'agent_run':
      return { kind: 'agent', id: actor.id };
    case 'oauth_client':
    case 'ingress':
    case 'system':
      return { kind: 'system', id: null };
    default:
      return actor.kind satisfies never;
  }
}

/** Returns the uploader. A credential that works for no user is identified by its own id, so that it finds its uploads again. */
export function uploaderOf(caller: Caller): ActorRef {
  if (caller.userId !== null) return { kind: 'user', id: caller.userId };
  return { kind: caller.kind === 'service_key' ? 'service_key' : 'system', id: caller.principalId };
}
