export const codeLanguages = ['javascript', 'python', 'shell'] as const;
export type CodeLanguage = (typeof codeLanguages)[number];

export const codeIsolations = ['default', 'strict'] as const;
export type CodeIsolation = (typeof codeIsolations)[number];

/** One program to run, with its limits. */
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
 * The outcome of a program. `failed`: an error of its own, or one that it did not catch. `limit`: it was stopped; `crash` when the interpreter died of an
 * unknown cause.
 */
export type CodeReply = { readonly console: string } &
  /** The value holds tags (`tagInexact`) for numbers that a double would change. */
  (
    | { readonly kind: 'done'; readonly value: unknown }
    | { readonly kind: 'failed'; readonly message: string }
    | { readonly kind: 'limit'; readonly reason: 'cpu' | 'memory' | 'stack' | 'output' | 'crash' }
  );

/** For console and value together. */
export const maxOutputBytes = 1024 * 1024;
