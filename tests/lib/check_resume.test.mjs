/* check_resume.test.mjs -- the checker of snapshots and tails accepts what is right and refuses what is not. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { checkStream } from './check.mjs';
import { checkPolls, checkTail, headOf, joined, numberOf, tailOf, writtenFrames } from './check_resume.mjs';
import { bytesOf, jsonOf, namesIn } from './data.mjs';

const linesOf = (...path) => bytesOf(...path).toString().trim().split('\n').map((line) => JSON.parse(line));

for (const name of namesIn('responses/polls', '.jsonl'))
    test(`accepts ${name}`, () => void checkPolls(linesOf('responses/polls', name)));

for (const name of namesIn('responses/polls/broken', '.jsonl'))
    test(`refuses ${name}`, () => void assert.throws(() => checkPolls(linesOf('responses/polls/broken', name))));

for (const name of ['response_queued', 'response_cancelled', 'response_failed_after_crash'])
    test(`accepts ${name}`, () => void checkPolls([jsonOf('responses', `${name}.json`)]));

const resumed = (name) => bytesOf('streams/resume', `${name}.sse`).toString();
const whole = resumed('whole');

test('accepts the tails of a stream, and what they make with its beginning', () => {
    checkTail(resumed('tail_after_12'), 12, whole);
    checkTail(resumed('tail_at_end'), 20, whole);
    checkStream(joined(resumed('cut_after_12'), resumed('tail_after_12')));
    assert.equal(headOf(whole, 12) + resumed('tail_after_12'), joined(resumed('cut_after_12'), resumed('tail_after_12')));
});

test('accepts every tail of every stream', () => {
    for (const name of namesIn('streams', '.sse').filter((name) => name.startsWith('background_'))) {
        const text = bytesOf('streams', name).toString();
        for (const n of [-1, ...writtenFrames(text).map(numberOf).filter(Number.isFinite)])
            checkTail(tailOf(text, n).map((frame) => `${frame}\n\n`).join(''), n, text);
    }
});

/* [what is wrong, the tail, as behind which event] */
for (const [what, text, n] of [
    ['one event too many', resumed('tail_after_12'), 13],
    ['one event too few', resumed('tail_after_12'), 11],
    ['no [DONE]', resumed('tail_after_12').replace('data: [DONE]\n\n', ''), 12],
    ['no terminal event', writtenFrames(resumed('tail_after_12')).filter((frame) => numberOf(frame) !== 20).map((frame) => `${frame}\n\n`).join(''), 12],
    ['a byte that differs', resumed('tail_after_12').replace('" two"', '" Two"').replace('three', 'Three'), 12],
    ['padding that the first stream had not', resumed('tail_after_12_obfuscated'), 12],
])
    test(`refuses a tail with ${what}`, () => void assert.throws(() => checkTail(text, n, whole)));
