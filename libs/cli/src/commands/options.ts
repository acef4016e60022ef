import type { Command } from 'commander';

export const withJson = (command: Command): Command => command.option('--json', 'machine-readable output');
