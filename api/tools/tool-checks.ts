import type { RowScope } from '../../db/new-row-scope.ts';
import { organizationOf } from '../../db/reach.ts';
import { readEgressAllowlist } from '../../db/tenancy/egress-policy.ts';
import { findAgentTarget } from '../../db/tools/agent-target.ts';
import type { StoredAgentRef } from '../../db/tools/kind-config.ts';
import { creatableToolKinds } from '../../db/tools/tool-config.ts';
import { fail, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation.ts';
import { closed } from '../http/schema.ts';
import { validatorFor } from '../http/validator.ts';
import { configSchemas } from './kind-config.schema.ts';
import type { NamedAgent, ToolChecks } from './tool-rules.ts';

/** What the rules of tools ask of the deployment and of the tool's home. */
export async function toolChecks(ctx: Ctx, home: RowScope): Promise<ToolChecks> {
  return {
    schemas: ctx.deps.schemas.of(organizationOf(ctx.caller)),
    templates: ctx.deps.templates.of(organizationOf(ctx.caller)),
    policy: { allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, home.organizationId) },
    codeExec: ctx.deps.codeExec,
    findAgent: (pointer, named) => findAgent(ctx, home, { pointer, named }),
  };
}

const validators = new Map(
  creatableToolKinds.map((kind) => [kind as string, validatorFor(closed({ config: configSchemas[kind] }), 'body')]),
);

/** 422 unless a config that came without its kind has that kind's form. */
export function checkConfigForm(kind: string, config: Readonly<Record<string, unknown>>): void {
  const errors = validators.get(kind)?.check({ config }, true) ?? [];
  if (errors.length > 0) throw fail('validation_failed', { detail: 'The config has not the form of its kind.', errors });
}

async function findAgent(
  ctx: Ctx,
  home: RowScope,
  { pointer, named }: { readonly pointer: string; readonly named: NamedAgent },
): Promise<StoredAgentRef> {
  const { agent } = named;
  if (agent.id === undefined && agent.slug === undefined) throw invalid(`${pointer}/agent`, 'required', 'id or slug is demanded');
  const revision = named.revision === undefined || named.revision === 'active' ? null : named.revision;
  const personaSlug = named.personaSlug ?? null;
  const found = await findAgentTarget(ctx, home, { agent, revision, personaSlug });
  const missing: Violation[] = [];
  if (!found) missing.push(reference(`${pointer}/agent`, 'agent', agent.slug ?? null));
  if (found && !found.has_revision) missing.push(reference(`${pointer}/revision`, 'agent_revision', null));
  if (found && !found.has_persona) missing.push(reference(`${pointer}/persona_slug`, 'persona', personaSlug));
  if (!found || missing.length > 0) throw fail('validation_failed', { detail: 'A reference does not resolve.', errors: missing });
  return { id: found.id, slug: found.slug, scope: found.scope };
}

const message =
  'names nothing that this tool reaches: a tool of the organization does not reach into a workspace (its workspace_id makes a tool one of that workspace)';

function reference(pointer: string, kind: string, slug: string | null): Violation {
  return { in: 'body', pointer, name: null, rule: 'reference', message, params: { kind, slug } };
}
