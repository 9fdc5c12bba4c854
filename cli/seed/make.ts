import { clientOf, signIn, type Client, type Item } from './client.ts';
import { agents, emailOf, runs, skill, tool, type OrganizationPlan } from './plan.ts';

/** What one seed works with. */
export interface SeedContext {
  /** Where this seed reaches the API, and its agents' tools too. */
  readonly baseUrl: string;
  readonly operator: Client;
  readonly password: string;
  /** Where password and keys are kept. */
  readonly secretsFile: string;
  /** Plaintexts of service keys by organization, stored by earlier seeds. */
  readonly keys: ReadonlyMap<string, string>;
  /** Called for each thing, with whether it was created now. */
  readonly tell: (what: string, isMade: boolean) => void;
  readonly keepKey: (slug: string, plaintext: string) => void;
}

/**
 * Creates one organization with everything in it, each part only if it is missing. Returns the ids of its runs that wait for an approval now. Throws SetupError
 * if the API refuses.
 */
export async function makeOrganization(context: SeedContext, plan: OrganizationPlan): Promise<readonly string[]> {
  const organization = await ensure(context, `organization ${plan.slug}`, {
    find: () => context.operator.find(`/organizations?q=${plan.slug}`, ({ slug }) => slug === plan.slug),
    make: () => context.operator.call('POST', '/organizations', creationOf(plan, context.password)),
  });
  await allowOwnPages(context, organization.id);
  const email = emailOf(plan, 'owner');
  const owner = await signIn(context.baseUrl, { email, password: context.password, keptIn: context.secretsFile });
  const workspaces = `/organizations/${organization.id}/workspaces`;
  const main = await owner.find(workspaces, ({ slug }) => slug === 'main');
  if (main === null) throw new Error(`${plan.slug} has no workspace main`);
  const asOwner = { owner, workspaceId: main.id };

  await ensure(context, `workspace ${plan.slug}/${plan.workspace.slug}`, {
    find: () => owner.find(workspaces, ({ slug }) => slug === plan.workspace.slug),
    make: () => owner.call('POST', workspaces, plan.workspace),
  });
  await makePeople(context, plan, asOwner);
  await makeAgents(context, plan, asOwner);
  return makeRuns(context, plan, await makeKey(context, plan, asOwner));
}

async function ensure(
  { tell }: SeedContext,
  what: string,
  { find, make }: { readonly find: () => Promise<Item | null>; readonly make: () => Promise<Item> },
): Promise<Item> {
  const found = await find();
  const item = found ?? (await make());
  tell(what, found === null);
  return item;
}

function creationOf(plan: OrganizationPlan, password: string) {
  const owner = plan.people.find(({ role }) => role === 'owner');
  return {
    name: plan.name,
    slug: plan.slug,
    owner: { email: emailOf(plan, 'owner'), full_name: owner?.name ?? null, password },
    workspace: { name: 'Main', slug: 'main' },
  };
}

/** Its agents read the reference of this deployment, a page that is available without network access. */
async function allowOwnPages({ operator, baseUrl }: SeedContext, organizationId: string): Promise<void> {
  const { protocol, hostname, port } = new URL(baseUrl);
  const isPlain = protocol === 'http:';
  const wanted = { host: hostname, port: port === '' ? (isPlain ? 80 : 443) : Number(port), allow_http: isPlain };
  const path = `/organizations/${organizationId}/settings`;
  const { egress_allowlist: present } = await operator.call('GET', path);
  const entries: unknown[] = Array.isArray(present) ? present : [];
  if (entries.some((entry) => JSON.stringify(entry) === JSON.stringify(wanted))) return;
  await operator.call('PATCH', path, { egress_allowlist: [...entries, wanted] });
}

interface AsOwner {
  readonly owner: Client;
  /** Its main workspace, which has the people and agents. */
  readonly workspaceId: string;
}

async function makePeople(context: SeedContext, plan: OrganizationPlan, { owner, workspaceId }: AsOwner): Promise<void> {
  for (const { name, role } of plan.people.filter((person) => person.role !== 'owner')) {
    const email = emailOf(plan, role);
    await ensure(context, `${role} ${email}`, {
      find: () => owner.find(`/users?q=${encodeURIComponent(email)}`, (user) => user['email'] === email),
      make: () =>
        owner.call('POST', '/users', {
          email,
          full_name: name,
          role,
          scope: 'workspace',
          workspace_id: workspaceId,
          password: context.password,
        }),
    });
  }
}

async function makeAgents(context: SeedContext, plan: OrganizationPlan, { owner, workspaceId }: AsOwner): Promise<void> {
  const home = { scope: 'workspace', workspace_id: workspaceId };
  const bySlug = (path: string, wanted: string) => () => owner.find(`${path}?q=${wanted}`, ({ slug }) => slug === wanted);
  await ensure(context, `tool ${plan.slug}/${tool.slug}`, {
    find: bySlug('/tools', tool.slug),
    make: () => owner.call('POST', '/tools', { ...tool, ...home }),
  });
  const made = await ensure(context, `skill ${plan.slug}/${skill.slug}`, {
    find: bySlug('/skills', skill.slug),
    make: () => owner.call('POST', '/skills', { ...skill, ...home }),
  });
  await promote(owner, made);
  for (const agent of agents) {
    await ensure(context, `agent ${plan.slug}/${agent.slug}`, {
      find: bySlug('/agents', agent.slug),
      make: () => owner.call('POST', '/agents', { ...agent, ...home, activate: true }),
    });
  }
}

/** Promotes a skill step by step, because agents can only load promoted ones. */
async function promote(owner: Client, made: Item): Promise<void> {
  const curate = (to: string) => owner.call('POST', `/skills/${made.id}/curate`, { to, version: made['version'] });
  if (made['curation_state'] === 'pending') await curate('reviewed');
  if (made['curation_state'] === 'pending' || made['curation_state'] === 'reviewed') await curate('promoted');
}

/**
 * Returns a client with the organization's service key. The API shows a key once: a key whose plaintext was not stored, because the seed that created it was
 * killed or because it was rotated elsewhere, is rotated.
 */
async function makeKey(context: SeedContext, plan: OrganizationPlan, { owner, workspaceId }: AsOwner): Promise<Client> {
  const name = 'seed';
  let plaintext = context.keys.get(plan.slug) ?? null;
  const show = (key: Item) => {
    plaintext = String(key['plaintext']);
    context.keepKey(plan.slug, plaintext);
    return key;
  };
  const key = await ensure(context, `service key ${plan.slug}/${name}`, {
    find: () => owner.find(`/service-keys?q=${name}`, (candidate) => candidate['name'] === name && candidate['is_active'] === true),
    make: async () =>
      show(await owner.call('POST', '/service-keys', { name, role: 'admin', scope: 'workspace', workspace_id: workspaceId })),
  });
  if (plaintext === null || !plaintext.endsWith(String(key['last4']))) show(await owner.call('POST', `/service-keys/${key.id}/rotate`));
  return clientOf(context.baseUrl, plaintext);
}

async function makeRuns(context: SeedContext, plan: OrganizationPlan, client: Client): Promise<readonly string[]> {
  const text = `Read ${context.baseUrl}/llms.txt: which operation starts a run?`;
  const inADay = () => new Date(Date.now() + 86_400_000).toISOString();
  const waiting: string[] = [];
  for (const { sessionKey, agent, isCancelled } of runs) {
    const found = await client.find(`/runs?session_key=${sessionKey}`, () => true);
    const start = { agent_slug: agent, input: { text }, session_key: sessionKey };
    let run = found ?? (await client.call('POST', '/runs', isCancelled ? { ...start, start_after: inADay() } : { ...start, mode: 'wait' }));
    // Also a run of an earlier seed that was killed before it could cancel the run.
    if (isCancelled && run['finished_at'] === null) {
      run = await client.call('POST', `/runs/${run.id}/cancel`, { reason: 'The question was withdrawn.' });
    }
    if (run['status'] === 'waiting') waiting.push(run.id);
    context.tell(`run ${plan.slug}/${sessionKey} (${String(run['status'])})`, found === null);
  }
  return waiting;
}
