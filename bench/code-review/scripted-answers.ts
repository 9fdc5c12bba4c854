import { candidateOf, type StageAnswer } from '../../domain/code-review/pipeline/advance.ts';
import type { Candidate, RawFinding } from '../../domain/code-review/pipeline/finding.ts';
import { pathOf, sourceText, type CorpusPull } from './corpus.ts';
import { faultLine, type Answering } from './play.ts';
import { plantedPulls } from './planted.ts';

/** Of twenty faults one is found by no pass and one is refuted by mistake; of twenty false findings one stands by mistake. */
const every = 20;
const missedAt = 7;
const refutedAt = 13;
const confirmedAt = 3;

/**
 * A model that is often wrong: beside most of the planted faults it gives false findings of each kind that a model gives: about lines that nobody changed, with evidence that is not
 * there, unsure ones, matters of style, the same fault twice in other words, and plausible ones that only a second look refutes. The answers are the same each time.
 */
export const answerByScript: Answering = ({ pull, call, review }) => {
  switch (call.stage) {
    case 'summary':
      return given({ text: `It changes ${pathOf(pull)}.` });
    case 'pass':
      return given({ findings: call.ordinal < 1_000 ? firstPass(pull) : secondPass(pull) });
    case 'verify': {
      const candidate = candidateOf(review.material, review.rules, { call, answers: review.answers });
      return given({ reason: 'As the code shows.', stands: candidate !== null && isConfirmed(pull, candidate), confidence: 0.9 });
    }
    case 'fixed':
      return given({ reason: 'The code is another one.', stands: false, confidence: 0.9 });
    case 'same':
      return given({ groups: [] });
    case 'reply':
      return given({ text: 'Yes.' });
    default:
      return call.stage satisfies never;
  }
};

function given(value: unknown): Promise<StageAnswer> {
  return Promise.resolve({ kind: 'given', value });
}

/** Its number among those with a fault; -1: it has none. */
function numberOf(pull: CorpusPull): number {
  return plantedPulls.findIndex(({ id }) => id === pull.id);
}

function firstPass(pull: CorpusPull): RawFinding[] {
  const isMissed = numberOf(pull) % every === missedAt;
  return [...(pull.fault === null || isMissed ? [] : [trueFinding(pull)]), ...falseFindings(pull)];
}

/** Every third fault is found again, in other words and a line beside it. */
function secondPass(pull: CorpusPull): RawFinding[] {
  const number = numberOf(pull);
  if (pull.fault === null || number % 3 !== 0 || number % every === missedAt) return [];
  const finding = trueFinding(pull);
  return [
    {
      ...finding,
      start_line: finding.start_line + 1,
      end_line: finding.end_line + 1,
      title: 'Said otherwise',
      scenario: 'It goes wrong.',
      confidence: 0.8,
    },
  ];
}

function trueFinding(pull: CorpusPull): RawFinding {
  const line = faultLine(pull) ?? 1;
  const fault = pull.fault;
  if (fault === null) throw new Error('there is no fault');
  return finding(pull, {
    start_line: line,
    end_line: line,
    side: fault.side ?? 'RIGHT',
    category: fault.category,
    severity: fault.severity,
    title: fault.what.slice(0, 60),
    scenario: fault.what,
    evidence_quote: fault.quote,
  });
}

const plausible = 'It may be slow';

function falseFindings(pull: CorpusPull): RawFinding[] {
  const lines = sourceText(pull.source).split('\n');
  const [, replace = ''] = pull.edits[0] ?? [];
  const added = replace.split('\n').find((line) => /\w{3}/u.test(line) && !pull.edits[0]?.[0].includes(line)) ?? '';
  const unchanged = lines.findIndex((line) => /\w{5}/u.test(line));
  return [
    finding(pull, { start_line: unchanged + 1, end_line: unchanged + 1, evidence_quote: lines[unchanged] ?? '', title: 'Of no change' }),
    finding(pull, { evidence_quote: 'this line was never written', title: 'Invented' }),
    finding(pull, { evidence_quote: added, confidence: 0.4, title: 'Unsure' }),
    finding(pull, { evidence_quote: added, category: 'style', title: 'Ugly' }),
    finding(pull, { evidence_quote: added, category: 'tests', severity: 'medium', title: plausible }),
  ];
}

function isConfirmed(pull: CorpusPull, { title }: Candidate): boolean {
  const number = numberOf(pull);
  if (title === plausible) return number % every === confirmedAt;
  return number >= 0 && number % every !== refutedAt;
}

function finding(pull: CorpusPull, more: Partial<RawFinding>): RawFinding {
  return {
    path: pathOf(pull),
    start_line: 1,
    end_line: 1,
    side: 'RIGHT',
    category: 'bug',
    rule_id: null,
    severity: 'high',
    confidence: 0.9,
    title: 'It goes wrong',
    scenario: 'In some situation it goes wrong.',
    evidence_quote: '',
    suggestion: null,
    ...more,
  };
}
