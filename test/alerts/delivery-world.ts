import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { createNoticeActivities, type NoticeDeps } from '../../activities/delivery/notice-activities.ts';
import { asTenant } from '../../activities/support/tenant.ts';
import type { AlertTarget } from '../../db/alerts/alert-target.ts';
import { AlertRule } from '../../db/alerts/alert-rule.entity.ts';
import { emitAlert } from '../../db/alerts/emit.ts';
import { randomKeyRing, type KeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { rows } from '../../db/sql.ts';
import { organizationTenant, sweep, systemActor, transact } from '../../db/transaction.ts';
import { encrypt } from '../../db/envelope.ts';
import { secretBinding } from '../../db/encrypted-columns.ts';
import { createEgress } from '../../ports/egress/egress.ts';
import { createMailer } from '../../ports/mail.ts';
import { createActivityMetrics } from '../../ports/metrics/activity-metrics.ts';
import { startMailServer, type MailServer } from '../fakes/mail-server.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';

/** One request as a receiver got it. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly port: number;
  readonly received: Received[];
  /** Answers the next requests, one after the other; the last one all further ones. */
  answers: ((response: ServerResponse) => void)[];
  close(): void;
}

/** A server that keeps what comes and answers as the test says; 200 unless it says anything. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(parts).toString() });
      const [next, ...rest] = receiver.answers;
      if (rest.length > 0) receiver.answers = rest;
      if (next) next(response);
      else response.end('ok');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    port: (server.address() as AddressInfo).port,
    received,
    answers: [],
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
}

export const answer =
  (status: number, body = '', headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    response.writeHead(status, headers).end(body);

/** A database with a tenant, receivers, and the activity between them. */
export interface NoticeWorld {
  readonly database: TestDatabase;
  readonly keys: KeyRing;
  readonly receiver: Receiver;
  readonly mail: MailServer;
  readonly log: string[];
  tenant(): Promise<NoticeTenant>;
  close(): Promise<void>;
}

export interface NoticeTenant extends TestTenant {
  secret(name: string, value: string): Promise<void>;
  /** Writes the rule and an alert of it; gives the ids of the deliveries. */
  fire(targets: readonly AlertTarget[]): Promise<{ ruleId: string; alertId: string; deliveryIds: string[] }>;
  attempt(deliveryId: string, more?: Partial<NoticeDeps>): ReturnType<ReturnType<typeof createNoticeActivities>['attemptDelivery']>;
  delivery(id: string): Promise<StoredDelivery | undefined>;
  /** As if its time had come. */
  makeDue(id: string): Promise<void>;
  sql<T>(text: string, params?: readonly unknown[]): Promise<T[]>;
}

export interface StoredDelivery {
  readonly status: string;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly in_s: number | null;
}

export async function openNoticeWorld(): Promise<NoticeWorld> {
  const keys = randomKeyRing();
  const database = await testDatabase();
  const [receiver, mail, log] = [await startReceiver(), await startMailServer(), [] as string[]];
  const egress = createEgress();
  const mailer = createMailer({ kind: 'smtp', url: mail.url, from: 'Longhaul <us@longhaul.test>', linkUrl: null });
  const deps: NoticeDeps = {
    db: database.db,
    keys,
    egress,
    mail: { mailer, publicUrl: 'https://longhaul.test', linkUrl: null },
    metrics: createActivityMetrics([]),
    log: pino({ level: 'debug' }, { write: (line: string) => void log.push(line) }),
    dispatch: async () => undefined,
    // Of the settings a delivery reads this one alone.
    env: { allowHttp: false } as NoticeDeps['env'],
  };
  return {
    database,
    keys,
    receiver,
    mail,
    log,
    tenant: async () => {
      const allowed = [{ host: '127.0.0.1', port: receiver.port, allow_http: true }];
      return openTenant(await makeTenant(database.db, keys, { egressAllowlist: allowed }), { database, keys, deps });
    },
    close: async () => {
      receiver.close();
      await Promise.all([mail.close(), egress.close()]);
      await database.drop();
    },
  };
}

function openTenant(
  tenant: TestTenant,
  { database, keys, deps }: { readonly database: TestDatabase; readonly keys: KeyRing; readonly deps: NoticeDeps },
): NoticeTenant {
  const { organizationId, workspaceId } = tenant;
  const sql: NoticeTenant['sql'] = (text, params = []) => sweep(database.db, (em) => rows(em, text, params));
  const options = { tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId() };
  return {
    ...tenant,
    sql,
    secret: async (name, value) => {
      await transact(database.db, options, async ({ em }) => {
        const place = { organizationId, workspaceId, toolId: null, name, valueVersion: 1 };
        const envelope = await encrypt(em, keys, secretBinding(place), Buffer.from(value));
        await rows(
          em,
          `insert into secrets (id, scope, organization_id, workspace_id, name, value_envelope, value_version) values (?, 'workspace', ?, ?, ?, ?, 1)`,
          [newId(), organizationId, workspaceId, name, envelope],
        );
      });
    },
    fire: async (targets) => {
      const ruleId = newId();
      await sql(
        `insert into alert_rules (id, organization_id, workspace_id, name, kind, operator, threshold, targets)
         values (?, ?, ?, 'Spend', 'spend', 'gt', 25, ?::jsonb)`,
        [ruleId, organizationId, workspaceId, JSON.stringify(targets)],
      );
      const { value } = await transact(database.db, options, async (tx) => {
        const reading = { severity: 'critical', title: 'Too much', value: '30', threshold: '25' } as const;
        const firing = { event: 'firing', status: 'firing', fingerprint: 'all', windowKey: 'w', labels: {}, ...reading } as const;
        return emitAlert(tx, await tx.em.findOneOrFail(AlertRule, { id: ruleId }), firing, new Date());
      });
      const found = await sql<{ id: string }>('select id from alert_deliveries where alert_id = ? order by id', [value]);
      return { ruleId, alertId: value ?? '', deliveryIds: found.map(({ id }) => id) };
    },
    attempt: (deliveryId, more = {}) =>
      asTenant({ organizationId, workspaceId, correlationId: newId() }, () =>
        createNoticeActivities({ ...deps, ...more }).attemptDelivery({ source: 'alert', deliveryId }),
      ),
    delivery: async (id) =>
      (
        await sql<StoredDelivery>(
          `select status, attempts, last_status, last_error, round(extract(epoch from next_attempt_at - now()))::int as in_s from alert_deliveries where id = ?`,
          [id],
        )
      )[0],
    makeDue: async (id) => {
      await sql("update alert_deliveries set next_attempt_at = now() where id = ? and status = 'failed'", [id]);
    },
  };
}
