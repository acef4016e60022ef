import { harnesses } from '@fluidbox/contracts';
import { type Command, Option } from 'commander';
import { type AgentOptions, createAgentCommand, listAgentsCommand, reviseAgentCommand } from './agents';
import { call } from './calling';
import { withJson } from './options';

const withAgentOptions = (command: Command): Command =>
  withJson(command)
    .option('--description <text>', 'what it is for')
    .option('--harness <id>', `program that drives it: ${Object.keys(harnesses).join(', ')} (default: claude-agent-sdk)`)
    .option('--model <model>', 'model it talks to (default: the harness’s own)')
    .option('--policy <name>', 'policy that decides its calls (default: default)')
    .option('--system-prompt <text>', 'instructions before every task')
    .addOption(new Option('--tier <tier>', 'trust tier (default: trusted)').choices(['trusted', 'read_only']));

export function registerAgents(program: Command): void {
  const agent = program.command('agent').description('agents and their revisions');
  withAgentOptions(agent.command('create'))
    .description('make an agent')
    .requiredOption('--name <name>', 'name to run it by')
    .action((options: Parameters<typeof createAgentCommand>[1] & { json?: boolean }) =>
      call(options.json, (api, output) => createAgentCommand(api, options, output)),
    );
  withAgentOptions(agent.command('revise <name>'))
    .description('add a revision; what is left out stays as it is, runs that exist keep theirs')
    .action((name: string, options: AgentOptions & { json?: boolean }) =>
      call(options.json, (api, output) => reviseAgentCommand(api, name, options, output)),
    );
  withJson(agent.command('list'))
    .description('agents, each in its newest revision')
    .action((options: { json?: boolean }) => call(options.json, listAgentsCommand));
}
