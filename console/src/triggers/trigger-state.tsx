import { StateWord, type Tone } from '../ui/state-word.tsx';
import { triggerTexts as x } from './messages.ts';

const tones: Readonly<Record<string, Tone | undefined>> = {
  started: 'live',
  succeeded: 'good',
  published: 'good',
  ok: 'good',
  valid: 'good',
  done: 'good',
  coalescing: 'warn',
  buffered: 'warn',
  upcoming: 'idle',
  missed: 'warn',
  skipped_overlap: 'warn',
  failed: 'bad',
  rejected: 'bad',
  error: 'bad',
};

/** Of a delivery, an occurrence, a match or a connection. */
export function TriggerState({ state }: { readonly state: string }) {
  return <StateWord tone={tones[state] ?? 'idle'} text={state.replaceAll('_', ' ')} />;
}

export function ActiveState({ isActive }: { readonly isActive: boolean }) {
  return <StateWord tone={isActive ? 'good' : 'idle'} text={isActive ? x.active : x.paused} />;
}
