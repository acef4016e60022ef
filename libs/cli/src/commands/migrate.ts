import { folderHolder, homeFolder, homeLayout, liveStack, migrateFolder } from '@fluidbox/embedded';
import type { Command } from 'commander';
import { CommandFailure } from '../failure';
import { print, say } from '../output';
import { stackOptions } from '../stack-options';

export function registerMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the database of this folder to the schema of this version (up does the same at its start)')
    .action(async () => {
      const home = homeFolder();
      const layout = homeLayout(home);
      const holder = folderHolder(layout);
      if (holder && (await liveStack(layout.upFile))) {
        throw new CommandFailure(`the stack of process ${holder.pid} is running and has migrated at its start; stop it to migrate again`);
      }
      const { migrate } = stackOptions(home);
      const applied = await migrateFolder({ home, migrate, say });
      print(applied.length === 0 ? 'the schema is current' : `applied ${applied.join(', ')}`);
    });
}
