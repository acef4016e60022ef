import './home';
import { runAgent } from '@fluidbox/runner-lib';
import { runClaude } from './run-claude';

void runAgent(runClaude);
