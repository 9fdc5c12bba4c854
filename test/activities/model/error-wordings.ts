/** How one server says that a prompt does not fit its context. */
export interface OverflowWording {
  readonly server: string;
  readonly seen: string;
  readonly status: number;
  readonly body: unknown;
}

const openai = (message: string, more: object = {}) => ({
  error: { message, type: 'invalid_request_error', param: 'messages', code: null, ...more },
});

export const overflowWordings: readonly OverflowWording[] = [
  {
    server: 'vLLM, V1 with a prompt alone',
    seen: 'hiyouga/LlamaFactory#7723',
    status: 400,
    body: openai('Prompt length of 5016 is longer than the maximum model length of 4096.'),
  },
  {
    server: 'LM Studio, oldest',
    seen: 'lmstudio-ai/examples#29',
    status: 400,
    body: { error: 'Error: Input length 6491 exceeds context length 1500' },
  },
  { server: 'mlx-serve', seen: 'ddalcu/mlx-serve#66', status: 400, body: openai('Prompt exceeds maximum context length') },
  {
    server: 'OpenAI',
    seen: 'langchain-ai/langchain#24058',
    status: 400,
    body: openai("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", {
      code: 'context_length_exceeded',
    }),
  },
  {
    server: 'OpenAI, Responses',
    seen: 'pi-mono, packages/ai/src/utils/overflow.ts',
    status: 400,
    body: openai('Your input exceeds the context window of this model. Please adjust your input and try again.'),
  },
  {
    server: 'Anthropic',
    seen: 'pi-mono, packages/ai/src/utils/overflow.ts',
    status: 400,
    body: { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' } },
  },
  {
    server: 'Anthropic, with max_tokens',
    seen: 'continuedev/continue#6080',
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000' },
    },
  },
  {
    server: 'Bedrock',
    seen: 'pi-mono, packages/ai/src/utils/overflow.ts',
    status: 400,
    body: { message: 'Input is too long for requested model.' },
  },
  {
    server: 'Gemini',
    seen: 'google-gemini/gemini-cli#11916',
    status: 400,
    body: [
      {
        error: {
          code: 400,
          message: 'The input token count (218152) exceeds the maximum number of tokens allowed (65536).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
  },
  {
    server: 'vLLM',
    seen: 'vllm-project/vllm#20409',
    status: 400,
    body: {
      object: 'error',
      message:
        "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  },
  {
    server: 'vLLM, V1',
    seen: 'xorbitsai/inference#3785',
    status: 400,
    body: {
      error: {
        message: 'The decoder prompt (length 9001) is longer than the maximum model length of 8192.',
        type: 'BadRequestError',
        code: 400,
      },
    },
  },
  {
    server: 'llama.cpp',
    seen: 'ggml-org/llama.cpp#15780',
    status: 500,
    body: {
      error: {
        code: 500,
        message: 'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 1407,
        n_ctx: 256,
      },
    },
  },
  {
    server: 'llama.cpp, with counts',
    seen: 'unslothai/unsloth#9390',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'request (2358 tokens) exceeds the available context size (2048 tokens), try increasing it',
        type: 'invalid_request_error',
      },
    },
  },
  {
    server: 'llama-cpp-python',
    seen: 'abetlen/llama-cpp-python#416',
    status: 500,
    body: { error: { message: 'Requested tokens (2285) exceed context window of 2048', type: 'internal_server_error', code: null } },
  },
  {
    server: 'LM Studio',
    seen: 'Gitlawb/openclaude#353',
    status: 400,
    body: {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
    },
  },
  {
    server: 'LM Studio, older',
    seen: 'lmstudio-ai/lmstudio-bug-tracker#546',
    status: 400,
    body: {
      error:
        'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
    },
  },
  {
    server: 'LM Studio, MLX',
    seen: 'lmstudio-ai/lmstudio-bug-tracker#2339',
    status: 500,
    body: { error: 'Context size has been exceeded.' },
  },
  {
    server: 'Ollama',
    seen: 'nano-step/nano-brain#208',
    status: 400,
    body: { error: { message: 'the input length exceeds the context length', type: 'invalid_request_error', param: null, code: null } },
  },
  {
    server: 'TGI',
    seen: 'huggingface/chat-ui#340',
    status: 422,
    body: {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 1512. Given: 1000 `inputs` tokens and 1024 `max_new_tokens`',
      error_type: 'validation',
    },
  },
  {
    server: 'TGI, input alone',
    seen: 'huggingface/text-generation-inference#695',
    status: 422,
    body: { error: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 1168', error_type: 'validation' },
  },
  {
    server: 'xAI',
    seen: 'cline/cline#3120',
    status: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    },
  },
  {
    server: 'xAI, older',
    seen: 'chatboxai/chatbox#2332',
    status: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: 'Input length (131054 tokens) exceeds the maximum allowed length (131038 tokens). Use a shorter input.',
    },
  },
  {
    server: 'OpenRouter',
    seen: 'pi-mono, packages/ai/src/utils/overflow.ts',
    status: 400,
    body: {
      error: { code: 400, message: "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens." },
    },
  },
  {
    server: 'OpenRouter, words of its provider',
    seen: 'diegosouzapw/OmniRoute#3044',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'Provider returned error',
        metadata: { provider_name: 'X', raw: '{"error":{"message":"prompt is too long: 5 tokens > 4 maximum"}}' },
      },
    },
  },
  {
    server: 'Groq',
    seen: 'pi-mono, packages/ai/src/utils/overflow.ts',
    status: 400,
    body: openai('Please reduce the length of the messages or completion.'),
  },
  {
    server: 'Mistral',
    seen: 'from memory',
    status: 400,
    body: {
      object: 'error',
      message: 'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_error',
      code: '3051',
    },
  },
  {
    server: 'Moonshot',
    seen: 'pi-mono, packages/ai/src/utils/overflow.ts',
    status: 400,
    body: openai('Invalid request: Your request exceeded model token limit: 8192'),
  },
  {
    server: 'MiniMax',
    seen: 'pi-mono, packages/ai/src/utils/overflow.ts',
    status: 400,
    body: openai('invalid params, context window exceeds limit'),
  },
  {
    server: 'GitHub Copilot',
    seen: 'pi-mono, packages/ai/src/utils/overflow.ts',
    status: 400,
    body: openai('prompt token count of 145024 exceeds the limit of 128000', { code: 'model_max_prompt_tokens_exceeded' }),
  },
  { server: 'a proxy', seen: 'RFC 9110 §15.5.14', status: 413, body: 'Payload Too Large' },
];

/** An error as some server sends it, and what is made of it. */
export interface ErrorWording {
  readonly name: string;
  readonly status: number;
  readonly body: unknown;
  readonly class: string;
  readonly retryable: boolean;
  readonly says: string;
}

const keyRefused = { class: 'AuthRefused', retryable: false } as const;
const rejected = { class: 'Rejected', retryable: false } as const;
const away = { class: 'Unavailable', retryable: true } as const;

/** Errors with a status of their own. */
export const httpErrors: readonly ErrorWording[] = [
  {
    name: 'an object (OpenAI)',
    status: 401,
    body: openai('Incorrect API key provided.', { code: 'invalid_api_key' }),
    ...keyRefused,
    says: '(invalid_api_key): Incorrect API key provided.',
  },
  {
    name: 'a text (Ollama, LM Studio)',
    status: 404,
    body: { error: 'model "llama9" not found, try pulling it first' },
    ...rejected,
    says: 'try pulling it first',
  },
  { name: '`detail` (FastAPI)', status: 404, body: { detail: 'Not Found' }, ...rejected, says: 'Not Found' },
  {
    name: 'a list of details (FastAPI)',
    status: 422,
    body: { detail: [{ type: 'missing', loc: ['body', 'messages', 0, 'role'], msg: 'Field required', input: { secret: 1 } }] },
    ...rejected,
    says: 'body.messages.0.role: Field required',
  },
  { name: 'plain text', status: 503, body: 'upstream connect error or disconnect before headers', ...away, says: 'upstream connect error' },
  {
    name: 'a page',
    status: 502,
    body: '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>',
    ...away,
    says: '502 Bad Gateway',
  },
  {
    name: 'a list (Gemini)',
    status: 400,
    body: [{ error: { code: 400, message: 'Unknown name "top_k"', status: 'INVALID_ARGUMENT' } }],
    ...rejected,
    says: 'Unknown name',
  },
  {
    name: '`errors` (Cloudflare)',
    status: 403,
    body: { success: false, errors: [{ code: 10000, message: 'Authentication error' }], result: null },
    ...keyRefused,
    says: 'Authentication error',
  },
  { name: 'nothing', status: 400, body: '', ...rejected, says: 'answered 400' },
];

/** Errors in the body of a 200, or in an event of its stream. */
export const toldErrors: readonly ErrorWording[] = [
  { name: 'a text', status: 200, body: { error: 'model "llama9" not found' }, ...rejected, says: 'llama9' },
  { name: 'a status as code', status: 200, body: { error: { message: 'Bad parameter', code: 400 } }, ...rejected, says: 'Bad parameter' },
  { name: 'a status as text', status: 200, body: { error: { message: 'No such model', code: '404' } }, ...rejected, says: 'No such model' },
  {
    name: 'a status beside it',
    status: 200,
    body: { error: { message: 'Who are you?' }, status_code: 401 },
    ...keyRefused,
    says: 'Who are you?',
  },
  { name: 'a refused key by its code', status: 200, body: openai('No.', { code: 'invalid_api_key' }), ...keyRefused, says: 'No.' },
  {
    name: 'forbidden by its status',
    status: 200,
    body: { error: { message: 'Not in your country', code: 403 } },
    ...keyRefused,
    says: 'Not in your country',
  },
  { name: 'an overload', status: 200, body: { error: { message: 'Busy', type: 'overloaded_error' } }, ...away, says: 'Busy' },
  {
    name: 'a rate',
    status: 200,
    body: { error: { message: 'Slow down', code: 429 } },
    class: 'RateLimited',
    retryable: true,
    says: 'Slow down',
  },
  {
    name: 'a refused prompt by its code',
    status: 200,
    body: { error: { code: 'invalid_prompt', message: 'Not this.' } },
    ...rejected,
    says: 'Not this.',
  },
  { name: '`detail`', status: 200, body: { detail: 'Unauthorized' }, ...keyRefused, says: 'Unauthorized' },
  { name: 'unknown words', status: 200, body: { error: 'The dog ate it.' }, class: 'StreamCut', retryable: true, says: 'The dog ate it.' },
];
