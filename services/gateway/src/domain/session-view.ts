export { sessionView } from '@fluidbox/run-stream';
