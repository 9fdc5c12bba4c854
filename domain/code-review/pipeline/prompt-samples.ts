import type { ReviewTemplates } from '../../../workflows/contracts/review/code-review.ts';
import type { Candidate } from './finding.ts';
import { checkVariables, editVariables, replyVariables, reviewVariables, summaryVariables, verifyVariables } from './prompt-variables.ts';

/** Variables of each template of a playbook, filled with samples: a template that names any other variable is refused when it is saved. */
export function sampleVariables(templates: Pick<ReviewTemplates, 'output' | 'categories' | 'severity' | 'ignore_rules'>) {
  const pull = {
    number: 7,
    author: 'mona',
    headRef: 'faster',
    baseRef: 'main',
    isFork: false,
    title: 'Faster widgets',
    description: 'Sorts once.',
  };
  const context = { repoFullName: 'octo/widgets', pull, instructions: 'Mind the cache.', templates };
  const diff = '=== modified src/a.ts\n@@\nR1 +const a = 1;\n';
  const pass = { pass: { key: 'bugs', focus: 'wrong results' }, files: [sampleFile], diff, summary: 'It sorts once.' };
  const counts = { open: 1, inline: 1, file: 0, folded: 0, carried: 0, fixed: 0, dismissed: 0 };
  return {
    summary: summaryVariables(context, { files: [sampleFile], diff }),
    review: reviewVariables(context, { ...pass, rules: [{ id: 'no-eval', text: 'Never use eval.' }] }),
    verify: verifyVariables(context, { finding: sampleFinding, code: 'R1 const a = 1;\n', diff }),
    reply: replyVariables(context, { thread: 'Why?', question: 'Is this safe?', diff }),
    edit: editVariables(context, { findings: [sampleRepair], testCommands: ['npm test'] }),
    check: checkVariables({ verdict: 'findings', headSha: '0123456789', counts }),
  };
}

const sampleFile = {
  patch: { path: 'src/a.ts', previousPath: null, status: 'modified', binary: false, oldMode: '100644', newMode: '100644', hunks: [] },
  hunks: [],
  reading: { taken: [], languages: ['typescript'], kind: 'programming' },
} as const;

const sampleRepair = {
  path: 'src/a.ts',
  startLine: 1,
  endLine: 1,
  title: 'The constant is never read',
  scenario: 'Whoever calls it gets the old value.',
};

const sampleFinding: Candidate = {
  fingerprint: 'f'.repeat(64),
  category: 'bug',
  ruleId: null,
  severity: 'high',
  confidence: 0.9,
  path: 'src/a.ts',
  anchor: { path: 'src/a.ts', side: 'RIGHT', startLine: 1, line: 1 },
  saidLine: 1,
  side: 'RIGHT',
  title: 'The constant is never read',
  scenario: 'Whoever calls it gets the old value.',
  evidence: 'const a = 1;',
  suggestion: null,
  alsoAt: [],
};
