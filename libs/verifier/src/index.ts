export { type Finding, type KeySet, keySetOf, type Report, type Trust, type Verdict, verifyBundle } from './verify-bundle';
