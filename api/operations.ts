import { agents } from './agents/agents.operations.ts';
import { alerts } from './alerts/alerts.operations.ts';
import { attachments } from './attachments/attachments.operations.ts';
import { authentication } from './authentication/authentication.ts';
import { budgets } from './billing/budgets.operations.ts';
import { prices } from './billing/prices.operations.ts';
import { usage } from './billing/usage.operations.ts';
import { channels } from './channels/channels.operations.ts';
import { codeReview } from './code-review/code-review.ts';
import { evaluations } from './evaluations/evaluations.operations.ts';
import { feedback } from './feedback/feedback.operations.ts';
import type { Area } from './http/operation/operation.ts';
import { knowledgeMaintenance } from './knowledge-maintenance/knowledge-maintenance.ts';
import { knowledge } from './knowledge/knowledge.ts';
import { mcp } from './mcp/mcp.operations.ts';
import { oauth } from './oauth/oauth.ts';
import { operator } from './operator/operator.ts';
import { organizations } from './organizations/organizations.ts';
import { runs } from './runs/runs.operations.ts';
import { sessions } from './sessions/sessions.operations.ts';
import { skills } from './skills/skills.operations.ts';
import { specified } from './specified/specified.operations.ts';
import { system } from './system/system.operations.ts';
import { tools } from './tools/tools.operations.ts';
import { events } from './triggers/events.operations.ts';
import { ingress } from './triggers/ingress.operations.ts';
import { triggers } from './triggers/triggers.ts';

/** Every operation of the contract that exists, by area, in the contract's order. */
export const areas: readonly Area[] = [
  runs,
  sessions,
  agents,
  skills,
  tools,
  knowledge,
  triggers,
  events,
  channels,
  authentication,
  organizations,
  budgets,
  usage,
  prices,
  alerts,
  attachments,
  codeReview,
  evaluations,
  feedback,
  ingress,
  knowledgeMaintenance,
  mcp,
  oauth,
  system,
  operator,
  specified,
];
