/** One of the organizations that a seed creates. */
export interface OrganizationPlan {
  readonly slug: string;
  readonly name: string;
  readonly workspace: { readonly slug: string; readonly name: string };
  readonly people: readonly { readonly name: string; readonly role: 'owner' | 'admin' | 'member' | 'viewer' }[];
}

export const organizations: readonly OrganizationPlan[] = [
  {
    slug: 'acme',
    name: 'Acme',
    workspace: { slug: 'lab', name: 'Laboratory' },
    people: [
      { name: 'Olive Owner', role: 'owner' },
      { name: 'Ada Admin', role: 'admin' },
      { name: 'Max Member', role: 'member' },
      { name: 'Vera Viewer', role: 'viewer' },
    ],
  },
  {
    slug: 'globex',
    name: 'Globex',
    workspace: { slug: 'field', name: 'Field work' },
    people: [
      { name: 'Oscar Owner', role: 'owner' },
      { name: 'Alan Admin', role: 'admin' },
      { name: 'Mia Member', role: 'member' },
      { name: 'Vito Viewer', role: 'viewer' },
    ],
  },
];

/** Address of a person; the domain is reserved and receives no mail (RFC 2606). */
export function emailOf({ slug }: OrganizationPlan, role: string): string {
  return `${role}@${slug}.example`;
}

export const tool = {
  slug: 'read_page',
  kind: 'web_fetch',
  display_name: 'Read a page',
  description: 'Reads the page at an address and gives its text.',
  config: {},
};

export const skill = {
  slug: 'house-style',
  description: 'How answers are written here.',
  instructions: 'Answer in one short sentence. Name the page that the answer comes from.',
};

const model = 'builtin/extractive';
const instructions = 'Answer from the pages that you read.';

/** Agents with different outcomes of their runs. They cost nothing: the builtin model needs no key. */
export const agents = [
  {
    slug: 'reader',
    name: 'Reader',
    description: 'Reads a page and answers questions about it.',
    revision: { model, instructions, tools: [{ slug: tool.slug }], skills: [{ slug: skill.slug, mode: 'always' }] },
  },
  {
    slug: 'careful-reader',
    name: 'Careful reader',
    description: 'Asks a person before it reads a page.',
    revision: { model, instructions, tools: [{ slug: tool.slug, approval: 'always' }], limits: { approval_ttl_s: 2_592_000 } },
  },
  {
    slug: 'short-of-steps',
    name: 'Short of steps',
    description: 'May take one step, which is too few to read a page and answer.',
    revision: { model, instructions, tools: [{ slug: tool.slug }], limits: { max_steps: 1 } },
  },
] as const;

/** Runs by their session key: each is started once. */
export const runs = [
  { sessionKey: 'seed-answered', agent: 'reader', isCancelled: false },
  { sessionKey: 'seed-out-of-steps', agent: 'short-of-steps', isCancelled: false },
  { sessionKey: 'seed-cancelled', agent: 'reader', isCancelled: true },
  { sessionKey: 'seed-waiting', agent: 'careful-reader', isCancelled: false },
] as const;
