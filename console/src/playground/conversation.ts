/** What the address of the playground holds: a conversation can be gone back to, and shown to others. */
export interface Conversation {
  readonly agent?: string;
  readonly persona?: string;
  readonly session?: string;
}

export function parseConversation(search: Readonly<Record<string, unknown>>): Conversation {
  const text = (name: string) => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [agent, persona, session] = [text('agent'), text('persona'), text('session')];
  return { ...(agent && { agent }), ...(persona && { persona }), ...(session && { session }) };
}
