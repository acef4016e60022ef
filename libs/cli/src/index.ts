export { ApiClient, ApiError } from './api/client';
export { CommandFailure } from './failure';
export { buildProgram } from './program';
