import { invalid } from '../../workflows/contracts/failure.ts';
import { commandNames } from './pipeline/commands.ts';

type Handler = 'review' | 'edit' | 'command';

interface KnownEvent {
  readonly event: string;
  readonly action: string;
  readonly handler: Handler;
  /** Enabled for a binding that names no events. */
  readonly byDefault: boolean;
}

const of = (event: string, handler: Handler, actions: readonly string[], off: readonly string[] = []): KnownEvent[] =>
  actions.map((action) => ({ event, action, handler, byDefault: !off.includes(action) }));

const pullRequestActions = ['opened', 'reopened', 'ready_for_review', 'synchronize', 'edited', 'labeled', 'review_requested'] as const;
/** Commands that a binding may switch off; `/config` and `/help` are available with any of them. */
const switchable = commandNames.filter((name) => name !== 'config' && name !== 'help');

/** Every event that a binding can take, in display order. */
export const knownEvents: readonly KnownEvent[] = [
  ...of('pull_request', 'review', pullRequestActions, ['labeled']),
  ...of('check_run', 'review', ['rerequested']),
  ...of('check_run', 'edit', ['requested_action']),
  ...of('check_suite', 'review', ['rerequested']),
  ...of('command', 'command', switchable),
];

/** The name under which an event is stored. */
export function nameOfEvent({ event, action }: Pick<KnownEvent, 'event' | 'action'>): string {
  return `${event}.${action}`;
}

/** The events of a binding that names none. */
export const defaultEvents: readonly string[] = knownEvents.filter(({ byDefault }) => byDefault).map(nameOfEvent);

/** Every name that selects events: of one, or of all that share their first part. */
export const eventNames: readonly string[] = [...new Set(knownEvents.flatMap((known) => [known.event, nameOfEvent(known)]))];

/**
 * Returns the stored form of event names: each event with its action, once, in our order. A bare event means all its actions. Throws 422 for an unknown name.
 */
export function eventsNamed(names: readonly string[]): string[] {
  const chosen = new Set<string>();
  for (const [at, name] of names.entries()) {
    const meant = knownEvents.filter((known) => name === known.event || name === nameOfEvent(known));
    if (meant.length === 0) throw invalid(`/enabled_events/${at}`, 'enum', 'is not an event that a binding supports');
    for (const known of meant) chosen.add(nameOfEvent(known));
  }
  return knownEvents.map(nameOfEvent).filter((name) => chosen.has(name));
}

/** Every known event, and whether it is among the stored ones. */
export function eventsShown(stored: readonly string[]) {
  return knownEvents.map(({ event, action, handler }) => ({
    event,
    action,
    handler,
    enabled: stored.includes(nameOfEvent({ event, action })),
  }));
}
