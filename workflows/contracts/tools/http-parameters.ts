/** How a value is serialized where it stands in a request (OpenAPI 3.1 §4.8.12, RFC 6570). */
export const parameterStyles = ['simple', 'label', 'matrix', 'form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const;
export type ParameterStyle = (typeof parameterStyles)[number];

export type ParameterLocation = 'path' | 'query' | 'header' | 'cookie';

/** How a parameter or a form field is written. An absent property has the default of its location. */
export interface ParameterForm {
  readonly style?: ParameterStyle;
  readonly explode?: boolean;
  /** Reserved characters that can't be mistaken for the query's own stay as they are (RFC 6570 §3.2.3). */
  readonly allowReserved?: true;
  /** Sent as one text of this media type, whatever its style: serialized as JSON for a JSON type, otherwise unchanged. */
  readonly contentType?: string;
}

/** An argument that the request carries outside its body, under its name in the API. */
export interface HttpParameter extends ParameterForm {
  readonly argument: string;
  readonly in: ParameterLocation;
  readonly name: string;
}

/** How a field of a form or multipart body is written. */
export interface FieldForm extends ParameterForm {
  /** Its values, or the items of its list, are files: `{text}` or `{base64}` with `filename` and `media_type`. */
  readonly isFile?: true;
}

/** How each kind of body is built: from templates (none to raw), or from the one argument that it is (also multipart and bytes). */
export const bodyModes = ['none', 'json', 'form', 'raw', 'multipart', 'bytes'] as const;
export type BodyMode = (typeof bodyModes)[number];
