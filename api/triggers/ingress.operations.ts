import Type from 'typebox';
import type { ErrorCode } from '../../workflows/contracts/error-codes.ts';
import { area, get, post } from '../http/operation/operation.ts';
import { closed, idOf, plainText, text } from '../http/input/schema.ts';
import { answerHook } from './answer-hook.ts';
import { headersOf, queryOf } from './hook-request.ts';
import { takeHook } from './take-hook.ts';
import { HookAnswer, HookReceiptView } from './webhook-delivery.schema.ts';

const HookParams = closed({
  workspace_id: idOf('Workspace', 'Workspace of the endpoint'),
  slug: text(120, { minLength: 1, description: 'Slug of the endpoint' }),
});

/** The sender's own parameters, whatever they are; `token` among them where no header can carry it. */
const HookQuery = Type.Object({}, { additionalProperties: true });

const HookBody = Type.Unsafe<Buffer>({ description: 'Any content from the sender: JSON, a form or text of at most 1 MiB' });

const fails: readonly ErrorCode[] = ['signature_invalid', 'budget_exceeded', 'method_not_allowed', 'state_conflict'];

/** The addresses at which other systems start runs. */
export const ingress = area('Ingress', {
  receiveHookByGet: get(
    '/hooks/{workspace_id}/{slug}',
    {
      summary: 'Deliver by GET',
      description:
        'Starts a run with the agent of an endpoint that accepts GET. The shared token is sent as X-Webhook-Token, or as the parameter token; answers 200 in every mode.',
      access: 'ingress',
      fails,
      transaction: 'writes',
      headReply: 'refused',
      params: HookParams,
      query: HookQuery,
      view: HookAnswer,
      identify: ({ deps, limits, limitAddress, correlationId, headers, params, search }) =>
        takeHook(
          { deps, limits, limitAddress, correlationId },
          { workspaceId: params.workspace_id, slug: params.slug },
          { method: 'GET', headers: headersOf(headers), query: queryOf(search), body: Buffer.alloc(0) },
        ),
    },
    async (ctx, { identified }) => answerHook(ctx, identified, 'GET'),
  ),

  receiveHook: post(
    '/hooks/{workspace_id}/{slug}',
    {
      summary: 'Deliver a webhook',
      description:
        'Starts a run with the agent of the endpoint, or does what the endpoint defines: publishes an event, or joins a run with other deliveries. Verifies a token, or a signature in the format of Standard Webhooks, Svix, Stripe, Slack, GitHub or X-Signature-256. A delivery repeated within 24 hours gets the first answer and starts nothing.',
      access: 'ingress',
      fails,
      audit: 'none',
      idempotent: true,
      rawBody: true,
      success: [202, 200],
      params: HookParams,
      query: HookQuery,
      body: HookBody,
      // It is the view of 202; what a sync endpoint picks is anything.
      view: Type.Unsafe<unknown>(HookReceiptView),
      viewsBeside: { 200: HookAnswer },
      alsoProduces: { 'text/plain': plainText('The challenge of Slack, when it verifies the address') },
      example: { body: { event: 'order.paid', order: { id: 42, total: '12.50' } } },
      identify: ({ deps, limits, limitAddress, correlationId, headers, params, search, body }) =>
        takeHook(
          { deps, limits, limitAddress, correlationId },
          { workspaceId: params.workspace_id, slug: params.slug },
          { method: 'POST', headers: headersOf(headers), query: queryOf(search), body },
        ),
    },
    async (ctx, { identified }) => answerHook(ctx, identified, 'POST'),
  ),
});
