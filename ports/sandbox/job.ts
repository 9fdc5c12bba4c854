export const codeLanguages = ['javascript', 'python', 'shell'] as const;
export type CodeLanguage = (typeof codeLanguages)[number];

export const codeIsolations = ['default', 'strict'] as const;
export type CodeIsolation = (typeof codeIsolations)[number];

/** One program to run, with what it may use. */
export interface CodeJob {
  readonly language: CodeLanguage;
  readonly isolation: CodeIsolation;
  readonly code: string;
  /** What the program sees as `input`: JSON. */
  readonly input: unknown;
  readonly memoryMb: number;
  readonly cpuMs: number;
}

/**
 * How a program ended. `failed`: its own error, or one that it did not catch. `limit`: it was stopped; `crash` when the interpreter
 * died of something that can't be told.
 */
export type CodeReply = { readonly console: string } &
  /** The value holds marks (`markInexact`) for numbers that a double would change. */
  (
    | { readonly kind: 'done'; readonly value: unknown }
    | { readonly kind: 'failed'; readonly message: string }
    | { readonly kind: 'limit'; readonly reason: 'cpu' | 'memory' | 'stack' | 'output' | 'crash' }
  );

/** Console and value together. */
export const maxOutputBytes = 1024 * 1024;
