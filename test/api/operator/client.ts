import { withAdmin } from '../../support/template.ts';
import { bearer } from '../../support/tenant.ts';
import type { Answer, CallOptions, World } from '../world.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request of any method, which the shared world's `call` leaves out. */
export async function request(world: World, token: string, method: Method, path: string, options: CallOptions = {}): Promise<Answer> {
  const { body, headers } = options;
  const reply = await world.api.app.inject({
    method,
    url: path,
    headers: { ...bearer(token), ...headers },
    ...(body === undefined ? {} : { payload: body as object }),
  });
  return {
    status: reply.statusCode,
    headers: reply.headers as Record<string, string | undefined>,
    body: reply.body === '' ? null : JSON.parse(reply.body),
  };
}

/** A statement as the database's administrator; gives its rows. */
export function admin(world: World, sql: string, params: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
  return withAdmin(world.api.database.adminUrl, async (client) => (await client.query<Record<string, unknown>>(sql, [...params])).rows);
}

export const reason = 'Support case 4711: nothing shows';

/** An impersonation of a user, with its token. */
export async function impersonate(world: World, operatorToken: string, userId: string, minutes = 15) {
  const made = await request(world, operatorToken, 'POST', '/impersonations', { body: { user_id: userId, reason, minutes } });
  if (made.status !== 201) throw new Error(`startImpersonation: ${made.status} ${JSON.stringify(made.body)}`);
  return { id: String(made.body.impersonation.id), token: String(made.body.access_token), view: made.body };
}
