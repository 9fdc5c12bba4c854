import { StateWord, type Tone } from '../ui/state-word.tsx';

const tones: Readonly<Record<string, Tone | undefined>> = {
  firing: 'bad',
  no_data: 'warn',
  pending: 'warn',
  resolved: 'good',
  ok: 'good',
  sent: 'good',
  failed: 'warn',
  dead: 'bad',
};

/** Of an alert, a rule or a delivery. */
export function AlertState({ state }: { readonly state: string }) {
  return <StateWord tone={tones[state] ?? 'idle'} text={state.replaceAll('_', ' ')} />;
}
