import { listImpersonationRows, type ImpersonationRow } from '../../db/operator/impersonations.ts';
import { mapPage } from '../../db/page.ts';
import { endImpersonation, startImpersonation } from '../../domain/operator/impersonations.ts';
import type { AuditNote } from '../http/operation/context.ts';
import { list, post, remove } from '../http/operation/operation.ts';
import {
  ImpersonationFilters,
  ImpersonationParams,
  ImpersonationStart,
  ImpersonationTokenView,
  ImpersonationView,
  toImpersonationView,
} from './impersonation.schema.ts';

const byOperators = { access: 'operator', visibility: 'operator' } as const;
const changing = { ...byOperators, audit: 'impersonate', notDelegable: true, openWhenSuspended: true } as const;

export const impersonationOperations = {
  startImpersonation: post(
    '/impersonations',
    {
      ...changing,
      summary: 'Work as a user',
      description:
        "Returns a token with the role and scope of an active user, for at most an hour and without refresh. Everything done with it is recorded under the operator's name, and each reply carries X-Impersonation-Id.",
      fails: ['state_conflict'],
      success: [201],
      body: ImpersonationStart,
      view: ImpersonationTokenView,
      example: {
        body: { user_id: '01890a5d-ac96-774b-bcce-b302099a8057', reason: 'Support case 4711: the agent list stays empty', minutes: 15 },
      },
    },
    async (ctx, { body }) => {
      const minutes = body.minutes ?? 30;
      const { impersonation, token } = await startImpersonation(ctx, { userId: body.user_id, reason: body.reason, minutes });

      ctx.audit(
        noteOf(impersonation, {
          target_user_id: { to: impersonation.targetUserId },
          reason: { to: body.reason },
          minutes: { to: minutes },
        }),
      );
      return {
        impersonation: toImpersonationView(impersonation),
        access_token: token,
        token_type: 'Bearer' as const,
        expires_in: minutes * 60,
      };
    },
  ),

  listImpersonations: list(
    '/impersonations',
    {
      ...byOperators,
      summary: 'List impersonations',
      description: 'Who worked as whom, why and for how long, newest first. from and to limit the start.',
      paging: 'keyset',
      query: ImpersonationFilters,
      view: ImpersonationView,
    },
    async (ctx, { query }) => mapPage(await listImpersonationRows(ctx, query, ctx.page), toImpersonationView),
  ),

  endImpersonation: remove(
    '/impersonations/{impersonation_id}',
    {
      ...changing,
      summary: 'End an impersonation',
      description:
        'Its token is refused from the next request on, and its open streams end within 5 seconds. Repeating the request changes nothing.',
      params: ImpersonationParams,
    },
    async (ctx, { params }) => {
      const { before, after } = await endImpersonation(ctx, params.impersonation_id);
      ctx.audit(noteOf(after, before === after ? {} : { ended_at: { from: null, to: after.endedAt } }));
    },
  ),
};

function noteOf({ id, organizationId, workspaceId }: ImpersonationRow, changes: AuditNote['changes']): AuditNote {
  return { resourceType: 'impersonation', resourceId: id, organizationId, workspaceId, changes };
}
