// fast-check as tests get it: the same inputs every time, so that what is green stays green and what is red can be looked at again.
// FLUIDBOX_PROPERTY_SEED looks elsewhere: a number, or `random`.

const fc = require('../../node_modules/fast-check/lib/cjs/fast-check.js');

const chosen = process.env.FLUIDBOX_PROPERTY_SEED ?? '20261129';
fc.configureGlobal(chosen === 'random' ? {} : { seed: Number(chosen) });

module.exports = fc;
