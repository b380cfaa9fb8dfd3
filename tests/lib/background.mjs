/* background.mjs -- background responses and streams that go on elsewhere, as a client uses them (CONTRACT 4.8).
 *
 *     const { id } = await accepted(daemon, { input: 'Hi' }, captures);
 *     const response = await ended(daemon, id, captures);        // asks until it is over
 *     const tail = resume(daemon, id, { after: 12 });            // an exchange, see client.mjs
 *     const head = await cutAt(reader, 12);                      // has lost its connection at that event
 *
 * Every answer is kept for the validator, the snapshots of one response as a series.
 */
import assert from 'node:assert/strict';
import { checkPolls, isRunning } from './check_resume.mjs';
import { ask, get, open } from './client.mjs';
import { patience } from './patience.mjs';

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* How long to wait before asking again, by the age of a response that runs; none when it has ended. */
const WAITS = [['10s', 500], ['1min', 1000], ['10min', 2000], ['longer', 5000]];

/* An answer whose body shows a response: the header is there as long as that runs. */
export function checkShown(got) {
    assert.equal(got.status, 200, got.text);
    const wait = got.headers['openai-poll-after-ms'];
    if (isRunning(got.json))
        assert.ok(WAITS.some(([, ms]) => wait === String(ms)), `openai-poll-after-ms of a response that is ${got.json.status}: ${wait}`);
    else
        assert.equal(wait, undefined, `a response that is ${got.json.status} need not be asked for again`);
    return got.json;
}

/* A new background response, queued. */
export async function accepted(daemon, body, captures) {
    const got = await ask(daemon, { model: 'm', input: 'Hi', background: true, ...body });
    captures?.keep('accepted.json', got.bytes);
    const response = checkShown(got);
    assert.equal(response.status, 'queued');
    assert.equal(got.headers['openai-poll-after-ms'], '500', 'it is young');
    assert.equal(response.background, true);
    checkPolls([response]);
    return response;
}

/* Asks until the function is true of what is shown; gives all that was shown, the same in a row once. */
export async function snapshots(daemon, id, met, ms = 30_000) {
    const shown = [];
    for (const deadline = performance.now() + patience(ms); ; await pause(10)) {
        const got = await get(daemon, `/v1/responses/${id}`);
        const response = checkShown(got);
        if (shown.at(-1) !== got.text)
            shown.push(got.text);
        if (met(response))
            return shown;
        assert.ok(performance.now() < deadline, `${id} did not become as wanted; it was ${response.status}`);
    }
}

/* The response with this status, as soon as it has it. */
export async function become(daemon, id, status, ms) {
    const shown = await snapshots(daemon, id, (response) => response.status === status || !isRunning(response), ms);
    const response = JSON.parse(shown.at(-1));
    assert.equal(response.status, status, shown.at(-1));
    return response;
}

/* The response when it is over; it has then gone through its states in order. */
export async function ended(daemon, id, captures, ms) {
    const shown = await snapshots(daemon, id, (response) => !isRunning(response), ms);
    captures?.keep(`${id}.jsonl`, `${shown.join('\n')}\n`, '--kind', 'polls');
    return checkPolls(shown.map((text) => JSON.parse(text)));
}

export const cancel = (daemon, id) => ask(daemon, undefined, { path: `/v1/responses/${id}/cancel` });

/* ---- streams ---- */

/* A reader of the response's events behind one of them; all, when none is named. */
export function resume(daemon, id, { after, obfuscation } = {}) {
    const query = new URLSearchParams({
        stream: 'true',
        ...after !== undefined && { starting_after: after },
        ...obfuscation !== undefined && { include_obfuscation: obfuscation },
    });
    return open(daemon, undefined, { method: 'GET', path: `/v1/responses/${id}?${query}` });
}

/* Everything behind event n to the end. */
export async function tail(daemon, id, after) {
    const got = await resume(daemon, id, { after }).done;
    assert.equal(got.status, 200, got.text);
    return got.text;
}

/* The connection of a reader, closed as soon as it has all of event n. What it has of the stream by then. */
export async function cutAt(reader, n) {
    const mark = new RegExp(`"sequence_number":${n},[^\\n]*\\n\\n`);
    await reader.until(() => mark.test(reader.text), 30_000);
    reader.destroy();
    return reader.text;
}

/* The id of the response whose object or stream this is, as soon as it is there. */
export const idOf = (text) => text.match(/"id":"(resp_\w+)"/)?.[1];
