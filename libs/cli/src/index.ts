export { CommandFailure } from './failure';
export { buildProgram } from './program';
