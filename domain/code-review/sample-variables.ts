import type { TemplateVariables } from '../../ports/templates.ts';

const common = {
  repo: { full_name: 'acme/shop' },
  pull: {
    number: 7,
    title: 'Count what is in the cart',
    description: 'The badge shows the number of lines, not of things.',
    author: 'mona',
    base_ref: 'main',
    head_ref: 'count-things',
    is_fork: false,
  },
  instructions: 'Amounts are in cents.',
  output: { language: 'English', tone: 'plain' },
};
const files = [{ path: 'src/cart.ts', status: 'modified', added: 3, removed: 1 }];
const diff = '@@ -1,2 +1,2 @@\n-L1 return cart.lines.length;\n+R1 return cart.lines.reduce((sum, line) => sum + line.count, 0);';
const finding = {
  path: 'src/cart.ts',
  start_line: 1,
  end_line: 1,
  side: 'RIGHT',
  category: 'bug',
  severity: 'medium',
  confidence: 0.9,
  title: 'An empty line counts as undefined',
  scenario: 'A line without a count makes the sum NaN.',
  evidence_quote: 'sum + line.count',
  suggestion: 'return cart.lines.reduce((sum, line) => sum + (line.count ?? 0), 0);',
};

/**
 * The variables of each prompt of a playbook, with a sample's values: what a saved prompt may name. Whatever renders the prompt gives every one of these.
 */
export const sampleVariables = {
  summary: { ...common, files, diff },
  review: {
    ...common,
    files,
    diff,
    summary: 'Counts things in place of lines.',
    pass: { key: 'correctness', focus: 'wrong results' },
    categories: ['bug', 'security'],
    severities: [{ level: 'high', definition: 'a main path fails' }],
    rules: [{ id: 'ts-1', text: 'No floating promises.' }],
    ignore_rules: ['Missing comments.'],
  },
  verify: { ...common, finding, code: 'export function count(cart) {…}', diff },
  check: {
    ...common,
    verdict: 'findings',
    head_sha: '0123456789abcdef0123456789abcdef01234567',
    counts: { open: 1, inline: 1, file: 0, folded: 0, carried: 0, fixed: 0, dismissed: 0 },
  },
  reply: { ...common, question: 'Is the sum cached?', thread: 'mona: Is the sum cached?', diff },
  edit: { ...common, findings: [finding], test_commands: ['npm test'], files },
} as const satisfies Record<string, TemplateVariables>;
