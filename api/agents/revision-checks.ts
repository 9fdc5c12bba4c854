import type { RevisionChecks } from '../../db/agents/validate-revision.ts';
import { missingCapabilities, type ModelRegistry } from '../../ports/models.ts';
import type { TenantSchemas } from '../../ports/json-schema.ts';
import type { Templates } from '../../ports/templates.ts';

/** What the validation of revisions asks of the deployment. */
export function revisionChecks(parts: {
  readonly models: ModelRegistry;
  readonly schemas: TenantSchemas;
  readonly templates: Templates;
}): RevisionChecks {
  return {
    model(name, needs) {
      const model = parts.models.resolve(name);
      if (!model) return null;
      return { lacks: missingCapabilities(model, needs), optionKeys: model.providerOptionKeys, canJson: model.adapter !== 'builtin' };
    },
    template: (text) => parts.templates.check(text),
    schema: (schema, value) => parts.schemas.validate(schema, value),
    shape: (schema) => parts.schemas.check(schema),
  };
}
