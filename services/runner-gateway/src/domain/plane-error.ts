import { Problem, staleLeaseBody } from '@fluidbox/contracts';

export interface PlaneError {
  readonly status: number;
  readonly body: string;
}

/** Errors of this plane are `{"error": "<code or text>"}`: runners of any make read one field. */
export function planeErrorOf(problem: Problem): PlaneError {
  switch (problem.code) {
    case 'stale_lease':
      return { status: 409, body: staleLeaseBody };
    // An older word of the contract, and the status on which runners stop renewing.
    case 'run_not_active':
      return { status: 400, body: error('session is not active') };
    // What is wrong is the runner's own request, so it is told what.
    case 'unprocessable':
    case 'invalid_request':
      return { status: problem.status, body: error(problem.message) };
    default:
      return { status: problem.status, body: error(problem.code) };
  }
}

const error = (text: string): string => JSON.stringify({ error: text });

/** Inactive runs get their denial of a permission as an answer, of everything else as this error. */
export const notActive = new Problem('run_not_active', 'session is not active');
