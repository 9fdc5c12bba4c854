import { useState } from 'react';
import { session } from '../app/session.ts';

const prefix = 'longhaul-draft:';

session.onLeave((keepsDrafts) => {
  if (keepsDrafts) return;
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
});

/** Where a draft lies in the storage of the tab. */
export function draftKey(name: string): string {
  return prefix + name;
}

/** A text that outlives a reload and an ended session, until it is sent or its author signs out. Never for secrets. */
export function useDraft(name: string): [string, (text: string) => void] {
  const key = draftKey(name);
  const [state, setState] = useState(() => ({ key, text: sessionStorage.getItem(key) ?? '' }));
  const text = state.key === key ? state.text : (sessionStorage.getItem(key) ?? '');
  const change = (next: string) => {
    if (next === '') sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, next);
    setState({ key, text: next });
  };
  return [text, change];
}
