import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { askSlug } from '../../db/agents/effective/ask-schema.ts';
import { followDelegations, maxDelegations } from '../../db/agents/effective/agent-graph.ts';
import {
  completeDocument,
  type RevisionDocument,
  type RevisionDraft,
  type SubAgentBinding,
  type ToolBinding,
} from '../../db/agents/revisions/revision-document.ts';
import { atActivation, atCreate, type RevisionProblem } from './revision-problems.ts';
import { readTargets, type RevisionScope } from '../../db/agents/revisions/revision-targets.ts';
import { documentProblems } from './validate-model.ts';
import { bindKnowledge, bindSkills, bindSubAgents } from './validate-references.ts';
import { bindToolkits, bindTools } from './validate-tools.ts';

/** One rule that a schema or a value breaks; pointers lie within it. */
interface SchemaFault {
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
}

/** Returns null for a model that the deployment can't call; the name null means its default. `lacks` names missing capabilities that the needs demand. */
export type ModelChecks = (
  name: string | null,
  needs: { readonly hasTools: boolean; readonly reasoning: RevisionDocument['model_settings']['reasoning'] },
) => ModelFacts | null;

/** What the validation needs from model registry, template engine and schema engine. */
export interface RevisionChecks {
  readonly model: ModelChecks;
  /** Rejects with the parser's message. */
  readonly template: (text: string) => Promise<void>;
  /** Returns where the value violates the JSON Schema. */
  readonly schema: (schema: Readonly<Record<string, unknown>>, value: unknown) => Promise<readonly SchemaFault[]>;
  /** Returns what makes the JSON Schema itself unusable, and what of it is ignored. */
  readonly shape: (schema: unknown) => Promise<{ readonly problems: readonly SchemaFault[]; readonly ignored: readonly SchemaFault[] }>;
}

export interface ModelFacts {
  readonly lacks: readonly string[];
  readonly optionKeys: readonly string[];
  /** Whether the model can be made to answer in JSON; the model that only quotes can't. */
  readonly canJson: boolean;
}

/**
 * Resolves and checks a complete draft: returns the document as it would be stored, and all problems of storing or activating it. Sends at most two statements.
 * For an activation the caller has to hold the lock of `lockActivations` before, or a cycle could slip through.
 */
export async function validateRevision(
  tx: Pick<TenantTransaction, 'em' | 'tenant' | 'actor'>,
  subject: { readonly rowScope: RevisionScope; readonly draft: RevisionDraft },
  checks: RevisionChecks,
): Promise<{ document: RevisionDocument; problems: RevisionProblem[] }> {
  const { rowScope, draft } = subject;
  const targets = await readTargets(tx, rowScope, draft);
  const tools = await bindTools(draft.tools ?? [], targets, checks);
  const toolkits = bindToolkits(draft.toolkits ?? [], targets);
  const skills = bindSkills(draft.skills ?? [], targets, rowScope.id);
  const agents = bindSubAgents(draft.sub_agents ?? [], targets, rowScope);
  const knowledge = bindKnowledge(draft.knowledge ?? [], targets);
  const document = completeDocument(draft, {
    tools: tools.bindings,
    toolkits: toolkits.bindings,
    skills: skills.bindings,
    sub_agents: agents.bindings,
    knowledge: knowledge.bindings,
  });

  const problems = [
    ...tools.problems,
    ...toolkits.problems,
    ...skills.problems,
    ...agents.problems,
    ...knowledge.problems,
    ...nameProblems(tools.bindings, agents.bindings),
    ...(await delegationProblems(tx, rowScope, agents.bindings)),
    ...(await documentProblems(document, checks)),
  ];
  return { document, problems };
}

/** Each sub-agent becomes a tool, whose name must be free. */
function nameProblems(tools: readonly ToolBinding[], agents: readonly SubAgentBinding[]): RevisionProblem[] {
  return agents.flatMap((agent, index) =>
    tools.some((tool) => tool.slug === askSlug(agent)) || agents.findIndex((other) => askSlug(other) === askSlug(agent)) < index
      ? [
          atCreate(`/sub_agents/${index}`, {
            rule: 'uniqueItems',
            message: 'The tool name of the agent is already taken.',
            params: { slug: askSlug(agent) },
          }),
        ]
      : [],
  );
}

async function delegationProblems(
  tx: Pick<TenantTransaction, 'em'>,
  rowScope: RevisionScope,
  agents: readonly SubAgentBinding[],
): Promise<RevisionProblem[]> {
  const { isCyclic, depth } = await followDelegations(
    tx,
    rowScope.id ?? null,
    agents.map(({ id }) => id),
  );
  if (isCyclic) return [atActivation('/sub_agents', { rule: 'cycle', message: 'The bound agents lead back to this agent.' })];
  if (depth <= maxDelegations) return [];
  return [
    atActivation('/sub_agents', {
      rule: 'depth',
      message: `Agents can call other agents at most ${maxDelegations} levels deep.`,
      params: { limit: maxDelegations },
    }),
  ];
}
