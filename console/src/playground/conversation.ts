/** What the address of the playground holds: a conversation can be gone back to, and shown to others. */
export interface Conversation {
  readonly agent?: string;
  readonly persona?: string;
  /** A revision other than the active one. */
  readonly revision?: string;
  readonly session?: string;
}

export function parseConversation(search: Readonly<Record<string, unknown>>): Conversation {
  const text = (name: string) => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [agent, persona, revision, session] = [text('agent'), text('persona'), text('revision'), text('session')];
  return { ...(agent && { agent }), ...(persona && { persona }), ...(revision && { revision }), ...(session && { session }) };
}
