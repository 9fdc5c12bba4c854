import type { Binding } from '../envelope.ts';

/** Binds the secrets of a channel to its row. */
export function channelBinding(organizationId: string | null, channelId: string): Binding {
  return { organizationId, aad: ['channels', channelId] };
}

/** Binds the token of a message to its row. */
export function channelMessageBinding(organizationId: string | null, messageId: string): Binding {
  return { organizationId, aad: ['channel_messages', messageId] };
}
