/* compaction.test.mjs -- a long context is replaced by a summary that the model writes (CONTRACT 13): asked
 * for by an item, by the endpoint of its own, or before a round that would have been too long. What was
 * known before is in what the upstream gets afterwards, and what fails loses nothing. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { pair, shared, startDaemon, successors } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, flowOf, gateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { Api, assistant, calling, fn, messagesOf, NO_CONVERSATION, NO_PARENT, output, reference, system, toolResult, user } from '../lib/state.mjs';
import { CLOSE, HANG, SILENCE, callStream, chunk, failure, frames, json, startUpstream, stream, textStream, usageChunk } from '../lib/upstream.mjs';
import { webSocket } from '../lib/websocket.mjs';

const captures = new Captures();
const QUESTION = 'Everything above is about to be replaced by a summary that you write now.';
const UNCOUNTED = ['--count-by', 'off']; /* tokens are four bytes each */
const TRIGGER = { type: 'compaction_trigger' };
const FACTS = 'Goal: ship parser 2.1.\nDone: wrote /srv/parser/lexer.c, chose the flat table.\nOpen: call c7 waits.';
const FRAMED = `[The conversation up to here was replaced by this summary, which you wrote. The user's messages above it are
theirs. Go on from it without mentioning it.]

${FACTS}`;
const LONG = 'The tokens of the grammar are listed here. '.repeat(150); /* about 1,600 tokens */
const SAID = [user('Write the lexer.'), assistant('Written to /srv/parser/lexer.c.'), user('Now the parser.')];
const message = ({ role, content }) => ({ type: 'message', role, content });
const managed = (compact_threshold) => ({ context_management: [{ type: 'compaction', compact_threshold }] });

const isQuestion = ({ body }) => body.messages.at(-1).content?.startsWith?.(QUESTION) ?? false;
const questions = (up) => up.requests.filter(isQuestion);
const kindsOf = ({ output }) => output.map(({ type }) => type);
const lastOf = (up) => up.requests.at(-1).body;

/* The upstream summarizes when it is asked to, and says Hello else. */
const summarizes = (up, text = FACTS, say = 'Hello') => up.always((request) => textStream(isQuestion(request) ? text : say));

/* ---- asked for by an item ---- */

for (const streamed of [false, true])
    describe(`a compaction_trigger, ${streamed ? 'streamed' : 'not streamed'}`, { concurrency: false }, () => {
        const both = shared({ before, beforeEach, after }, ...UNCOUNTED);
        const api = () => new Api(both, captures);
        const respond = async (more) => (streamed ? (await api().stream(more)).response : api().respond(more));
        const trigger = (more = {}) => respond({ store: false, input: [...SAID, TRIGGER], ...more });
        beforeEach(() => summarizes(both.up));

        test('gets its item and nothing else', async () => {
            const response = await trigger();
            assert.equal(response.status, 'completed');
            assert.deepEqual(Object.keys(response.output[0]).sort(), ['encrypted_content', 'id', 'type']);
            assert.equal(response.output.length, 1);
            assert.match(response.output[0].id, /^cmp_/);
            assert.match(response.output[0].encrypted_content, /^gw1\.[\w-]{60,}$/);
            assert.equal(both.up.requests.length, 1);
            assert.deepEqual(response.usage.input_tokens, 9, 'the summary is paid for');
        });

        test('asks with the same bytes as the next round would have, and a question behind them', async () => {
            const more = { tools: [fn('run')], instructions: 'Be brief.', reasoning: { effort: 'low' }, temperature: 0.5 };
            await trigger({ ...more, tool_choice: 'auto' });
            await respond({ ...more, store: false, input: SAID });
            const [question, round] = both.up.requests;
            const prefix = (raw) => raw.toString().slice(0, raw.toString().indexOf('Now the parser.'));
            assert.equal(prefix(question.raw), prefix(round.raw));
            assert.deepEqual(question.body.tools, round.body.tools);
            assert.equal(question.body.reasoning_effort, 'low');
            assert.equal(question.body.tool_choice, undefined);
            assert.equal(question.body.messages.length, round.body.messages.length + 1);
            assert.ok(isQuestion(question));
            assert.match(question.body.messages.at(-1).content, /the tools, the user's messages and this summary/);
            assert.equal(question.body.max_tokens, 4096);
        });

        test('ignores what has no say in a summary', async () => {
            await trigger({
                text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' } } }, include: ['message.output_text.logprobs'],
                tool_choice: 'required', tools: [fn('run')], max_tool_calls: 1, ...managed(1000), max_output_tokens: 1500,
            });
            const { body } = both.up.requests[0];
            for (const member of ['response_format', 'logprobs', 'tool_choice'])
                assert.equal(body[member], undefined, member);
            assert.equal(body.max_tokens, 1500, 'never more than the client allows');
        });

        test('is continued by a client that keeps the messages of the user', async () => {
            const { output: [item] } = await trigger();
            await respond({ store: false, input: [SAID[0], SAID[2], item, user('Go on.')] });
            assert.deepEqual(messagesOf(both.up), [SAID[0], SAID[2], user(FRAMED), user('Go on.')]);
            await respond({ store: false, input: [SAID[0], { ...item, id: null, created_by: 'me' }] });
            assert.deepEqual(messagesOf(both.up), [SAID[0], user(FRAMED)]);
        });

        test('may come again: the earlier summary is part of the question', async () => {
            const { output: [item] } = await trigger();
            const { output } = await trigger({ input: [SAID[0], item, user('Go on.'), TRIGGER] });
            assert.equal(output.length, 1);
            const question = messagesOf(both.up).at(-1).content;
            assert.match(question, /An earlier summary is part of the above/);
            assert.equal(messagesOf(both.up)[1].content, FRAMED);
        });

        test('may come while calls are open', async () => {
            await trigger({ tools: [fn('run')], input: [user('Test it.'), { type: 'function_call', call_id: 'c1', name: 'run', arguments: '{}' }, output('c1', 'ok'), { type: 'function_call', call_id: 'c2', name: 'run', arguments: '{}' }, TRIGGER] });
            assert.deepEqual(messagesOf(both.up).slice(0, -1), [user('Test it.'), calling(['c1', 'run', {}]), toolResult('c1', 'ok'), calling(['c2', 'run', {}]), toolResult('c2', '[no output]')]);
        });

        test('is stored as what it is, and its chain goes on from the summary', async () => {
            const first = await respond({ input: 'Write the lexer.' });
            const compacted = await respond({ previous_response_id: first.id, input: [message(user('Now the parser.')), { ...TRIGGER, id: 'ct_1' }] });
            assert.deepEqual(kindsOf(compacted), ['compaction']);
            assert.deepEqual(await api().read(`responses/${compacted.id}`), compacted);
            const items = await api().list(`responses/${compacted.id}/input_items`);
            assert.deepEqual(items.map(({ type, content }) => [type, content[0].text]), [['message', 'Now the parser.']], 'the trigger is no item');
            await respond({ previous_response_id: compacted.id, input: 'Go on.' });
            assert.deepEqual(messagesOf(both.up), [user('Write the lexer.'), user('Now the parser.'), user(FRAMED), user('Go on.')]);
        });

        test('may be the only item of a continuation', async () => {
            const first = await respond({ input: 'Write the lexer.' });
            const { id, output } = await respond({ previous_response_id: first.id, input: [TRIGGER] });
            assert.equal(output[0].type, 'compaction');
            assert.deepEqual(await api().list(`responses/${id}/input_items`), []);
        });

        test('compacts a conversation, whose items stay listed', async () => {
            const { id } = await api().make('conversations', {});
            await respond({ conversation: id, input: 'Write the lexer.' });
            await respond({ conversation: id, input: [message(user('Now the parser.')), TRIGGER] });
            const kinds = (await api().list(`conversations/${id}/items?order=asc`)).map(({ type, role }) => role ?? type);
            assert.deepEqual(kinds, ['user', 'assistant', 'user', 'compaction']);
            await respond({ conversation: id, input: 'Go on.' });
            assert.deepEqual(messagesOf(both.up), [user('Write the lexer.'), user('Now the parser.'), user(FRAMED), user('Go on.')]);
        });

        test('can be named by a reference', async () => {
            const { output: [item] } = await respond({ input: [...SAID, TRIGGER] });
            await respond({ input: [SAID[0], reference(item.id), user('Go on.')] });
            assert.deepEqual(messagesOf(both.up), [SAID[0], user(FRAMED), user('Go on.')]);
        });

        for (const [what, input, words] of [
            ['twice', [SAID[0], TRIGGER, TRIGGER], 'Only one \'compaction_trigger\' item may be provided.'],
            ['before the end', [TRIGGER, SAID[0]], 'The \'compaction_trigger\' item must be the final input item.'],
            ['alone', [TRIGGER], 'There is nothing to compact.'],
        ])
            test(`${what} is refused`, async () => {
                const got = await api().turnedAway({ stream: streamed, input }, [400, 'invalid_value', 'input']);
                assert.equal(got.message, words);
            });

        test('in an empty conversation is refused, and leaves it free', async () => {
            const { id } = await api().make('conversations', {});
            await api().turnedAway({ stream: streamed, conversation: id, input: [TRIGGER] }, [400, 'invalid_value', 'input']);
            await respond({ conversation: id, input: 'Hi' });
        });

        test('with thoughts before it: only what the model says is the summary', async () => {
            both.up.next(stream(frames(chunk({ reasoning_content: 'Let me see.' }), chunk({ content: FACTS }), chunk({}, 'stop'), usageChunk(50, 20), '[DONE]')));
            const { output: [item], usage } = await trigger();
            await respond({ store: false, input: [SAID[0], item] });
            assert.equal(messagesOf(both.up)[1].content, FRAMED);
            assert.deepEqual([usage.input_tokens, usage.output_tokens, usage.output_tokens_details.reasoning_tokens], [50, 20, 1]);
        });

        test('a call instead of a summary is asked again, without tools', async () => {
            both.up.next(callStream(['run', {}, 'c1']));
            const { usage } = await trigger({ tools: [fn('run')] });
            assert.deepEqual(both.up.requests.map(({ body }) => body.tools?.length), [1, undefined]);
            assert.equal(usage.input_tokens, 29, 'both calls are paid for');
        });
    });

/* ---- what fails ---- */

const EMPTY = stream(frames(chunk({ role: 'assistant', content: '' }), chunk({}, 'stop'), usageChunk(40, 0), '[DONE]'));
const BROKEN = stream([...frames(chunk({ content: 'Goal: ' })), CLOSE]);
const FILTERED = stream(frames(chunk({ content: 'Goal: ' }), chunk({}, 'content_filter'), '[DONE]'));
const TOO_LONG = failure(400, 'This model\'s maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens.', { code: 'context_length_exceeded' });

/* [what, answers of the upstream, status, code, code in a stream or null when the stream has not begun] */
const FAILURES = [
    ['a model that writes nothing', [EMPTY], 502, 'upstream_error', 'server_error'],
    ['a model that only calls', [callStream(['run', {}]), callStream(['run', {}])], 502, 'upstream_error', 'server_error'],
    ['an upstream that breaks off', [BROKEN], 502, 'upstream_error', 'server_error'],
    ['a content filter', [FILTERED], 502, 'upstream_error', 'server_error'],
    ['an upstream that refuses', [failure(400, 'Too hot.')], 400, 'upstream_rejected', null],
    ['a context that stays too long', [TOO_LONG, TOO_LONG, TOO_LONG], 400, 'context_length_exceeded', null],
];

describe('a summary that fails', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...UNCOUNTED, '--early-error-window', '30s');
    const api = () => new Api(both, captures);
    const asked = { model: 'm', tools: [fn('run')], input: [...SAID, output('c0', LONG), user('And?'), TRIGGER] };

    for (const [what, answers, status, code, streamCode] of FAILURES) {
        test(`because of ${what}: a trigger, not streamed`, async () => {
            both.up.next(...answers);
            checkError(await api().post('responses', asked), status, code);
            assert.equal(both.up.requests.length, answers.length);
        });

        test(`because of ${what}: the endpoint`, async () => {
            both.up.next(...answers);
            checkError(await api().post('responses/compact', { ...asked, input: asked.input.slice(0, -1) }), status, code);
        });

        test(`because of ${what}: a trigger, streamed`, async () => {
            both.up.next(...answers);
            const got = await api().post('responses', { ...asked, stream: true });
            if (streamCode === null)
                return void checkError(got, status, code);
            const { response } = checkStream(got.text);
            assert.deepEqual([response.status, response.error.code, response.output], ['failed', streamCode, []]);
            assert.ok(!got.text.includes('compaction'), 'nothing is announced that has failed');
        });
    }

    test('leaves what was stored before as it was', async () => {
        const first = await api().respond({ input: 'Write the lexer.' });
        both.up.next(EMPTY);
        const failed = checkStream((await api().post('responses', { model: 'm', stream: true, previous_response_id: first.id, input: [TRIGGER] })).text).response;
        assert.equal(failed.error.message, 'The model wrote no summary.');
        assert.equal(failed.usage.input_tokens, 40);
        await api().respond({ previous_response_id: first.id, input: 'Go on.' });
        assert.deepEqual(messagesOf(both.up).map(({ content }) => content), ['Write the lexer.', 'Hello', 'Go on.']);
    });

    test('what is too long is asked again with less of it: first of the outputs, then of the turns', async () => {
        const items = [system('Rules.'), ...SAID, output('c0', LONG), user('And?'), TRIGGER];
        both.up.next(TOO_LONG, TOO_LONG, textStream(FACTS));
        const { output: [item] } = await api().respond({ store: false, input: items });
        assert.equal(item.type, 'compaction');
        const [whole, shorter, shortest] = both.up.requests.map(({ body }) => JSON.stringify(body.messages));
        assert.ok(whole.includes(LONG) && !shorter.includes(LONG) && shorter.length < whole.length);
        assert.ok(shortest.length <= shorter.length);
        for (const asked of [shorter, shortest])
            assert.ok(asked.includes('Rules.') && asked.includes('And?') && asked.includes(QUESTION));
    });
});

describe('a client leaves during the summary', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...UNCOUNTED, '--early-error-window', '100ms');
    const STARTED = stream([...frames(chunk({ content: 'Goal: ' })), HANG]);

    for (const [when, path, body, answer, sign] of [
        ['of a trigger, streamed', '/v1/responses', { input: [...SAID, TRIGGER], stream: true }, STARTED, 'response.in_progress'],
        ['of a trigger, not streamed', '/v1/responses', { input: [...SAID, TRIGGER] }, STARTED],
        ['of the endpoint', '/v1/responses/compact', { input: SAID }, SILENCE],
        ['before a round', '/v1/responses', { input: [user(LONG), assistant(LONG), user('?')], stream: true, ...managed(1000) }, SILENCE, 'response.in_progress'],
    ])
        test(when, async () => {
            both.up.always(answer);
            const call = open(both.daemon, { model: 'm', ...body }, { path });
            const request = await both.up.request(0);
            if (sign)
                await call.until(sign);
            call.destroy();
            await Promise.race([request.closed, new Promise((done) => setTimeout(done, patience(5000)).unref())]);
            assert.ok(request.closedAt, 'the upstream is not kept busy');
            await both.daemon.logged(/client_gone/);
        });

    test('a stream that waits for a summary shows signs of life', async (t) => {
        const { up, daemon } = await pair(t, ...UNCOUNTED, '--early-error-window', '0', '--heartbeat-interval', '50ms', '--keepalive-interval', '80ms');
        let go;
        up.next(stream([...frames(chunk({ content: FACTS })), new Promise((done) => (go = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
        const call = open(daemon, { model: 'm', stream: true, store: false, input: [...SAID, TRIGGER] });
        await call.until(': heartbeat');
        await call.until('"keepalive"');
        assert.ok(!call.text.includes('compaction'));
        go();
        await call.done;
        assert.deepEqual(kindsOf(checkStream(call.text).response), ['compaction']);
    });
});

/* ---- the endpoint ---- */

describe('POST /v1/responses/compact', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...UNCOUNTED);
    const api = () => new Api(both, captures);
    const compact = (more) => api().make('responses/compact', { model: 'm', ...more });
    beforeEach(() => summarizes(both.up));

    test('answers with the messages of the user and the item', async () => {
        const answer = await compact({ input: SAID, instructions: 'Be brief.', stream: true });
        assert.deepEqual(Object.keys(answer), ['id', 'object', 'created_at', 'output', 'usage']);
        assert.equal(answer.object, 'response.compaction');
        assert.match(answer.id, /^resp_/);
        const kept = answer.output.slice(0, -1);
        assert.deepEqual(kept.map(({ id, ...item }) => ({ ...item, id: id.slice(0, 4) })), [SAID[0], SAID[2]].map(({ content }) => (
            { id: 'msg_', type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: content }] })));
        assert.equal(answer.output.at(-1).type, 'compaction');
        assert.equal(answer.usage.total_tokens, answer.usage.input_tokens + answer.usage.output_tokens);
        assert.equal(messagesOf(both.up)[0].content, 'Be brief.');
    });

    test('what it answers is the input of the next request', async () => {
        const { output } = await compact({ input: SAID });
        await api().respond({ store: false, input: [...output, message(user('Go on.'))] });
        assert.deepEqual(messagesOf(both.up), [SAID[0], SAID[2], user(FRAMED), user('Go on.')]);
    });

    test('what clients drop before the item is in it', async () => {
        const { output } = await compact({ input: SAID });
        const rules = { type: 'message', role: 'developer', content: 'Rules.' };
        await api().respond({ store: false, input: [rules, output.at(-1), message(user('Go on.'))] });
        assert.deepEqual(messagesOf(both.up), [system('Rules.'), SAID[0], SAID[2], user(FRAMED), user('Go on.')]);
        await api().respond({ store: false, input: [message(SAID[2]), output.at(-1), message(user('Go on.'))] });
        assert.deepEqual(messagesOf(both.up), [SAID[2], user(FRAMED), user('Go on.')], 'what they bring counts');
    });

    test('takes no more than a model and what is to be compacted', async () => {
        const first = await api().respond({ input: 'Write the lexer.' });
        const second = await api().respond({ previous_response_id: first.id, input: 'Now the parser.' });
        for (const input of [{}, { input: null }]) {
            const { output } = await compact({ previous_response_id: second.id, ...input });
            assert.deepEqual(output.map((item) => item.content?.[0].text), ['Write the lexer.', 'Now the parser.', undefined]);
        }
        assert.deepEqual(messagesOf(both.up).slice(0, -1).map(({ content }) => content), ['Write the lexer.', 'Hello', 'Now the parser.', 'Hello']);
    });

    test('reads a misspelled id, which must agree with the right one', async () => {
        const first = await api().respond({ input: 'Write the lexer.' });
        const { output } = await compact({ previous_responses_id: first.id });
        assert.equal(output[0].content[0].text, 'Write the lexer.');
        const both = { model: 'm', previous_response_id: first.id, previous_responses_id: `${first.id}1` };
        checkError(await api().post('responses/compact', both), 400, 'mutually_exclusive_parameters', 'previous_response_id');
    });

    test('stores nothing', async () => {
        const first = await api().respond({ input: 'Write the lexer.' });
        const { id } = await compact({ previous_response_id: first.id });
        checkError(await api().get(`responses/${id}`), 404, 'not_found');
        await api().turnedAway({ previous_response_id: id }, NO_PARENT);
        await api().respond({ previous_response_id: first.id, input: 'Go on.' });
        assert.equal(messagesOf(both.up).length, 3);
    });

    test('compacts a conversation and leaves it free', async () => {
        const { id } = await api().make('conversations', { items: [message(user('Write the lexer.'))] });
        const { output } = await compact({ conversation: id });
        assert.deepEqual(kindsOf({ output }), ['message', 'compaction']);
        await api().respond({ conversation: { id }, input: 'Go on.' });
        assert.equal((await api().list(`conversations/${id}/items`)).length, 3);
    });

    test('renders tools, and is not called for anything', async () => {
        await compact({ input: SAID, tools: [fn('run')], reasoning: { effort: 'high' }, text: { format: { type: 'json_object' } }, parallel_tool_calls: false, service_tier: 'flex' });
        const body = lastOf(both.up);
        assert.deepEqual([body.tools.length, body.reasoning_effort, body.response_format, body.tool_choice], [1, 'high', undefined, undefined]);
    });

    for (const [what, body, error] of [
        ['without a model', { model: null, input: 'x' }, [400, 'missing_required_parameter', 'model']],
        ['without anything to compact', { model: 'm' }, [400, 'missing_required_parameter', 'input']],
        ['with an empty list', { model: 'm', input: [] }, [400, 'missing_required_parameter', 'input']],
        ['after an unknown response', { model: 'm', previous_response_id: 'resp_x' }, NO_PARENT],
        ['of an unknown conversation', { model: 'm', conversation: 'conv_x' }, NO_CONVERSATION],
        ['with a wrong item', { model: 'm', input: [{ type: 'message' }] }, [400, 'missing_required_parameter', 'input[0].role']],
        ['with tools of a wrong type', { model: 'm', input: 'x', tools: {} }, [400, 'invalid_type', 'tools']],
    ])
        test(`${what} is refused`, async (t) => {
            const { daemon, up } = body.model === null ? await noModel(t) : both;
            checkError(await ask(daemon, body, { path: '/v1/responses/compact' }), ...error);
            assert.equal(up.requests.length, 0);
        });

    async function noModel(t) {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url });
        t.after(() => daemon.stop());
        return { up, daemon };
    }

    test('an empty conversation has nothing to compact', async () => {
        const { id } = await api().make('conversations', {});
        checkError(await api().post('responses/compact', { model: 'm', conversation: id }), 400, 'invalid_value', 'input');
    });

    test('only POST is answered', async () => {
        checkError(await ask(both.daemon, undefined, { method: 'GET', path: '/v1/responses/compact' }), 405, 'method_not_allowed');
    });
});

/* ---- before a round ---- */

for (const streamed of [false, true])
    describe(`context_management, ${streamed ? 'streamed' : 'not streamed'}`, { concurrency: false }, () => {
        const both = shared({ before, beforeEach, after }, ...UNCOUNTED);
        const api = () => new Api(both, captures);
        const respond = async (more) => (streamed ? (await api().stream(more)).response : api().respond(more));
        const grown = [user('Write the lexer.'), assistant(LONG), user('Now the parser.')];
        beforeEach(() => summarizes(both.up));

        test('compacts a context that has reached the threshold, and goes on', async () => {
            const response = await respond({ store: false, input: grown, ...managed(1000) });
            assert.deepEqual(kindsOf(response), ['compaction', 'message']);
            assert.deepEqual([response.usage.input_tokens, response.usage.output_tokens], [18, 1 + FACTS.split(/\s+/).length]);
            assert.ok(isQuestion(both.up.requests[0]));
            assert.match(both.up.requests[0].body.messages.at(-1).content, /the last message and this summary/);
            assert.deepEqual(messagesOf(both.up), [user('Write the lexer.'), user(FRAMED), user('Now the parser.')]);
        });

        test('leaves a shorter one alone', async () => {
            assert.deepEqual(kindsOf(await respond({ store: false, input: grown, ...managed(2000) })), ['message']);
            assert.deepEqual(kindsOf(await respond({ store: false, input: grown, context_management: [] })), ['message']);
            assert.deepEqual(kindsOf(await respond({ store: false, input: grown, context_management: [{ type: 'compaction' }] })), ['message'], 'the window is not known');
            assert.equal(questions(both.up).length, 0);
        });

        test('lets clients drop all before the item, or send it', async () => {
            const { output: [item, said] } = await respond({ store: false, input: grown, ...managed(1000) });
            const after = [user('Write the lexer.'), user(FRAMED), user('Now the parser.'), assistant('Hello'), user('And?')];
            for (const before of [[], grown]) {
                await respond({ store: false, input: [...before, item, said, user('And?')] });
                assert.deepEqual(messagesOf(both.up), after);
            }
        });

        test('keeps a chain short, and its facts, through two compactions', async () => {
            let previous_response_id;
            const kinds = [];
            for (let i = 0; i < 8; i++) {
                summarizes(both.up, `${FACTS}\nState: turn ${i}.`, LONG.slice(0, 2400));
                const response = await respond({ previous_response_id, input: `Step ${i}.`, ...managed(1500) });
                previous_response_id = response.id;
                kinds.push(...kindsOf(response).filter((kind) => kind === 'compaction'));
                assert.ok(JSON.stringify(messagesOf(both.up)).length < 9000, 'the context stays below its threshold');
            }
            assert.ok(kinds.length >= 2, `${kinds.length} compactions`);
            assert.ok(questions(both.up).length === kinds.length, 'each for one question');
            const context = JSON.stringify(messagesOf(both.up));
            for (const fact of ['/srv/parser/lexer.c', 'the flat table', 'call c7 waits', 'Step 0.', 'Step 7.'])
                assert.ok(context.includes(fact), fact);
            assert.match(questions(both.up).at(-1).body.messages.at(-1).content, /An earlier summary is part of the above/);
        });

        test('does not compact again what has hardly grown', async () => {
            const big = await respond({ input: [user('Write the lexer.'), assistant(LONG), user('Now the parser.')], ...managed(1000) });
            summarizes(both.up, FACTS, 'Yes.');
            await respond({ previous_response_id: big.id, input: 'Go on.', ...managed(1000) });
            assert.equal(questions(both.up).length, 1);
        });

        for (const [what, answers] of [
            ['cannot be had', [failure(500, 'Too hot.')]],
            ['is empty', [EMPTY]],
            ['breaks off', [BROKEN]],
            ['is filtered', [FILTERED]],
            ['is no smaller', [textStream(LONG + LONG)]],
            ['does not fit', [TOO_LONG, TOO_LONG]],
        ])
            test(`a summary that ${what} is done without`, async () => {
                both.up.next(...answers); /* of two turns there is but one to be left out */
                const response = await respond({ store: false, input: grown, ...managed(1000) });
                assert.deepEqual(kindsOf(response), ['message']);
                assert.deepEqual(messagesOf(both.up), grown);
                await both.daemon.logged(/warn compaction .*failed/);
            });

        test('what is too long for the round as well says so', async () => {
            both.up.always(TOO_LONG);
            const got = await api().post('responses', { model: 'm', input: grown, stream: streamed, ...managed(1000) });
            if (got.headers['content-type'].startsWith('text/event-stream'))
                assert.equal(checkStream(got.text).response.error.code, 'context_length_exceeded');
            else
                checkError(got, 400, 'context_length_exceeded');
        });

        test('comes before truncation', async () => {
            const response = await respond({ store: false, input: grown, truncation: 'auto', ...managed(1000) });
            assert.deepEqual(kindsOf(response), ['compaction', 'message']);
        });

        test('does not count for max_output_tokens', async () => {
            const response = await respond({ store: false, input: grown, max_output_tokens: 20, ...managed(1000) });
            assert.equal(response.status, 'completed');
            assert.deepEqual(both.up.requests.map(({ body }) => body.max_tokens), [1024, 20]);
        });

        test('goes on in a conversation', async () => {
            const { id } = await api().make('conversations', { items: grown.map(message) });
            const response = await respond({ conversation: id, input: 'And?', ...managed(1000) });
            assert.deepEqual(kindsOf(response), ['compaction', 'message']);
            await respond({ conversation: id, input: 'Well?', ...managed(1000) });
            const context = messagesOf(both.up);
            assert.ok(context.some(({ content }) => content === FRAMED));
            assert.ok(!JSON.stringify(context).includes(LONG));
            assert.equal((await api().list(`conversations/${id}/items?limit=100`)).length, 3 + 1 + 2 + 1 + 1, 'all of it stays listed');
        });
    });

describe('in a loop of tools', { concurrency: false }, () => {
    const FAKE = { tools: [declared('fake')] };
    const READER = { tools: { read: ({ path }) => `${path}: ${LONG}${LONG}` } };
    const big = (id) => [shown('fake', 'read'), { path: `/srv/parser/table_${id}.c` }, id];

    test('the item stands between the call and the round that goes on', async (t) => {
        const g = await gateway(t, { servers: { fake: await startMcp(READER) }, captures, args: UNCOUNTED });
        g.up.next(callStream(big('c1')), textStream(FACTS), textStream('Done.'));
        const { events, response } = await g.stream({ ...FAKE, store: false, input: 'Write the table.', ...managed(2000) });
        const kinds = kindsOf(response).filter((kind) => kind !== 'mcp_list_tools');
        assert.deepEqual(kinds, ['mcp_call', 'compaction', 'message']);
        assert.deepEqual(flowOf(events).filter((type) => /compact/.test(type)), ['output_item.added compaction', 'compaction.compacting', 'output_item.done compaction']);
        const context = JSON.stringify(g.messages);
        for (const fact of ['Write the table.', '/srv/parser/lexer.c', 'call c7 waits', '/srv/parser/table_c1.c'])
            assert.ok(context.includes(fact), fact);
        assert.ok(context.length < LONG.length, 'the output is cut');
        assert.equal(response.usage.input_tokens, 20 + 9 + 9);
    });

    test('a loop may compact more than once, and the chain goes on from the last', async (t) => {
        const g = await gateway(t, { servers: { fake: await startMcp(READER) }, captures, args: UNCOUNTED });
        g.up.next(callStream(big('c1')), textStream(`${FACTS}\nOne.`), callStream(big('c2')), textStream(`${FACTS}\nTwo.`), textStream('Done.'));
        const { response } = await g.stream({ ...FAKE, input: 'Write the table.', ...managed(2000) });
        assert.deepEqual(kindsOf(response).filter((kind) => kind !== 'mcp_list_tools'), ['mcp_call', 'compaction', 'mcp_call', 'compaction', 'message']);
        assert.equal(g.up.requests.length, 5);
        await g.respond({ ...FAKE, previous_response_id: response.id, input: 'And?' });
        const context = JSON.stringify(g.messages);
        assert.ok(context.includes('Two.') && !context.includes('One.'));
        assert.ok(context.includes('Write the table.') && context.includes('Done.'));
    });

    test('calls of the client in flight stay with their outputs', async (t) => {
        const { up, daemon } = await pair(t, ...UNCOUNTED);
        const api = new Api({ up, daemon }, captures);
        const input = [user('Write it.'), assistant(LONG), user('Run it.'), { type: 'function_call', call_id: 'c7', name: 'run', arguments: '{"path":"/srv/a.out"}' }, output('c7', 'exit 3')];
        up.next(textStream(FACTS), callStream(['run', { path: '/srv/b.out' }, 'c8']));
        const response = await api.respond({ tools: [fn('run')], input, ...managed(1000) });
        assert.deepEqual(kindsOf(response), ['compaction', 'function_call']);
        assert.deepEqual(messagesOf(up).slice(2), [user('Run it.'), calling(['c7', 'run', { path: '/srv/a.out' }]), toolResult('c7', 'exit 3')]);
        await api.respond({ tools: [fn('run')], previous_response_id: response.id, input: [output('c8', 'exit 0')] });
        assert.deepEqual(messagesOf(up).slice(2), [user('Run it.'), calling(['c7', 'run', { path: '/srv/a.out' }]), toolResult('c7', 'exit 3'), calling(['c8', 'run', { path: '/srv/b.out' }]), toolResult('c8', 'exit 0')]);
    });

    for (const [what, sends, back] of [
        ['sends all items', (output) => output, ['c2', 'c3']],
        ['sends them without ids', (output) => output.map(({ id, ...item }) => item), ['c2', 'c3']],
        ['drops what stands before the summary', (output) => output.slice(2), ['c2', 'c3']],
        ['drops what the gateway has run', (output) => output.filter(({ type }) => type !== 'mcp_call'), ['c2', 'c3']],
        ['knows nothing but its own calls', (output) => output.filter(({ type }) => type === 'function_call'), ['c1', 'c2', 'c3']],
    ])
        test(`calls that a summary stands for are not put back: the client ${what}`, async (t) => {
            const server = await startMcp({ tools: { read: ({ path }) => LONG.repeat(path.includes('c2') ? 5 : 2) } });
            const g = await gateway(t, { servers: { fake: server }, captures, args: UNCOUNTED });
            const tools = [declared('fake'), fn('run')], say = user('Write the table.');
            g.up.next(callStream(big('c1')), callStream(big('c2')), textStream(FACTS), callStream(['run', {}, 'c3']));
            const { response } = await g.stream({ tools, store: false, input: [say], ...managed(5000) });
            const own = response.output.filter(({ type }) => type !== 'mcp_list_tools');
            assert.deepEqual(own.map(({ type }) => type), ['mcp_call', 'mcp_call', 'compaction', 'function_call']);
            await g.respond({ tools, store: false, input: [say, ...sends(own), output('c3', 'ok')] });
            assert.deepEqual(g.messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id)), back);
        });

    test('a trigger runs no tool and lists no server', async (t) => {
        const far = await startMcp({ style: { get: 405 } });
        t.after(() => far.close());
        const g = await gateway(t, { servers: { fake: await startMcp() }, captures, args: [...UNCOUNTED, '--mcp-remote', 'any'] });
        g.up.next(textStream(FACTS));
        const tools = [declared('fake', { require_approval: 'always' }), declared('far', { server_url: far.url })];
        const approval = [{ type: 'mcp_approval_request', id: 'mcpr_1', server_label: 'fake', name: 'echo', arguments: '{"message":"hi"}' }, { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }];
        const { response } = await g.stream({ store: false, tools, input: [user('Hi'), ...approval, TRIGGER] });
        assert.deepEqual(kindsOf(response), ['compaction']);
        assert.equal(far.received.length, 0);
        assert.equal(g.up.requests.length, 1);
    });
});

/* ---- over WebSocket ---- */

describe('over WebSocket', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...UNCOUNTED);
    const start = (t) => webSocket(t, both.daemon, { captures });
    beforeEach(() => summarizes(both.up));

    test('a trigger is answered by its item, and the lane goes on from it, with nothing stored', async (t) => {
        const ws = await start(t);
        const first = await ws.respond({ store: false, input: 'Write the lexer.' });
        const compacted = await ws.respond({ store: false, previous_response_id: first.id, input: [message(user('Now the parser.')), TRIGGER] });
        assert.deepEqual(kindsOf(compacted), ['compaction']);
        assert.deepEqual(ws.messages.slice(-6).map(({ type }) => type), ['response.created', 'response.in_progress', 'response.output_item.added',
            'response.compaction.compacting', 'response.output_item.done', 'response.completed']);
        await ws.respond({ store: false, previous_response_id: compacted.id, input: 'Go on.' });
        assert.deepEqual(messagesOf(both.up), [user('Write the lexer.'), user('Now the parser.'), user(FRAMED), user('Go on.')]);
    });

    test('what is stored behind a trigger that is not goes on from its item', async (t) => {
        const ws = await start(t), api = new Api(both, captures);
        const first = await ws.respond({ store: false, input: 'Write the lexer.' });
        const compacted = await ws.respond({ store: false, previous_response_id: first.id, input: [message(user('Now the parser.')), TRIGGER] });
        const stored = await ws.respond({ store: true, previous_response_id: compacted.id, input: 'Go on.' });
        await api.respond({ previous_response_id: stored.id, input: 'And on.' });
        assert.deepEqual(messagesOf(both.up), [user('Write the lexer.'), user('Now the parser.'), user(FRAMED), user('Go on.'), assistant('Hello'), user('And on.')]);
        assert.deepEqual(kindsOf(await api.read(`responses/${stored.id}`)), ['message']);
    });

    test('a context that has grown is compacted before the round', async (t) => {
        const ws = await start(t);
        summarizes(both.up, FACTS, LONG);
        const first = await ws.respond({ store: false, input: 'Write the lexer.', ...managed(1000) });
        const second = await ws.respond({ store: false, previous_response_id: first.id, input: 'Now the parser.', ...managed(1000) });
        assert.deepEqual(kindsOf(second), ['compaction', 'message']);
        summarizes(both.up);
        await ws.respond({ store: false, previous_response_id: second.id, input: 'Go on.' });
        assert.deepEqual(messagesOf(both.up).map(({ content }) => content), ['Write the lexer.', FRAMED, 'Now the parser.', LONG, 'Go on.']);
    });
});

/* ---- whose it is ---- */

const NOTE = '[An earlier part of this conversation was summarized by another service and cannot be read here.]';

test('an item opens for its owner alone', async (t) => {
    const { up, daemon } = await pair(t, ...UNCOUNTED, '--api-key', 'key-of-ann,key-of-bob');
    const ann = new Api({ up, daemon }, captures, 'key-of-ann'), bob = new Api({ up, daemon }, captures, 'key-of-bob');
    summarizes(up);
    const { output: [item] } = await ann.respond({ store: false, input: [...SAID, TRIGGER] });
    await bob.respond({ store: false, input: [item, user('Go on.')] });
    assert.deepEqual(messagesOf(up), [user(NOTE), user('Go on.')]);
    await ann.respond({ store: false, input: [item, user('Go on.')] });
    assert.deepEqual(messagesOf(up), [user(FRAMED), user('Go on.')]);
});

test('an item opens at any gateway that has the key, and nowhere when it is lost', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    summarizes(up);
    const start = async (...args) => {
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'test-model', ...UNCOUNTED, ...args] });
        t.after(() => daemon.stop());
        return new Api({ up, daemon }, captures);
    };
    const one = await start('--encryption-keys', 'the-first-secret-of-two'), same = await start('--encryption-keys', 'another-secret-for-it,the-first-secret-of-two');
    const lost = await start('--encryption-keys', 'another-secret-for-it'), strict = await start('--foreign-compaction', 'reject');
    const { output: [item] } = await one.respond({ store: false, input: [...SAID, TRIGGER] });
    await same.respond({ store: false, input: [item] });
    assert.deepEqual(messagesOf(up), [user(FRAMED)]);
    await lost.respond({ store: false, input: [item] });
    assert.deepEqual(messagesOf(up), [user(NOTE)]);
    await lost.respond({ store: false, input: [item, user('And?'), TRIGGER] });
    assert.ok(isQuestion(up.requests.at(-1)), 'what cannot be read can be compacted');
    await strict.turnedAway({ input: [item] }, [400, 'invalid_value', 'input[0].encrypted_content']);
});

test('reasoning and compaction do not open as each other', async (t) => {
    const { up, daemon } = await pair(t, ...UNCOUNTED, '--encryption-keys', 'the-first-secret-of-two', '--reasoning-cache', '0');
    const api = new Api({ up, daemon }, captures);
    summarizes(up);
    const { output: [item] } = await api.respond({ store: false, input: [...SAID, TRIGGER] });
    up.next(textStream('Hi', { reasoning: 'Hm.' }));
    const { output: [thought] } = await api.respond({ store: false, include: ['reasoning.encrypted_content'] });
    await api.respond({ store: false, input: [user('a'), { type: 'reasoning', summary: [], encrypted_content: item.encrypted_content }, assistant('b'), { type: 'compaction', encrypted_content: thought.encrypted_content }] });
    assert.deepEqual(messagesOf(up), [user('a'), assistant('b'), user(NOTE)]);
});

test('a stored chain outlives the gateway that compacted it', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    summarizes(up);
    const next = successors(t, up);
    const first = new Api({ up, daemon: await next() }, captures);
    const { id } = await first.respond({ input: [...SAID, TRIGGER] });
    const second = new Api({ up, daemon: await next() }, captures);
    await second.respond({ previous_response_id: id, input: 'Go on.' });
    assert.deepEqual(messagesOf(up), [SAID[0], SAID[2], user(FRAMED), user('Go on.')]);
});

/* ---- what the operator may choose ---- */

const WINDOW = ['--model-settings', '* context_window=2000'];

test('auto_compaction is for clients that never ask, and off unless it is set', async (t) => {
    const grown = [user('Write the lexer.'), assistant(LONG), user('Now the parser.')];
    for (const [args, kinds] of [
        [WINDOW, ['message']],
        [['--auto-compaction', '50'], ['message']],
        [[...WINDOW, '--auto-compaction', '95'], ['message']],
        [[...WINDOW, '--auto-compaction', '50'], ['compaction', 'message']],
    ]) {
        const { up, daemon } = await pair(t, ...UNCOUNTED, ...args);
        summarizes(up);
        const response = await new Api({ up, daemon }, captures).respond({ store: false, input: grown });
        assert.deepEqual(kindsOf(response), kinds, args.join(' '));
    }
});

test('without a threshold it is four fifths of the window', async (t) => {
    const { up, daemon } = await pair(t, ...UNCOUNTED, ...WINDOW);
    const api = new Api({ up, daemon }, captures);
    const asks = { store: false, context_management: [{ type: 'compaction' }] };
    summarizes(up);
    const sized = (n) => [user('Write the lexer.'), assistant('word '.repeat(n / 5)), user('Now?')];
    assert.deepEqual(kindsOf(await api.respond({ ...asks, input: sized(5800) })), ['message']);
    assert.deepEqual(kindsOf(await api.respond({ ...asks, input: sized(6800) })), ['compaction', 'message']);
});

test('what the server counts decides', async (t) => {
    const { up, daemon } = await pair(t, '--upstream-kind', 'vllm');
    const api = new Api({ up, daemon }, captures);
    const counted = [];
    let count = 1600;
    up.always((request) => {
        if (!request.path.endsWith('/tokenize'))
            return stream(frames(chunk({ content: isQuestion(request) ? FACTS : 'Hello' }), chunk({}, 'stop'), usageChunk(count, 3), '[DONE]'));
        counted.push(count);
        return json(200, { count, max_model_len: 100_000, tokens: [] });
    });
    const input = (n) => [user(`Write the lexer ${n}.`), assistant('word '.repeat(1200)), user('Now?')];
    assert.deepEqual(kindsOf(await api.respond({ store: false, input: input(1), ...managed(2000) })), ['message']);
    count = 2100;
    assert.deepEqual(kindsOf(await api.respond({ store: false, input: input(2), ...managed(2000) })), ['compaction', 'message']);
    assert.ok(counted.length >= 2);
});

test('another model, another text, a note, no tools, another length', async (t) => {
    const prompt = folder(t, 'prompt.txt');
    writeFileSync(prompt, 'Summarize in {words} words what stays beside {kept}.{earlier}{extra}\n');
    const { up, daemon } = await pair(t, ...UNCOUNTED, '--compaction-model', 'small', '--compaction-prompt', prompt, '--compaction-note', 'Keep ticket numbers.',
        '--compaction-tools', 'omit', '--compaction-tokens', '1000');
    up.always(textStream(FACTS));
    const { output } = await new Api({ up, daemon }, captures).respond({ store: false, tools: [fn('run')], input: [...SAID, TRIGGER] });
    const body = lastOf(up);
    assert.deepEqual(kindsOf({ output }), ['compaction']);
    assert.equal(body.model, 'small');
    assert.equal(body.tools, undefined);
    assert.equal(body.max_tokens, 1000);
    assert.equal(body.messages.at(-1).content, 'Summarize in 500 words what stays beside the user\'s messages.Keep ticket numbers.');
});

test('the legacy dialect knows no compaction, and goes on all the same', async (t) => {
    const { up, daemon } = await pair(t, ...UNCOUNTED, ...WINDOW, '--auto-compaction', '50');
    summarizes(up);
    const { text } = await ask(daemon, { model: 'm', stream: true, input: [user('Write the lexer.'), assistant(LONG), user('Now the parser.')] }, { headers: { 'x-gateway-dialect': 'ors' } });
    assert.ok(!text.includes('compact'), text);
    assert.match(text, /"delta":"Hello"/);
    assert.equal(messagesOf(up)[1].content, FRAMED);
});

test('thoughts in tags are no part of a summary', async (t) => {
    const { up, daemon } = await pair(t, ...UNCOUNTED, '--model-settings', '* think_tags=on');
    const api = new Api({ up, daemon }, captures);
    up.next(textStream(`<think>Let me see.</think>${FACTS}`));
    const { output: [item] } = await api.respond({ store: false, input: [...SAID, TRIGGER] });
    await api.respond({ store: false, input: [item] });
    assert.deepEqual(messagesOf(up), [user(FRAMED)]);
});

test('the log tells of summaries and never what they say', async (t) => {
    const { up, daemon } = await pair(t, ...UNCOUNTED, '--log-level', 'debug');
    const api = new Api({ up, daemon }, captures);
    summarizes(up);
    const { output: [item] } = await api.respond({ store: false, input: [...SAID, TRIGGER] });
    await api.respond({ store: false, input: [user('Write the lexer.'), assistant(LONG), user('Now the parser.')], ...managed(1000) });
    await daemon.logged(/info compaction status=completed/);
    await daemon.logged(/info turn .*summaries=1/);
    for (const secret of [item.encrypted_content, 'parser 2.1', 'Write the lexer'])
        assert.ok(!daemon.log.includes(secret), secret);
});

captures.judge(test);
