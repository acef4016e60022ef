// A process is named by its pid and its start time: a pid alone is reused, and ending whoever has it now would end a stranger.
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');

// Ticks since boot repeat after a reboot, so the boot's own id belongs to the start time.
const bootId = () => {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8);
  } catch {
    return 'boot';
  }
};

const startTimeFromProc = (pid) => {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command name may hold spaces and brackets; the fields proper begin after its last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  return state === 'Z' || state === 'X' ? undefined : `${bootId()}:${fields[19]}`;
};

const startTimeFromPs = (pid) => {
  const out = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return out.trim() || undefined;
};

/** Opaque start time of a living process; undefined when there is none (a zombie counts as ended). */
function startTimeOf(pid) {
  try {
    return fs.existsSync('/proc/self/stat') ? startTimeFromProc(pid) : startTimeFromPs(pid);
  } catch {
    return undefined;
  }
}

/** The identity of a living process, this one unless told otherwise; undefined when it has ended. */
function identify(pid = process.pid) {
  const startTime = startTimeOf(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

/** Whether exactly that process, not a later one with its pid, still lives. */
function isAlive(identity) {
  return Boolean(identity?.startTime) && startTimeOf(identity.pid) === identity.startTime;
}

module.exports = { identify, isAlive, startTimeOf };
