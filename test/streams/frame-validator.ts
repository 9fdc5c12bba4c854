import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { EnvelopeSchema, frameDataSchemas } from '../../db/streams/frame.schema.ts';
import type { Frame } from '../../db/streams/frame.schema.ts';
import { frameTypes } from '../../workflows/contracts/runs/frames.ts';

const ajv = new Ajv2020({
  strict: false,
  formats: { 'uuid': /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ },
});
const envelope = ajv.compile(closed(EnvelopeSchema));
const data = new Map<string, ValidateFunction>(frameTypes.map((type) => [type, ajv.compile(closed(frameDataSchemas[type]))]));

/** What of a frame differs from the protocol's schemas; unknown fields count, for we write none. */
export function violationsOf(frame: Frame): string[] {
  const check = data.get(frame.type);
  const whole: unknown = frame; // the check would narrow the frame itself
  if (!envelope(whole)) return [`${frame.type} envelope: ${ajv.errorsText(envelope.errors)}`];
  if (!check) return [`unknown type ${frame.type}`];
  return check(frame.data) ? [] : [`${frame.type}: ${ajv.errorsText(check.errors)}`];
}

/** The schema with every described object closed. */
function closed(schema: unknown): object {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema as never;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return 'properties' in parts ? { additionalProperties: false, ...parts } : parts;
}
