import type { RowScope } from '../../db/new-row-scope.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { resolveNamedAgent } from '../../domain/tools/agent-ref.ts';
import { creatableToolKinds } from '../../domain/tools/tool-config.ts';
import type { ToolChecks } from '../../domain/tools/tool-shape.ts';
import type { ToolRules } from '../../domain/tools/tools.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation/operation.ts';
import { closed } from '../http/input/schema.ts';
import { validatorFor } from '../http/input/validator.ts';
import { configSchemas } from './kind-config.schema.ts';
import { refuseForeignAim } from './secret-aim-rules.ts';

/** What decides, in addition to rows, whether the caller may create or change a tool. */
export function toolRules(ctx: Ctx): ToolRules {
  return {
    checksFor: (rowScope) => toolChecks(ctx, rowScope),
    refuseForeignAim: (rowScope, changes) => refuseForeignAim(ctx, rowScope, changes),
    checkConfigForm,
  };
}

/** What the rules of tools need of the deployment and of the tool's row scope. */
export async function toolChecks(ctx: Ctx, rowScope: RowScope): Promise<ToolChecks> {
  return {
    schemas: ctx.deps.schemas.of(organizationOf(ctx.caller)),
    templates: ctx.deps.templates.of(organizationOf(ctx.caller)),
    policy: { allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, rowScope.organizationId) },
    codeExec: ctx.deps.codeExec,
    findAgent: (pointer, named) => resolveNamedAgent(ctx, rowScope, { pointer, named }),
  };
}

const validators = new Map(
  creatableToolKinds.map((kind) => [kind as string, validatorFor(closed({ config: configSchemas[kind] }), 'body')]),
);

/** Throws 422 unless a config that came without its kind matches the schema of that kind. */
function checkConfigForm(kind: string, config: Readonly<Record<string, unknown>>): void {
  const errors = validators.get(kind)?.check({ config }, true) ?? [];
  if (errors.length > 0) throw fail('validation_failed', { detail: 'The config does not match its kind.', errors });
}
