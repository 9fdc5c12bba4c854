import type { HookTexts } from '../../db/webhooks/hooks.ts';
import type { Coalescing, HookMethod, ResponseMode, Verification } from '../../db/webhooks/webhook-endpoint.entity.ts';
import { refusalOfUrl, type EgressPolicy } from '../../ports/egress/url.ts';
import type { Templates } from '../../ports/templates/templates.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { refuseKind } from '../triggers/kinds.ts';

/** The fields of an endpoint that a caller sets. */
export interface EndpointFields extends HookTexts {
  readonly httpMethod: HookMethod;
  readonly verification: Verification;
  readonly responseMode: ResponseMode;
  /** JSON pointer (RFC 6901) into the outcome of a run, for the answer of a sync endpoint. */
  readonly responsePath: string | null;
  /** The address to which the outcome of each run is sent in mode `callback`. */
  readonly callbackUrl: string | null;
  /** Kind of the event that each delivery emits; null: none. */
  readonly eventKind: string | null;
  /** Null: each delivery is a run. */
  readonly coalescing: Coalescing | null;
  readonly rateLimitPerMinute: number;
  readonly unverifiedAck: boolean;
  readonly isActive: boolean;
}

const deepestInput = 16;
const maxInputBytes = 65_536;
/** A JSON pointer (RFC 6901) below the root. */
export const pointerForm = /^(?:\/(?:[^~/]|~[01])*)+$/;

/** Throws 422 for contradictory fields: an endpoint has no requirement that no sender could meet, and works for no user without a verified sender. */
export function refuseContradiction(fields: EndpointFields): void {
  const { httpMethod, verification, subjectTemplate, responsePath, inputTemplate } = fields;
  if (httpMethod === 'GET' && verification !== 'shared_token')
    throw invalid('/verification', 'const', 'must be shared_token for GET, which has no body to sign');
  if (verification === 'none' && subjectTemplate?.kind === 'user')
    throw invalid('/subject_template/kind', 'enum', 'cannot be user while verification is none: anyone could name a user');
  if (responsePath !== null && !pointerForm.test(responsePath))
    throw invalid('/response_path', 'pattern', 'must be a JSON pointer (RFC 6901), such as /output/text');
  refuseInputTemplate(inputTemplate);
  refuseCallback(fields);
  if (fields.coalescing !== null && fields.responseMode === 'sync')
    throw invalid('/coalescing/mode', 'const', 'must be none while response_mode is sync: no sender waits that long');
  refuseCoalescing(fields.coalescing);
  if (fields.eventKind !== null) refuseEventKind(fields.eventKind, fields);
}

function refuseCallback({ responseMode, callbackUrl, verification }: EndpointFields): void {
  if (responseMode !== 'callback') return;
  if (callbackUrl === null) throw invalid('/callback_url', 'required', 'is required while response_mode is callback');
  if (verification === 'none')
    throw invalid('/response_mode', 'enum', 'cannot be callback while verification is none: there is no secret to sign with');
}

/** Throws 422 for an input template that is too deep or too long. */
export function refuseInputTemplate(inputTemplate: HookTexts['inputTemplate']): void {
  if (depthOf(inputTemplate) > deepestInput)
    throw invalid('/input_template', 'max_depth', `must be at most ${deepestInput} levels deep`, { limit: deepestInput });
  if (Buffer.byteLength(JSON.stringify(inputTemplate) ?? '') > maxInputBytes)
    throw invalid('/input_template', 'max_bytes', `must be at most ${maxInputBytes} bytes`, { limit: maxInputBytes });
}

/** Throws 422 for contradictory coalescing. */
export function refuseCoalescing(coalescing: Coalescing | null): void {
  if (coalescing === null) return;
  const { mode, windowSeconds, maxWaitSeconds, eventTimePath } = coalescing;
  if (maxWaitSeconds !== null && mode !== 'debounce')
    throw invalid('/coalescing/max_wait_seconds', 'excluded', 'is only allowed in mode debounce');
  if (maxWaitSeconds !== null && maxWaitSeconds <= windowSeconds)
    throw invalid('/coalescing/max_wait_seconds', 'minimum', 'must be more than window_seconds');
  if (eventTimePath !== null && !pointerForm.test(eventTimePath))
    throw invalid('/coalescing/event_time_path', 'pattern', 'must be a JSON pointer (RFC 6901), such as /created_at');
}

/** The event kind of an endpoint for the Git host's deliveries, which go to code review. */
export const hostEventKind = 'github';

function refuseEventKind(kind: string, { httpMethod, verification, responseMode, coalescing }: EndpointFields): void {
  if (kind !== hostEventKind) return refuseKind(kind);
  if (httpMethod !== 'POST') throw invalid('/http_method', 'const', 'must be POST while event_kind is github');
  if (verification !== 'hmac_sha256') throw invalid('/verification', 'const', 'must be hmac_sha256 while event_kind is github');
  if (responseMode !== 'async' && responseMode !== 'ack')
    throw invalid('/response_mode', 'enum', 'must be async or ack while event_kind is github: no run is waited for');
  if (coalescing !== null)
    throw invalid('/coalescing/mode', 'const', 'must be none while event_kind is github: reviews do their own debouncing of pushes');
}

/** Throws 422 for a callback address that the egress guard would refuse. */
export function refuseCallbackUrl(url: string | null, policy: EgressPolicy): void {
  const refusal = url === null ? null : refusalOfUrl(url, policy);
  if (refusal !== null) throw invalid('/callback_url', 'egress', `The URL is not allowed: ${refusal}`);
}

/** Throws 422 at the first template that does not parse, or names an unknown filter or tag. */
export async function refuseTemplates(
  templates: Pick<Templates, 'firstFault'>,
  texts: HookTexts & Pick<EndpointFields, 'coalescing'>,
): Promise<void> {
  const placed = [
    ['/prompt_template', texts.promptTemplate],
    ['/session_key_template', texts.sessionKeyTemplate],
    ['/persona_slug_template', texts.personaSlugTemplate],
    ['/subject_template/id', texts.subjectTemplate?.id ?? null],
    ['/coalescing/key_template', texts.coalescing?.keyTemplate ?? null],
    ...leavesOf(texts.inputTemplate).map((leaf) => ['/input_template', leaf] as const),
  ].filter((place): place is [string, string] => place[1] !== null);

  const fault = placed[await templates.firstFault(placed.map(([, text]) => text))];
  if (fault) throw invalid(fault[0], 'template', 'is not a valid template: its syntax is wrong, or it uses an unknown filter or tag');
}

function leavesOf(node: unknown): string[] {
  if (typeof node === 'string') return [node];
  return typeof node === 'object' && node !== null ? Object.values(node).flatMap(leavesOf) : [];
}

function depthOf(node: unknown): number {
  if (typeof node !== 'object' || node === null) return 0;
  return 1 + Math.max(0, ...Object.values(node).map(depthOf));
}
