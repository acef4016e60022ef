import { homeFolder } from '@fluidbox/embedded';
import type { Finding } from './finding';
import { checkDisk, checkFolder, checkPorts, checkSecrets, checkStack } from './folder';
import { checkBubblewrap, checkCgroups, checkPlatform, checkSeccomp, checkUserNamespaces } from './isolation';
import { thisMachine } from './machine';
import { checkGit, checkNatsServer, checkNode, checkPostgres, checkRootTools } from './programs';

/** Looks at everything a stack and its sandboxes need, changes nothing. */
export async function examine(environment: Readonly<Record<string, string | undefined>>): Promise<Finding[]> {
  const machine = thisMachine(environment);
  const home = homeFolder(environment);
  return [
    checkNode(machine),
    checkPlatform(machine),
    checkGit(machine),
    checkPostgres(machine),
    checkNatsServer(machine),
    ...checkRootTools(machine),
    checkUserNamespaces(machine),
    checkBubblewrap(machine),
    checkSeccomp(machine),
    checkCgroups(machine),
    checkDisk(home),
    checkFolder(home),
    checkSecrets(home),
    await checkStack(home),
    await checkPorts(home),
  ];
}
