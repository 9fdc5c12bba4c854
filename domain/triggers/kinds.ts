import { invalid } from '../../workflows/contracts/failure.ts';

/** The form of a kind that users give. */
export const kindForm = /^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*){0,5}$/;
/** The form of a text that selects events by their kind. */
export const globForm = /^(?:(?:[a-z][a-z0-9_]*|\*)(?:\.(?:[a-z][a-z0-9_]*|\*)){0,5}|(?:(?:[a-z][a-z0-9_]*|\*)\.){0,5}\*\*)$/;
/** First segments of the platform's own events. */
const reservedKinds: ReadonlySet<string> = new Set([
  'run',
  'approval',
  'schedule',
  'webhook',
  'channel',
  'knowledge',
  'evaluation',
  'review',
  'alert',
  'budget',
  'feedback',
  'agent',
  'tool',
  'member',
  'system',
]);

/** Throws 422 for a kind that users may not give to an event: because of its form, or because its first segment belongs to the platform. */
export function refuseKind(kind: string): void {
  if (!kindForm.test(kind))
    throw invalid('/event_kind', 'pattern', 'must be one to six segments of a-z, 0-9 and _, joined by dots, each beginning with a letter');
  const [first = ''] = kind.split('.');
  if (reservedKinds.has(first)) throw invalid('/event_kind', 'reserved', `${first} is the first segment of the platform’s own events`);
}

/** Whether a text may select events by their kind: segments joined by dots, `*` for any one segment, `**` at the end for one or more. */
export function isKindGlob(glob: string): boolean {
  return globForm.test(glob);
}

/** Throws 422 for a kind that could select no event. The platform's kinds are selected like all others. */
export function refuseKindGlob(glob: string): void {
  if (!isKindGlob(glob))
    throw invalid(
      '/event_kind',
      'pattern',
      'must be one to six segments joined by dots, each a name or *; the last may be ** for the rest',
    );
}

/** A glob as a regular expression of PostgreSQL, as `db/triggers/events.ts` writes it. */
export function patternOfGlob(glob: string): string {
  return `^${glob.replaceAll('.', '\\.').replaceAll('**', '.+').replaceAll('*', '[^.]+')}$`;
}
