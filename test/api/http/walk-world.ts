import type { RegisteredOperation } from '../../../api/http/operation.ts';
import type { TestApi } from '../../support/api.ts';
import { bearer, testPassword, type TestTenant } from '../../support/tenant.ts';
import type { WalkWorld } from './walk-requests.ts';

const document = { model: 'builtin/extractive', instructions: 'Answer.' };
const timeTool = () => ({
  slug: `t${Math.random().toString(36).slice(2)}`,
  kind: 'builtin',
  description: 'Tells the time.',
  config: { name: 'current_time' },
});

/** Rows of a tenant's first workspace (or of the home of another of its owners) that every operation can be tried on. */
export async function makeWalkWorld(api: TestApi, tenant: TestTenant, owner = tenant.users.owner): Promise<WalkWorld> {
  const post = (url: string, payload: object) => create(api, owner.token, url, payload);
  const slug = `a-${crypto.randomUUID()}`;
  const tool = await post('/tools', timeTool());
  const agent = await post('/agents', { slug, name: 'Agent', revision: document, activate: true });
  const run = await post('/runs', { agent_id: agent.id, input: { text: 'Hello' } });
  await post(`/runs/${run.id}/cancel`, {});
  const key = owner === tenant.users.owner ? tenant.serviceKey : await post('/service-keys', { name: 'walked' });

  return {
    ids: {
      Organization: tenant.organizationId,
      Workspace: owner.workspaceId ?? tenant.workspaceId,
      User: owner.id,
      Agent: agent.id,
      AgentRevision: agent.active_revision_id,
      Tool: tool.id,
      Run: run.id,
      ServiceKey: key.id,
    },
    bodies: {
      createRun: () => ({ agent_id: agent.id, input: { text: 'Hello' } }),
      createAgent: () => ({ slug: `a-${crypto.randomUUID()}`, name: 'Agent', revision: document }),
      createAgentRevision: () => ({ document, note: 'again' }),
      createTool: timeTool,
      updateAgent: () => ({ name: 'Renamed' }),
      createServiceKey: () => ({ name: 'another' }),
      login: () => ({ email: tenant.users.member.email, password: testPassword }),
    },
  };
}

/** Operations that use up what they work on get rows of their own. */
export async function freshWorld(
  api: TestApi,
  { tenant, world, operation }: { tenant: TestTenant; world: WalkWorld; operation: RegisteredOperation },
): Promise<WalkWorld> {
  const { operationId } = operation;
  const post = (url: string, payload: object) => create(api, tenant.tokens.owner, url, payload);

  if (operationId === 'revokeServiceKey' || operationId === 'rotateServiceKey') {
    return { ...world, ids: { ...world.ids, ServiceKey: (await post('/service-keys', { name: 'spent' })).id } };
  }
  if (operationId === 'cancelRun') {
    const run = await post('/runs', { agent_id: world.ids['Agent'], input: { text: 'Hello' } });
    return { ...world, ids: { ...world.ids, Run: run.id } };
  }
  if (operationId === 'refreshTokens') {
    const { email } = tenant.users.admin;
    const signedIn = await api.app.inject({ method: 'POST', url: '/auth/login', payload: { email, password: testPassword } });
    return { ...world, bodies: { ...world.bodies, refreshTokens: () => ({ refresh_token: signedIn.json().refresh_token }) } };
  }
  return world;
}

async function create(api: TestApi, token: string, url: string, payload: object) {
  return (await api.app.inject({ method: 'POST', url, headers: bearer(token), payload })).json();
}
