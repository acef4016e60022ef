import { runAgent } from '@fluidbox/runner-lib';
import { runScript } from './run-script';

void runAgent(runScript);
