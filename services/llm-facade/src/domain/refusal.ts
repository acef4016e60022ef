import { type ProblemCode, staleLeaseBody, wrongAudienceBody } from '@fluidbox/contracts';

/**
 * An answer of the facade itself instead of the model's. `wrong_audience` and `stale_lease` have one exact body for every dialect, because
 * runners recognise them by it; the others are written in the dialect's own shape.
 */
export interface Refusal {
  readonly status: number;
  readonly code: ProblemCode;
  readonly message: string;
  /** What the provider's SDK asks before it tries again. */
  readonly retry: 'never' | { readonly afterSecs: number };
  readonly exactBody?: string;
}

const never = (status: number, code: ProblemCode, message: string): Refusal => ({ status, code, message, retry: 'never' });

export const refusals = {
  unauthorized: (message: string) => never(401, 'unauthorized', message),
  wrongAudience: (): Refusal => ({ ...never(403, 'wrong_audience', 'wrong audience'), exactBody: wrongAudienceBody }),
  staleLease: (): Refusal => ({ ...never(409, 'stale_lease', 'stale lease'), exactBody: staleLeaseBody }),
  notActive: () => never(403, 'run_not_active', 'session is not active'),
  /** Both SDKs stop at a 429 that says so; without `x-should-retry` they would try again for minutes. */
  /** `budget`: a kind, or the key of an account that the session shares with others. */
  budgetExhausted: (budget: string) => {
    const name = budget.includes(' of ') ? budget : `the ${budget} budget of this session`;
    return never(429, 'budget_exhausted', `budget_exhausted: ${name} is spent; stop and report a result`);
  },
  accountExhausted: (scope: string, period: string) =>
    never(
      429,
      'budget_exhausted',
      `budget_exhausted: the budget of ${scope === 'org' ? 'the organisation' : scope} (${period}) is spent; stop and report a result`,
    ),
  guardTripped: (count: number) =>
    never(403, 'run_not_active', `guard_tripped: ${count} answers of the model in a row brought no progress; the session ends`),
  budgetReserved: (): Refusal => ({
    status: 503,
    code: 'budget_reserved',
    message: 'budget_reserved: what is left of the budget is reserved by requests that are still running; try again',
    retry: { afterSecs: 2 },
  }),
  noSuchPath: (path: string) => never(404, 'not_found', `no such path: ${path}`),
  tooLarge: (bytesMax: number) => never(413, 'payload_too_large', `request body: at most ${bytesMax} bytes`),
  compressed: (encoding: string) =>
    never(415, 'unsupported_media_type', `content-encoding: ${encoding} cannot be read here; send the body as it is`),
  invalid: (message: string) => never(422, 'unprocessable', message),
  unknownPrice: (model: string) =>
    never(
      422,
      'unknown_model_price',
      `model: ${model} has no price in the table this session was frozen with, and its cost budget could not bind`,
    ),
  coverageGap: (message: string) => never(403, 'run_not_active', message),
  upstreamUnavailable: (message: string): Refusal => ({ status: 502, code: 'unavailable', message, retry: { afterSecs: 2 } }),
  upstreamUnusable: (message: string) => never(502, 'unavailable', message),
  noProviderKey: (variable: string) => never(503, 'unavailable', `this deployment has no key of the model provider: set ${variable}`),
  sealedKey: (name: string) =>
    never(503, 'unavailable', `the key of the upstream ${name} cannot be opened by this deployment; an admin must set it again`),
  unavailable: (message: string): Refusal => ({ status: 503, code: 'unavailable', message, retry: { afterSecs: 2 } }),
} as const;

export function refusalHeaders({ retry }: Refusal): Record<string, string> {
  return retry === 'never' ? { 'x-should-retry': 'false' } : { 'x-should-retry': 'true', 'retry-after': String(retry.afterSecs) };
}

/** Carries a refusal to the edge. */
export class ModelRequestRefused extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.message);
    this.name = 'ModelRequestRefused';
  }
}
