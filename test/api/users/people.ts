import { tmpdir } from 'node:os';
import { mailToken } from '../../../db/identity/factors/opaque-tokens.ts';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import type { TestApiOptions } from '../../support/api.ts';
import { makeUser, type TestTenant, type TestUser } from '../../support/tenant.ts';
import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import { openWorld, type Answer, type World } from '../world.ts';

/** One that the rule for new passwords admits. */
export const goodPassword = 'violet anchor meadow 42';

/** A world whose deployment sends mails, with what tests of people look at. */
export interface People extends World {
  /** Without any credential. */
  ask(method: 'POST' | 'GET', path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  rows<T = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<T[]>;
  /** Token of the newest mail about an invitation or a user. */
  tokenOf(id: string): Promise<string>;
  user(tenant: TestTenant, place: { role: Role; scope?: Scope; workspaceId?: string | null }): Promise<TestUser>;
  /** Audit entries of a row, oldest first. */
  entriesOf(
    resourceId: string,
  ): Promise<{ action: string; operation_id: string; changes: Record<string, unknown>; workspace_id: string | null }[]>;
}

const limits = 'anonymous=100000/60,invitation_accept=100000/60';

export async function openPeople({ env, ...options }: TestApiOptions = {}): Promise<People> {
  const world = await openWorld({ ...options, env: { MAIL_DIR: tmpdir(), RATE_LIMITS: limits, ...env } });
  const { api } = world;
  const query = <T>(sql: string, params?: readonly unknown[]) => sweep(api.db, (em) => rows<T>(em, sql, params));

  return {
    ...world,
    async ask(method, path, body, headers = {}) {
      const reply = await api.app.inject({ method, url: path, headers, ...(body === undefined ? {} : { payload: body as object }) });
      return {
        status: reply.statusCode,
        headers: reply.headers as Record<string, string | undefined>,
        body: reply.body === '' ? null : JSON.parse(reply.body),
      };
    },
    rows: query,
    async tokenOf(id) {
      const [mail] = await query<{ id: string }>(
        `select id from outbox where kind = 'mail' and (payload -> 'mail' ->> 'invitationId' = ? or payload -> 'mail' ->> 'userId' = ?) order by id desc limit 1`,
        [id, id],
      );
      return mailToken(api.keys.mailKeys[0], mail?.id ?? 'none');
    },
    user: (tenant, { role, scope = 'workspace', workspaceId = tenant.workspaceId }) =>
      makeUser(api.db, api.keys, {
        role,
        scope,
        organizationId: scope === 'platform' ? null : tenant.organizationId,
        workspaceId: scope === 'workspace' ? workspaceId : null,
      }),
    entriesOf: (resourceId) =>
      query('select action, operation_id, changes, workspace_id from audit_entries where resource_id = ? order by created_at, id', [
        resourceId,
      ]),
  };
}

/** What of a failing reply must be alike when nothing may be learnt from it. */
export function bareRefusal({ status, body }: Answer) {
  const { correlation_id: _correlation, instance: _instance, ...rest } = body;
  return { status, ...rest };
}

let addresses = 0;

/** An address that nobody has yet. */
export function newAddress(domain = 'example.test'): string {
  addresses += 1;
  return `person-${process.pid}-${Date.now()}-${addresses}@${domain}`;
}
