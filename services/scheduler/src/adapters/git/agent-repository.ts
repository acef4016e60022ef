import fs from 'node:fs';
import path from 'node:path';
import { type BaseRepository, gitOptions, giveAway } from './base-repository';
import { runGit } from './git-runner';

const config = `[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
[user]
\tname = agent
\temail = agent@fluidbox.invalid
[gc]
\tauto = 0
`;

/**
 * Gives the agent a repository of its own in /workspace/.git, with the base as its one commit. It is a copy: from the moment the sandbox
 * starts it is hostile, and nothing of ours reads it again.
 */
export async function giveAgentRepository(base: BaseRepository, commit: string, workspace: string): Promise<void> {
  await runGit(['read-tree', '--end-of-options', commit], gitOptions(base));
  const gitDir = path.join(workspace, '.git');
  for (const folder of ['objects/pack', 'objects/info', 'refs/heads', 'refs/tags', 'info', 'hooks'])
    fs.mkdirSync(path.join(gitDir, folder), { recursive: true });
  fs.cpSync(path.join(base.gitDir, 'objects/pack'), path.join(gitDir, 'objects/pack'), { recursive: true });
  fs.renameSync(path.join(base.gitDir, 'index'), path.join(gitDir, 'index'));
  fs.writeFileSync(path.join(gitDir, 'HEAD'), 'ref: refs/heads/main\n');
  fs.writeFileSync(path.join(gitDir, 'config'), config);
  fs.writeFileSync(path.join(gitDir, 'refs/heads/main'), `${commit}\n`);
  if (base.uid !== null) giveAway(gitDir, base.uid);
}
