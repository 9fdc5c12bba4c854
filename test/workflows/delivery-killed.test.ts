import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { addMail, type QueuedMail } from '../../db/mail.ts';
import { change, row } from '../../db/sql.ts';
import { nobodyTenant, organizationTenant, sweep, systemActor, transact } from '../../db/transaction.ts';
import type { MailRequest } from '../../workflows/contracts/upkeep/mail.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { startMailServer, type MailServer } from '../fakes/mail-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { tokenIn } from './delivery-world.ts';

let server: MailServer;
let stack: Stack;

beforeAll(async () => {
  server = await startMailServer();
  stack = await startStack({ processes: ['worker-runs'], env: { SMTP_URL: server.url } });
});
afterAll(async () => {
  await stack?.stop();
  await server?.close();
});

/** As a handler does it; the worker's relay sends the row to Temporal. */
async function queue(mail: MailRequest, organizationId: string | null = null): Promise<QueuedMail> {
  const tenant = organizationId === null ? nobodyTenant : organizationTenant(organizationId);
  const { value } = await transact(stack.db, { tenant, actor: systemActor, correlationId: newId() }, (tx) =>
    addMail(tx, stack.keys, { mail, rowScope: { organizationId, workspaceId: null } }),
  );
  return value;
}

const resultOf = (outboxId: string) => {
  const handle = stack.temporal.client.workflow.getHandle(workflowIds.delivery(outboxId));
  return until(() => handle.describe().then(Boolean, () => false)).then(() => handle.result());
};
const mailsOf = (outboxId: string) => server.mails.filter((mail) => mail.messageId?.includes(outboxId));

test('a mail server that asks to come back gets the same link again, and no history holds address or token', async () => {
  const { email } = stack.tenant.users.member;
  server.refuse = { stage: 'content', code: 451 };
  let asked = 0;
  server.onMail = async () => {
    asked += 1;
  };

  const { outboxId } = await queue({ template: 'password_reset', email });
  await until(() => asked === 1);
  server.refuse = null;

  expect(await resultOf(outboxId)).toBe('sent');
  expect(mailsOf(outboxId)).toHaveLength(1);
  const history = JSON.stringify(await stack.temporal.client.workflow.getHandle(workflowIds.delivery(outboxId)).fetchHistory());
  const payloads = [...history.matchAll(/"data":"([^"]*)"/g)].map(([, data = '']) => Buffer.from(data, 'base64').toString());
  expect(history + payloads.join()).not.toMatch(/@example|lh_ml_/);
  server.onMail = null;
});

test('a worker killed between sending and its record mails the same link, at most twice', async () => {
  const [id, email] = [newId(), 'invited@example.test'];
  const { organizationId, workspaceId, organizationOwner } = stack.tenant;
  let isKilled = false;
  server.onMail = async () => {
    server.onMail = null;
    // The server has the mail and hasn't said so yet.
    await stack.kill('worker-runs');
    isKilled = true;
  };

  const mail = await queue({ template: 'invitation', invitationId: id }, organizationId);
  await sweep(stack.db, (em) =>
    change(
      em,
      `insert into invitations (id, organization_id, workspace_id, scope, email, role, token_hash, invited_by_user_id, expires_at)
      values (?, ?, ?, 'workspace', ?, 'member', ?, ?, now() + interval '7 days')`,
      [id, organizationId, workspaceId, email, mail.tokenHash, organizationOwner.id],
    ),
  );
  await until(() => isKilled);
  await stack.start('worker-runs');

  expect(await resultOf(mail.outboxId)).toBe('sent');
  const mails = mailsOf(mail.outboxId);
  expect(mails).toHaveLength(2);
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(1);
  expect(new Set(mails.map(({ text }) => tokenIn(text))).size).toBe(1);
  const sent = await sweep(stack.db, (em) =>
    row(em, 'select send_count, sent_at is not null as is_sent from invitations where id = ?', [id]),
  );
  expect(sent).toEqual({ send_count: 1, is_sent: true });
});
