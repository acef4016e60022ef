/** Every reason a service can refuse something, as one closed union: the same word in code, on the wire and in documents. */
export const problemCodes = {
  invalid_request: 400,
  unauthorized: 401,
  wrong_audience: 403,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  stale_lease: 409,
  approval_settled: 409,
  approval_expired: 409,
  run_not_active: 409,
  stale_version: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unprocessable: 422,
  idempotency_mismatch: 422,
  edit_denied: 422,
  unknown_model_price: 422,
  budget_exhausted: 429,
  budget_reserved: 503,
  overloaded: 503,
  unavailable: 503,
  internal: 500,
} as const;
export type ProblemCode = keyof typeof problemCodes;

/** One wrong field: `pointer` is an RFC 6901 JSON Pointer into the request body. */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

/** The one error class that crosses edges. Adapters translate `code` by table; everything else is a bug and answers 500. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  /** More members of the problem document, e.g. the settled decision. */
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(
    code: ProblemCode,
    detail: string,
    options: { errors?: readonly FieldError[]; extra?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(detail, { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.errors = options.errors ?? [];
    this.extra = options.extra ?? {};
  }

  get status(): number {
    return problemCodes[this.code];
  }
}

/** RFC 9457 document. */
export function problemDocument(problem: Problem, instance?: string, traceId?: string): Record<string, unknown> {
  return {
    type: `urn:fluidbox:problem:${problem.code}`,
    title: problem.code.replaceAll('_', ' '),
    status: problem.status,
    detail: problem.message,
    code: problem.code,
    ...(instance === undefined ? {} : { instance }),
    ...(problem.errors.length === 0 ? {} : { errors: problem.errors }),
    ...(traceId === undefined ? {} : { trace_id: traceId }),
    ...problem.extra,
  };
}
