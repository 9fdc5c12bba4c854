import { isRecord, readJson } from '../ui/read-json.ts';
import { approvalTexts } from './messages.ts';

/** The object that a text is, or what is wrong with it. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | string {
  const value = valueIn(text);
  if (value === undefined) return approvalTexts.invalidJson;
  return isRecord(value) ? value : approvalTexts.mustBeObject;
}

/** The value that a text is as JSON; undefined: it is none. */
export function valueIn(text: string): unknown {
  return readJson(text).value;
}
