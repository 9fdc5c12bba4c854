import { isMfaRequired } from '../../db/http/system-status.ts';
import { hasGit } from '../../ports/git/version.ts';
import { get } from '../http/operation/operation.ts';
import { CapabilitiesView, toCapabilitiesView } from './capabilities.schema.ts';
import { toVersionView, VersionView } from './version.schema.ts';

export const versionOperations = {
  getVersion: get(
    '/version',
    {
      access: 'viewer',
      scope: null,
      transaction: 'none',
      view: VersionView,
      summary: 'Read the version',
      description: 'Build of this deployment, version of the contract and of the stream protocol.',
    },
    async (ctx) => toVersionView(ctx.deps.env.build),
  ),

  getCapabilities: get(
    '/capabilities',
    {
      access: 'viewer',
      scope: null,
      view: CapabilitiesView,
      summary: 'Read the capabilities',
      description: 'Features, limits and quotas of this deployment that clients need to know.',
    },
    async (ctx) => {
      const { organizationId } = ctx.tenant;
      return toCapabilitiesView(ctx.deps.env, {
        embedder: ctx.deps.embedder,
        isMfaRequired: organizationId !== null && (await isMfaRequired(ctx.em, organizationId)),
        hasStrictIsolation: await ctx.deps.codeExec.hasStrict(),
        hasGit: await hasGit(),
      });
    },
  ),
};
