import type { Command } from 'commander';
import { examine } from '../doctor/examine';
import { isHealthy, reportLines } from '../doctor/report';
import { print, printJson } from '../output';

export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('name everything that is missing or wrong on this machine, with the exact fix; exit 1 when something required is missing')
    .option('--json', 'print one JSON object')
    .action(async ({ json }: { json?: boolean }) => {
      const findings = await examine(process.env);
      if (json === true) printJson({ ok: isHealthy(findings), findings });
      else for (const line of reportLines(findings)) print(line);
      process.exitCode = isHealthy(findings) ? 0 : 1;
    });
}
