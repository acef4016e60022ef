import { runAgent } from '@fluidbox/runner-lib';
import { runCodex } from './run-codex';

void runAgent(runCodex);
