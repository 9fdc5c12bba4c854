import type { RevisionChecks } from '../../domain/agents/validate-revision.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { toMend } from '../../ports/json/schema.ts';
import { missingCapabilities } from '../../ports/models/models.ts';
import type { Ctx } from '../http/operation/operation.ts';

/** What the validation of revisions asks of the deployment, for the caller's organization. */
export function revisionChecks({ deps, caller }: Pick<Ctx, 'deps' | 'caller'>): RevisionChecks {
  const templates = deps.templates.of(organizationOf(caller));
  const schemas = deps.schemas.of(organizationOf(caller));
  return {
    model(name, needs) {
      const model = deps.models.resolve(name);
      if (!model) return null;
      return { lacks: missingCapabilities(model, needs), optionKeys: model.providerOptionKeys, canJson: model.adapter !== 'builtin' };
    },
    template: (text) => templates.check(text),
    schema: (schema, value) => schemas.validate(schema, value),
    async shape(schema) {
      const reading = await schemas.read(schema);
      return { problems: toMend(reading), ignored: reading.ignored.filter(({ rule }) => rule !== 'pattern') };
    },
  };
}
