import { HostError, saidOf, type HostErrorKind } from './host-error.ts';

/** Returns the base URL of GraphQL for a REST API: `https://api.github.com/graphql`; for an Enterprise Server `https://HOST/api/graphql`, beside `/api/v3`. */
export function graphqlUrl(apiUrl: string): string {
  return apiUrl.replace(/\/v3$/, '');
}

/** Returns the data of a GraphQL answer. Errors come with status 200; throws HostError for the first. */
export function graphqlData(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) throw new HostError('POST /graphql: no JSON', { kind: 'unexpected' });
  const errors: unknown = Reflect.get(answer, 'errors');
  if (Array.isArray(errors) && errors.length > 0) throw toHostError(errors[0]);
  return Reflect.get(answer, 'data');
}

function toHostError(error: unknown): HostError {
  const members = typeof error === 'object' && error !== null ? error : {};
  const type = String(Reflect.get(members, 'type') ?? '');
  const kind = kinds[type] ?? 'unexpected';
  const message = `POST /graphql: ${saidOf(String(Reflect.get(members, 'message') ?? 'an error'))}`;
  return new HostError(message, { kind, status: 200, retryAfterMs: kind === 'limited' ? 60_000 : null });
}

const kinds: Readonly<Record<string, HostErrorKind>> = {
  RATE_LIMITED: 'limited',
  NOT_FOUND: 'gone',
  FORBIDDEN: 'forbidden',
  UNPROCESSABLE: 'invalid',
  INTERNAL: 'failed',
  SERVICE_UNAVAILABLE: 'failed',
};
