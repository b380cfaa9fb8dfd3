/* check.mjs -- does an answer keep the promises of the contract?
 *
 * Two judges. A small one in here always runs: framing, numbering, that
 * everything announced is closed, that done events repeat their deltas and the
 * final response repeats the items. The big one is the contract's own
 * `validate` (schemas and all rules); it is used when it can be found, on all
 * captures of a test file at once because starting it costs more than running it.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ROOT } from './daemon.mjs';

/* ---- frames ---- */

const FRAME = /^event: (\S+)\ndata: (.+)$/;

/* Frames of a stream: { type, event } with comments left out, [DONE] included. */
export function framesOf(text) {
    assert.ok(!text.includes('\r'), 'lines end with LF only');
    assert.ok(text === '' || text.endsWith('\n\n'), `the last frame is whole: ${JSON.stringify(text.slice(-80))}`);
    return text.split('\n\n').slice(0, -1).filter((frame) => !frame.startsWith(':')).map((frame) => {
        if (frame === 'data: [DONE]')
            return { type: '[DONE]' };
        const match = frame.match(FRAME);
        assert.ok(match, `one event line, one data line: ${JSON.stringify(frame)}`);
        const event = JSON.parse(match[2]);
        assert.equal(event.type, match[1], 'the event line names the type of its data');
        return { type: event.type, event };
    });
}

/* ---- one stream ---- */

const TERMINAL = { 'response.completed': 'completed', 'response.incomplete': 'incomplete', 'response.failed': 'failed' };

/* delta event -> [where its text accumulates, done event, field of the done event] */
const STREAMED = {
    'response.output_text.delta': ['content', 'response.output_text.done', 'text'],
    'response.refusal.delta': ['content', 'response.refusal.done', 'refusal'],
    'response.reasoning_text.delta': ['content', 'response.reasoning_text.done', 'text'],
    'response.reasoning.delta': ['content', 'response.reasoning.done', 'text'],
    'response.reasoning_summary_text.delta': ['summary', 'response.reasoning_summary_text.done', 'text'],
    'response.function_call_arguments.delta': ['call', 'response.function_call_arguments.done', 'arguments'],
    'response.mcp_call_arguments.delta': ['call', 'response.mcp_call_arguments.done', 'arguments'],
    'response.custom_tool_call_input.delta': ['call', 'response.custom_tool_call_input.done', 'input'],
};

/* What the gateway runs: the events of an item's life in their order, and which of them stand
 * for how it closes. */
const HOSTED = {
    mcp_call: {
        begins: ['response.mcp_call.in_progress'],
        before: 'response.mcp_call_arguments.done',
        ends: { completed: 'response.mcp_call.completed', failed: 'response.mcp_call.failed' },
        status: (item) => item.status,
    },
    mcp_list_tools: {
        begins: ['response.mcp_list_tools.in_progress'],
        ends: { completed: 'response.mcp_list_tools.completed', failed: 'response.mcp_list_tools.failed' },
        status: (item) => (item.error === undefined ? 'completed' : 'failed'),
    },
    compaction: {
        begins: ['response.compaction.compacting'],
        ends: {},
        status: () => 'completed',
    },
};
/* What the ids of items that a gateway makes begin with. */
const PREFIX = {
    message: 'msg_', reasoning: 'rs_', function_call: 'fc_', custom_tool_call: 'ctc_', mcp_call: 'mcp_', mcp_list_tools: 'mcpl_',
    mcp_approval_request: 'mcpr_', web_search_call: 'ws_', code_interpreter_call: 'ci_', compaction: 'cmp_',
};
const MARKS = new Set(Object.values(HOSTED).flatMap(({ begins, ends }) => [...begins, ...Object.values(ends)]));
const IDS = ['item_id', 'output_index', 'sequence_number', 'type'];

const DONE = Object.fromEntries(Object.values(STREAMED).map(([where, done, field]) => [done, [where, field]]));

const slot = (event, where) => `${event.item_id} ${where} ${event.content_index ?? event.summary_index ?? 0}`;

/* Items as a stream builds them up; every step insists on the order of events. */
class Items {
    added = [];
    closed = [];
    #open = new Map();
    #texts = new Map();
    #marks = new Map();
    #interleaved; /* calls may be open side by side */
    #reasoning; /* which of the two names its reasoning events have: that of Open Responses is '' */

    constructor(interleaved) {
        this.#interleaved = interleaved;
    }

    take(event) {
        if (event.type === 'response.output_item.added')
            this.#add(event);
        else if (event.type === 'response.output_item.done')
            this.#close(event);
        else if (event.item_id !== undefined)
            this.#within(event);
    }

    #add({ item, output_index }) {
        assert.equal(output_index, this.added.length, 'output_index counts announced items');
        assert.ok(this.#interleaved || this.#open.size === 0, 'an item is done before the next is announced');
        assert.ok(!this.added.some((other) => other.id === item.id), `item id ${item.id} is new`);
        assert.ok(item.status === undefined || item.status === 'in_progress', 'announced items are in progress');
        assert.ok(item.id.startsWith(PREFIX[item.type] ?? ''), `${item.id} is an id of a ${item.type}`);
        assert.equal(item.tools?.length ?? 0, 0, 'a listing is announced empty');
        this.added.push(item);
        this.#open.set(item.id, output_index);
        this.#marks.set(item.id, []);
    }

    #close({ item, output_index }) {
        assert.equal(this.#open.get(item.id), output_index, `item ${item.id} closes once, where it was announced`);
        this.#open.delete(item.id);
        this.closed[output_index] = item;
        if (item.type in HOSTED)
            this.#closeHosted(item, HOSTED[item.type]);
    }

    /* An approved call has its arguments from the beginning. */
    #closeHosted(item, { begins, before, ends, status }) {
        const { arguments: known } = this.added.find(({ id }) => id === item.id);
        const end = ends[status(item)];
        const wanted = [...begins, ...(before !== undefined && !known ? [before] : []), ...(end === undefined ? [] : [end])];
        assert.deepEqual(this.#marks.get(item.id), wanted, `the life of ${item.type} ${item.id}`);
    }

    #oneName(type) {
        const named = /^response\.reasoning(_text)?\.(?:delta|done)$/.exec(type);
        if (named === null)
            return;
        this.#reasoning ??= named[1] ?? '';
        assert.equal(named[1] ?? '', this.#reasoning, 'a stream has one name for its reasoning events');
    }

    #within(event) {
        assert.equal(this.#open.get(event.item_id), event.output_index, `${event.type} belongs to an open item`);
        if (MARKS.has(event.type))
            assert.deepEqual(Object.keys(event).sort(), IDS, `${event.type} has nothing but ids`);
        if (MARKS.has(event.type) || event.type === HOSTED.mcp_call.before)
            this.#marks.get(event.item_id).push(event.type);
        this.#oneName(event.type);
        if (event.type in STREAMED) {
            const key = slot(event, STREAMED[event.type][0]);
            assert.notEqual(event.delta, '', 'no empty delta');
            this.#texts.set(key, (this.#texts.get(key) ?? '') + event.delta);
        } else if (event.type in DONE) {
            const [where, field] = DONE[event.type];
            assert.equal(event[field], this.#texts.get(slot(event, where)) ?? '', `${event.type} repeats its deltas`);
        }
    }

    allClosed() {
        assert.deepEqual([...this.#open.keys()], [], 'nothing is left open');
    }
}

/* How a stream begins: that of a background response says first that it waits (CONTRACT 4.8). */
const beginningOf = (first) => ['response.created', ...first?.response?.background ? ['response.queued'] : [], 'response.in_progress'];

/* Checks a whole stream; gives { events, response, items, types }. With
 * `partial` the end may be missing, as after a client that went away. */
export function checkStream(text, { partial = false, interleaved = false } = {}) {
    const whole = partial ? text.slice(0, text.lastIndexOf('\n\n') + 2) : text;
    const frames = framesOf(whole);
    const events = frames.filter((f) => f.event).map((f) => f.event);
    const items = new Items(interleaved);

    events.forEach((event, i) => {
        assert.equal(event.sequence_number, i, 'sequence numbers rise by one from 0');
        assert.ok(event.type === 'error' || event.error === undefined, 'only error events have a top-level error');
        items.take(event);
    });
    const types = events.map((e) => e.type);
    const beginning = beginningOf(events[0]);
    assert.deepEqual(types.slice(0, beginning.length), partial ? beginning.slice(0, types.length) : beginning);
    beginning.forEach((type, i) => events[i] && checkSnapshot(type, events[i].response));
    if (partial)
        return { events, types, items: items.closed };

    items.allClosed();
    assert.deepEqual(frames.slice(-1).map((f) => f.type), ['[DONE]'], '[DONE] is the last frame');
    assert.equal(frames.filter((f) => f.type === '[DONE]').length, 1);
    assert.equal(types.filter((type) => type in TERMINAL).length, 1, 'one terminal event');
    assert.ok(types.filter((type) => type === 'error').length <= 1, 'at most one error event');
    const { type, response } = events.at(-1);
    assert.equal(response?.status, TERMINAL[type], 'the terminal event is the last one and fits its status');
    assert.equal(response.id, events[0].response.id);
    assert.deepEqual(response.output, items.closed, 'the response repeats its items as they were closed');
    if (type === 'response.failed')
        checkFailure(events.at(-2), response);
    return { events, types, response, items: items.closed };
}

/* What the first events show of the response. */
function checkSnapshot(type, { status, background, output, usage }) {
    const isQueued = background && type !== 'response.in_progress';
    assert.equal(status, isQueued ? 'queued' : 'in_progress', `the status in ${type}`);
    assert.deepEqual([output, usage], [[], null], `${type} has neither output nor usage`);
}

function checkFailure(error, response) {
    assert.equal(error.type, 'error', 'an error event comes right before response.failed');
    assert.equal(error.code, response.error.code);
    assert.equal(error.message, response.error.message);
    assert.deepEqual(Object.keys(error.error).sort(), ['code', 'message', 'param', 'type']);
}

/* ---- bodies ---- */

/* An HTTP error: the body of CONTRACT 7.1 and the headers every answer has. */
export function checkError(answer, status, code, param) {
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.headers['content-type'], /^application\/json/);
    assert.ok(answer.headers['x-request-id'], 'x-request-id is there');
    const { error } = answer.json;
    assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type']);
    assert.ok(error.message.length > 0 && typeof error.type === 'string');
    if (status === 429 || status === 503)
        assert.match(answer.headers['retry-after'] ?? '', /^\d+$/, 'Retry-After is there');
    if (code !== undefined)
        assert.equal(error.code, code, answer.text);
    if (param !== undefined)
        assert.equal(error.param, param, answer.text);
    return error;
}

/* What a client gets out of a response, in the words of upstream/EXPECT.json. */
export function readingOf(response) {
    const parts = (type) => response.output.flatMap((item) => item.content ?? []).filter((part) => part.type === type);
    const join = (list, field) => list.map((part) => part[field]).join('');
    const summaries = response.output.flatMap((item) => item.summary ?? []);
    const u = response.usage;
    return {
        text: join(parts('output_text'), 'text'),
        refusal: join(parts('refusal'), 'refusal'),
        reasoning: join(parts('reasoning_text'), 'text') + join(summaries, 'text'),
        tool_calls: response.output.filter((item) => item.type === 'function_call')
            .map(({ call_id, name, arguments: args }) => ({ id: call_id, name, arguments: args })),
        terminal: response.status,
        usage: u && {
            input: u.input_tokens,
            output: u.output_tokens,
            cached: u.input_tokens_details.cached_tokens,
            reasoning: u.output_tokens_details.reasoning_tokens,
        },
    };
}

/* That reading, compared. A call id that the upstream did not give stands as
 * null on the side of what is wanted; it must have been generated. */
export function checkReading(got, want) {
    const generated = got.tool_calls.filter((call, i) => want.tool_calls[i]?.id === null);
    for (const call of generated) {
        assert.match(call.id, /^call_[0-9A-Za-z]{24,}$/);
        call.id = null;
    }
    assert.deepEqual(got, want);
}

/* ---- the contract's validator ---- */

const VALIDATE = [process.env.CONTRACT_VALIDATE, resolve(ROOT, '../shared/contract/validate')]
    .find((path) => path && existsSync(path));

/* One set of captures: keep() them while testing, judge() them in a last test. */
export class Captures {
    #kept = [];

    keep(name, bytes, ...flags) {
        this.#kept.push({ name: name.replace(/[^\w.-]+/g, '_').slice(0, 100), bytes, flags });
    }

    judge(test) {
        test('all captures pass the contract validator', (t) => {
            if (VALIDATE === undefined)
                return t.skip('contract validator not found: set CONTRACT_VALIDATE to its path');
            if (this.#kept.length === 0)
                return t.skip('nothing was captured');
            t.diagnostic(`${this.#kept.length} captures`);
            return this.#run();
        });
    }

    async #run() {
        const dir = mkdtempSync(join(tmpdir(), 'antiphon-captures-'));
        const groups = new Map();
        this.#kept.forEach(({ name, bytes, flags }, i) => {
            const path = join(dir, `${String(i).padStart(4, '0')}_${name}`);
            writeFileSync(path, bytes);
            const group = flags.join(' ');
            groups.set(group, [...groups.get(group) ?? [], path]);
        });
        let found = '';
        for (const [flags, paths] of groups)
            found += await validate(flags === '' ? [] : flags.split(' '), paths);
        if (found !== '')
            assert.fail(`captures are in ${dir}\n${found.slice(0, 12_000)}`);
        rmSync(dir, { recursive: true });
    }
}

const validate = (flags, paths) => new Promise((done) => {
    execFile('python3', [VALIDATE, ...flags, ...paths], { maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
        done(error ? stdout + stderr || String(error) : ''));
});
