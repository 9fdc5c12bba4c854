import { instructionsTemplate, templateVariables, withSkills } from '../../../db/agents/effective/instructions.ts';
import type { HistoryAnswer, HistoryMessage } from '../../../db/runs/read/history.ts';
import { withoutPreset, type RunTool } from '../../../db/runs/start/manifest-tools.ts';
import type { OpenedStep } from '../../../domain/runs/steps/model-steps.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { ResolvedModel } from '../../../ports/models/models.ts';
import { TemplateError, type Templates } from '../../../ports/templates/templates.ts';
import { giveUp } from '../../support/failures.ts';
import { fitHistory, type ContextBudget } from './context.ts';
import { formatNotice, jsonAnswerOf, resultToolOf } from './json-answer.ts';
import type { PromptMessage, PromptTool, PromptToolResult, ProviderState } from './prompt.ts';
import type { ModelStepRequest } from '../step.ts';
import { contextTooLongCode } from '../errors/tries.ts';
import { countPrompt } from '../usage/usage.ts';

/** Builds the request of a model step from what was pinned and stored: equal rows yield an equal prompt. */
export async function buildRequest(
  templates: Templates,
  opened: OpenedStep,
  model: ResolvedModel,
  signal: AbortSignal,
): Promise<ModelStepRequest> {
  const { document, run, persona } = opened;
  const settings = { ...document.model_settings, ...persona?.model_settings };
  const caps = [run.limits.max_output_tokens, settings.max_output_tokens, model.maxOutputTokens].filter((cap) => cap !== null);
  const isCapped = run.limits.max_output_tokens !== null || settings.max_output_tokens !== null;
  const json = jsonAnswerOf(model, document.response_format);
  const instructions = [withSkills(await renderInstructions(templates, opened), opened.skills), formatNotice(json)];
  const resultTool = resultToolOf(json);
  const asked = {
    instructions: instructions.filter((part) => part !== '').join('\n\n'),
    tools: [...opened.tools.map(toPromptTool), ...(resultTool ? [resultTool] : [])],
  };
  const history = fitHistory(
    opened.history,
    contextBudgetOf(opened, { model, takenTokens: countPrompt({ ...asked, messages: [] }), answer: Math.min(...caps) }),
  );
  return {
    ...asked,
    model,
    json,
    messages: history.flatMap((message) => toPromptMessage(message, readerOf(opened.tools))),
    settings: {
      temperature: settings.temperature,
      topP: settings.top_p,
      stop: settings.stop,
      seed: settings.seed,
      reasoning: settings.reasoning,
      cache: settings.cache,
      providerOptions: { ...settings.provider_options },
    },
    maxOutputTokens: isCapped ? Math.min(...caps) : null,
    signal,
  };
}

function toPromptTool(tool: RunTool): PromptTool {
  return { slug: tool.slug, description: tool.description, inputSchema: withoutPreset(tool), effect: tool.effect };
}

interface TakenTokens {
  readonly model: ResolvedModel;
  /** Tokens of instructions and tools. */
  readonly takenTokens: number;
  /** Maximum tokens of the answer; Infinity when nothing caps it. */
  readonly answer: number;
}

/** Tokens of the window that are left for an answer without a cap. */
const answerTokens = 8_192;

/** Estimates the tokens that model and revision leave for the conversation. */
function contextBudgetOf({ document, retries, lastError, tools }: OpenedStep, { model, takenTokens, answer }: TakenTokens): ContextBudget {
  const window = model.contextWindow - Math.min(answer, answerTokens, model.contextWindow / 2);
  return {
    rules: document.context,
    maxTokens: Math.min(window, document.context.max_input_tokens ?? window),
    windowTokens: model.contextWindow,
    takenTokens,
    reader: readerOf(tools),
    wasTooLong: retries.some((retry) => retry.error_code === contextTooLongCode),
    refusal: retries.at(-1)?.error_code === contextTooLongCode ? lastError : null,
  };
}

async function renderInstructions(templates: Templates, { document, run, persona }: OpenedStep): Promise<string> {
  const template = instructionsTemplate(document, persona);
  if (!template.includes('{')) return template;
  const { manifest } = run;
  try {
    const variables = templateVariables({
      agent: manifest.agent,
      persona,
      subject: { kind: run.subject_kind, id: run.subject_id },
      workspace: manifest.workspace,
      now: manifest.begun_at,
      vars: manifest.vars,
    });
    return (await templates.render(template, variables)).text;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw giveUp(
      fail('validation_failed', { reason: 'template', detail: `The instructions could not be rendered: ${error.message}`.slice(0, 500) }),
    );
  }
}

/** Returns the slug of the tool by which this agent can read the rest of a truncated result; null when it has no such tool. */
function readerOf(tools: readonly RunTool[]): string | null {
  return tools.find((tool) => tool.kind === 'builtin' && tool.config['name'] === 'result_read')?.slug ?? null;
}

function toPromptMessage(message: HistoryMessage, reader: string | null): PromptMessage[] {
  switch (message.role) {
    case 'user':
    case 'system':
      return [{ role: 'user', content: [...message.content] }];
    case 'assistant':
      return [
        {
          role: 'assistant',
          content: [...message.content],
          toolCalls: message.calls.map((call) => ({ id: call.provider_call_id, slug: call.slug, args: call.args })),
          providerState: message.providerState as ProviderState | null, // stored by the step that returned it; opaque to all other code
        },
      ];
    case 'tool':
      return message.answers ? [toToolResult(message, message.answers, reader)] : [];
    default:
      return message.role satisfies never;
  }
}

/**
 * Returns what the model reads about the end of a call: its state, its output in any state (a rejection carries its comment there), and its error.
 * `docs/model-providers.md` lists it by state and source.
 */
function toToolResult(message: HistoryMessage, answers: HistoryAnswer, reader: string | null): PromptToolResult {
  const [block] = message.content;
  const stored = block === undefined ? null : block.type === 'json' ? block.value : 'text' in block ? block.text : null;
  // Without an output, the message holds the error's text, which is stated only once.
  const output = answers.error !== null && stored === answers.error.message ? null : stored;
  return {
    role: 'tool',
    toolCallId: answers.provider_call_id,
    slug: answers.slug,
    status: statusOf(answers.state),
    output: answers.truncated && output !== null ? withNote(String(output), answers, reader) : output,
    error: answers.error === null ? null : { code: answers.error.code, message: answers.error.message },
  };
}

/** A model can't see that a text was truncated, nor the id under which the rest is stored. */
function withNote(text: string, answers: HistoryAnswer, reader: string | null): string {
  const cut = `[The result was cut after ${text.length} of ${answers.total_chars ?? text.length} characters.`;
  const more = reader === null ? ']' : ` ${reader} with call_id "${answers.tool_call_id}" and offset ${text.length} gives more of it.]`;
  return `${text}\n\n${cut}${more}`;
}

function statusOf(state: string): PromptToolResult['status'] {
  if (state === 'succeeded' || state === 'denied' || state === 'timed_out' || state === 'cancelled') return state;
  return 'failed';
}
