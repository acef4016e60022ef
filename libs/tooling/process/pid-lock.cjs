// A lock file that names its holder. A holder that was killed leaves its file behind; the next one takes it over because pid and
// start time say that nobody holds it. The file appears by link(2), so it is never seen half written.
const { createHash, randomBytes } = require('node:crypto');
const fs = require('node:fs');
const { identify, isAlive } = require('./identity.cjs');

const CLAIM_MS_MAX = 5_000;

const pauseMs = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const read = (file) => {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
};

const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** link(2) as a test-and-set: false when the target exists. */
const linkOnce = (from, to) => {
  try {
    fs.linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST' || error.code === 'ENOENT') return false;
    throw error;
  }
};

// Only the one who links the claim may remove the dead holder's file; and only if what it linked is what it saw, so that a lock
// taken freshly in between is never removed.
function removeDead(file, seen) {
  const claim = `${file}.dead-${createHash('sha256').update(seen).digest('hex').slice(0, 16)}`;
  if (!linkOnce(file, claim)) {
    const age = Date.now() - (fs.statSync(claim, { throwIfNoEntry: false })?.ctimeMs ?? Date.now());
    if (age > CLAIM_MS_MAX) fs.rmSync(claim, { force: true });
    pauseMs(10);
    return;
  }
  if (read(claim) === seen) fs.rmSync(file, { force: true });
  fs.rmSync(claim, { force: true });
}

/** The living holder of a lock file, or undefined. */
function holderOf(file) {
  const text = read(file);
  const holder = text === undefined ? undefined : parse(text);
  return isAlive(holder) ? holder : undefined;
}

/** Takes the lock: `{release}`, or `{holder}` when a living process has it. `info` is stored beside pid and start time. */
function tryLock(file, info = {}) {
  // The id tells two locks of one process apart, should it take the second within the same millisecond.
  const id = randomBytes(6).toString('hex');
  const mine = JSON.stringify({ ...info, ...identify(), since: new Date().toISOString(), id });
  const draft = `${file}.draft-${id}`;
  fs.writeFileSync(draft, mine, { mode: 0o600 });
  try {
    for (;;) {
      if (linkOnce(draft, file)) {
        return {
          release: () => {
            if (read(file) === mine) fs.rmSync(file, { force: true });
          },
        };
      }
      const seen = read(file);
      if (seen === undefined) continue;
      const holder = parse(seen);
      if (isAlive(holder)) return { holder };
      removeDead(file, seen);
    }
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

module.exports = { holderOf, tryLock };
