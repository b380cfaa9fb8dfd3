/* check_resume.mjs -- what is read of a response that is not over, or was read before: snapshots that
 * GET gives one after the other, and the rest of a stream from an event on (CONTRACT 4.8).
 *
 *     checkPolls(bodies)                      oldest first; gives the last one
 *     checkTail(text, n)                      a stream from the event after n to its end
 *     checkTail(text, n, whole)               and its events are those of the whole one, byte for byte
 *     joined(head, tail)                      what two readers have seen of one stream, for checkStream()
 */
import assert from 'node:assert/strict';
import { framesOf } from './check.mjs';

/* ---- snapshots ---- */

const RUNNING = ['queued', 'in_progress'];
const TERMINAL = ['completed', 'incomplete', 'failed', 'cancelled'];

export const isRunning = ({ status }) => RUNNING.includes(status);

/* Members that may differ while a response runs; all others are the request's. */
const CHANGING = ['status', 'output', 'usage', 'completed_at', 'error', 'incomplete_details', 'service_tier'];

const echoOf = (response) => Object.fromEntries(Object.entries(response).filter(([name]) => !CHANGING.includes(name)));

/* Which members belong to which status. */
function checkStatus({ status, output, usage, error, incomplete_details, completed_at }) {
    assert.ok([...RUNNING, ...TERMINAL].includes(status), `status ${status}`);
    if (RUNNING.includes(status))
        assert.deepEqual([output, usage], [[], null], `a response that is ${status} has neither output nor usage`);
    assert.equal(error !== null, status === 'failed', `error does not fit ${status}`);
    assert.equal(incomplete_details !== null, status === 'incomplete', `incomplete_details do not fit ${status}`);
    assert.equal(completed_at !== null, status === 'completed', `completed_at does not fit ${status}`);
    for (const item of status === 'completed' ? output : [])
        assert.notEqual(item.status, 'incomplete', 'a completed response has no item that was broken off');
}

export function checkPolls(bodies) {
    bodies.forEach((body, i) => {
        const before = bodies[i - 1] ?? body;
        checkStatus(body);
        assert.deepEqual(echoOf(body), echoOf(before), 'what was asked for never changes');
        if (!isRunning(before))
            assert.deepEqual(body, before, 'a response that has ended never changes');
        if (before.status === 'in_progress')
            assert.notEqual(body.status, 'queued', 'what has begun does not wait again');
    });
    return bodies.at(-1);
}

/* ---- tails ---- */

/* Frames as they were written, comments left out. */
export const writtenFrames = (text) => text.split('\n\n').slice(0, -1).filter((frame) => !frame.startsWith(':'));

const NUMBER = /^event: .*\ndata: \{"type":"[^"]+","sequence_number":(\d+)/;

/* The number of a frame; Infinity of [DONE], which ends every stream. */
export const numberOf = (frame) => (frame === 'data: [DONE]' ? Infinity : Number(frame.match(NUMBER)?.[1] ?? assert.fail(`no number in ${frame}`)));

/* The events behind n, and [DONE]. */
export const tailOf = (whole, n) => writtenFrames(whole).filter((frame) => numberOf(frame) > n);

/* The first frames up to event n, as a client has them whose connection broke behind it. */
export const headOf = (whole, n) => writtenFrames(whole).filter((frame) => numberOf(frame) <= n).map((frame) => `${frame}\n\n`).join('');

const ENDS = ['response.completed', 'response.incomplete', 'response.failed'];

export function checkTail(text, n, whole) {
    const frames = framesOf(text);
    const events = frames.filter((frame) => frame.event).map((frame) => frame.event);
    assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, i) => n + 1 + i), `events count on from ${n}`);
    assert.deepEqual(frames.filter(({ type }) => type === '[DONE]').length, 1, '[DONE] ends the stream once');
    assert.equal(frames.at(-1).type, '[DONE]', '[DONE] is the last frame');
    if (whole === undefined && events.length === 0)
        return events; /* there was nothing behind n */
    events.forEach(({ type }, i) => assert.equal(ENDS.includes(type), i === events.length - 1, `${type} where a terminal event belongs, or not`));
    if (whole !== undefined)
        assert.deepEqual(writtenFrames(text), tailOf(whole, n), 'the same bytes as in the first stream');
    return events;
}

/* The frames of a stream that broke, the last one maybe cut, and those that a second reader got. */
export const joined = (head, tail) => head.slice(0, head.lastIndexOf('\n\n') + 2) + tail;
