import { createIds } from './ids.ts';
import { wordFor } from './words.ts';

/** Noon of the documentation: every example happens then. */
const noon = Date.parse('2026-01-31T12:00:00.000Z');
const dayMs = 86_400_000;
const instant = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g;
const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/** What an exchange is about. */
interface About {
  readonly operationId: string;
  readonly area: string;
  /** What a bare `id` of the reply names: `agent` in an AgentView. */
  readonly kind: string;
  /** When it happened. */
  readonly at: number;
  /** The request as it was sent: what is literally in it stays, but for ids and secrets. */
  readonly request: string;
}

/** Gives the values of one exchange as they stand in an example: ids, times and secrets that are the same each time and are recognisably made up, readable words, short lists. */
export function createStable(about: About): (value: unknown, field?: string) => unknown {
  const idFor = createIds();
  const text = (value: string, field: string): string => {
    const word = wordFor(value, { field, area: about.area });
    return withoutSecrets(word, field)
      .replaceAll(uuid, (id) => idFor(id, field === '' || field === 'items' ? about.kind : field))
      .replaceAll(instant, (time) => (about.request.includes(time) ? time : timeOf(time, { field, at: about.at })));
  };
  const visit = (value: unknown, field: string): unknown => {
    if (typeof value === 'string') return text(value, field);
    if (typeof value === 'number') return numberOf(value, field);
    if (Array.isArray(value)) return value.slice(0, longest(field)).map((item: unknown) => visit(item, field));
    if (typeof value !== 'object' || value === null) return value;
    // Linters take a schema for one wherever it stands.
    if (
      (isSchema.has(field) || (field === 'input_schema' && about.operationId === 'getEffectiveAgent')) &&
      Reflect.get(value, 'type') === 'object'
    )
      return { type: 'object' };
    // An `id` is told by what holds it: `user.id`.
    return Object.fromEntries(
      Object.entries(value).map(([key, child]) => [
        text(key, ''),
        visit(child, key === 'id' ? (personal.has(field) ? 'user' : field) : key),
      ]),
    );
  };
  return (value, field = '') => visit(value, field);
}

/** Fields that hold JSON Schemas of the platform itself. */
const isSchema: ReadonlySet<string> = new Set(['schema', 'envelope', 'first_frame']);

/** Fields that hold whoever did something. */
const personal: ReadonlySet<string> = new Set(['actor', 'created_by', 'resolved_by', 'requested_by', 'subject']);

/** A page shows two items; what says something by its order or by being complete stays longer. */
function longest(field: string): number {
  if (field === 'codes') return 10;
  return field === 'items' || field === 'frames' ? 2 : 8;
}

/** What happens at the moment happens at noon, and what is further away keeps its distance; what a cadence gives keeps its weekday and time of day. */
function timeOf(time: string, { field, at }: { field: string; at: number }): string {
  const distance = Date.parse(time) - at;
  if (/^(?:next_run_at|nominal_at|scheduled_for|occurrences|instants|utc)$/.test(field)) {
    const weeks = Math.ceil((noon - at) / (7 * dayMs)) * 7 * dayMs;
    return new Date(Date.parse(time) + weeks).toISOString();
  }
  if (Math.abs(distance) < 90_000) return new Date(noon).toISOString();
  return new Date(noon + Math.round(distance / 60_000) * 60_000).toISOString();
}

/** Numbers that come from the clock or the machine. */
function numberOf(value: number, field: string): number {
  if (/(?:latency|duration|took|elapsed)_ms$/.test(field)) return 12;
  if (field === 'exp') return noon / 1_000 + 600;
  if (field === 'iat' || field === 'nbf') return noon / 1_000;
  return value;
}

const padded = (start: string, length: number) => start.padEnd(length, '0').slice(0, length);

/** Secrets of the tests and what is made from them, as something that nobody takes for one. */
function withoutSecrets(value: string, field: string): string {
  if (field === 'secret' && /^[A-Z2-7]{16,}$/.test(value)) return padded('EXAMPLE2SECRET2', value.length).replaceAll('0', '2');
  if (field === 'codes' && /^[a-z0-9]{4,}(?:-[a-z0-9]{4,})+$/i.test(value)) return value.replaceAll(/[a-z0-9]/gi, '0');
  if (field === 'next_cursor' || field === 'cursor') return 'eyJ2IjoxfQ.example';
  if (field === 'code_verifier') return padded('example', 43);
  if (field === 'last4') return '0000';
  if (field === 'prefix') return value.slice(0, 6).padEnd(value.length, 'Example');
  if (field === 'etag' && !/^"\d+"$/.test(value)) return '"example"';
  if (['x', 'y', 'n', 'kid'].includes(field) && value.length > 10) return padded('example', value.length);
  return value
    .replaceAll(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJhbGciOiJFZERTQSJ9.example.example')
    .replaceAll(/\blh_([a-z]{2})_[\w-]{8,}/g, (token, sort: string) => padded(`lh_${sort}_example`, token.length))
    .replaceAll(/\bwhsec_[\w+/=-]{8,}/g, 'whsec_ZXhhbXBsZQ==')
    .replaceAll(/secret=[A-Z2-7]{16,}/g, 'secret=EXAMPLE2SECRET22')
    .replaceAll(/\b[0-9a-f]{64}\b/g, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
}
