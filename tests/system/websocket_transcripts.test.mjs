/* websocket_transcripts.test.mjs -- the contract's conversations over WebSocket, played again: the client
 * says what it says there, the upstream what the answers there are made of, and what the gateway says
 * must be the same, but for ids and times, on each lane (CONTRACT 6.3). */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { shared } from '../lib/daemon.mjs';
import { bytesOf, namesIn } from '../lib/data.mjs';
import { CLOSE, chunk, frames, stream } from '../lib/upstream.mjs';
import { webSocket } from '../lib/websocket.mjs';

const captures = new Captures();
const ENDS = ['error', 'response.completed', 'response.incomplete', 'response.failed'];
const laneOf = (message) => message.stream_id ?? '';

/* The chunks from which the events of a response come. */
function upstreamOf(events) {
    const said = events.flatMap(({ type, delta, item }) => {
        if (type === 'response.output_text.delta')
            return [chunk({ content: delta })];
        if (type === 'response.output_item.added' && item.type === 'function_call')
            return [chunk({ tool_calls: [{ index: 0, id: item.call_id, type: 'function', function: { name: item.name, arguments: '' } }] })];
        if (type === 'response.function_call_arguments.delta')
            return [chunk({ tool_calls: [{ index: 0, function: { arguments: delta } }] })];
        return [];
    });
    const calls = events.some(({ item }) => item?.type === 'function_call');
    const end = events.at(-1).type === 'response.failed' ? [CLOSE] : frames(chunk({}, calls ? 'tool_calls' : 'stop'), '[DONE]');
    return stream([...frames(...said), ...end]);
}

/* What of a message says how the conversation goes. */
function gistOf({ type, sequence_number, stream_id, output_index, delta, status, error, response }) {
    return {
        type, sequence_number, stream_id, output_index, delta, status, code: error?.code, param: error?.param,
        response: response && { status: response.status, output: response.output.map((item) => item.type), error: response.error?.code },
    };
}

/* The lines, and for each create what was said to it, in the order of its lane. */
function read(name) {
    const lines = bytesOf('websocket', name).toString().trimEnd().split('\n').map((line) => JSON.parse(line));
    const creates = [];
    const open = new Map();
    for (const { dir, frame } of lines) {
        if (dir === 'in')
            creates.push({ frame, said: [] });
        const lane = frame && laneOf(frame);
        if (dir !== 'out')
            continue;
        if (!open.has(lane))
            open.set(lane, creates.find((c) => laneOf(c.frame) === lane && c.said.length === 0));
        open.get(lane).said.push(frame);
        if (ENDS.includes(frame.type))
            open.delete(lane);
    }
    return { lines, creates };
}

const lastSaid = (input) => (typeof input === 'string' ? input : input.at(-1)?.output ?? input.at(-1)?.content?.[0].text);

describe('the transcript', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    for (const name of namesIn('websocket', '.jsonl')) {
        test(name, async (t) => {
            const { lines, creates } = read(name);
            const ws = await webSocket(t, both.daemon, { captures });
            const ids = new Map(); /* theirs to ours */
            const taken = new Map();
            both.up.always(({ body }) => {
                const last = body.messages.at(-1).content;
                return upstreamOf(creates.find((c) => lastSaid(c.frame.input) === last).said);
            });
            for (const { dir, frame } of lines) {
                if (dir === 'in') {
                    const previous = frame.previous_response_id;
                    ws.say(previous === undefined ? frame : { ...frame, previous_response_id: ids.get(previous) });
                } else if (dir === 'out') {
                    const lane = laneOf(frame), n = taken.get(lane) ?? 0;
                    const said = () => ws.messages.filter((m) => laneOf(m) === lane)[n];
                    await ws.until(() => said() !== undefined, `${frame.type} on lane ${lane}`);
                    taken.set(lane, n + 1);
                    assert.deepEqual(gistOf(said()), gistOf(frame));
                    if (frame.type === 'response.created')
                        ids.set(frame.response.id, said().response.id);
                }
            }
        });
    }

    captures.judge(test);
});
