/* reasoning_modes.test.mjs -- the ways in which a client sees reasoning (CONTRACT 4.4): the events of
 * each, the items, and that the model gets its reasoning back in all of them. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { CARRIES, begin } from '../lib/carries.mjs';
import { Captures, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { flowOf } from '../lib/mcp.mjs';
import { Api, fn, messagesOf, output, user } from '../lib/state.mjs';
import { chunk, frames, rawChat, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const TOOLS = { tools: [fn('weather')] };
const SEALED = { include: ['reasoning.encrypted_content'] };
const SUMMARY = { reasoning: { summary: 'auto' } };

/* The events of Open Responses are in its schema alone, and the validator's rules know no other
 * reasoning_text.done than its own; checkStream() does. */
const AS_OPEN_RESPONSES = ['--schema', 'openresponses', '--disable', 'delta.once'];

const thinks = (text, ...call) => stream(frames(chunk({ reasoning_content: text.slice(0, 4) }), chunk({ reasoning_content: text.slice(4) }),
    chunk({ tool_calls: [{ index: 0, id: call[0], type: 'function', function: { name: call[1], arguments: '{}' } }] }), chunk({}, 'tool_calls'), '[DONE]'));

/* What each mode makes of reasoning: events, and the members of the item. */
const AS_TEXT = {
    events: ['output_item.added reasoning', 'content_part.added', 'reasoning_text.delta', 'reasoning_text.done', 'content_part.done', 'output_item.done reasoning'],
    item: (text) => ({ summary: [], content: [{ type: 'reasoning_text', text }] }),
};
const AS_SUMMARY = {
    events: ['output_item.added reasoning', 'reasoning_summary_part.added', 'reasoning_summary_text.delta', 'reasoning_summary_text.done', 'reasoning_summary_part.done', 'output_item.done reasoning'],
    item: (text) => ({ summary: [{ type: 'summary_text', text }], content: [] }),
};
const AS_OPEN = { events: AS_TEXT.events.map((event) => event.replace('reasoning_text', 'reasoning')), item: AS_TEXT.item, flags: AS_OPEN_RESPONSES };
const HIDDEN = { events: [], item: () => undefined };

const MESSAGE = ['output_item.added message', 'content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done', 'output_item.done message'];
const CALL = ['output_item.added function_call', 'function_call_arguments.delta', 'function_call_arguments.done', 'output_item.done function_call'];

/* [what, flags, more of the request, how it is seen] */
const MODES = [
    ['text, by default', [], {}, AS_TEXT],
    ['text', ['--reasoning', 'text'], {}, AS_TEXT],
    ['text, although a summary is asked for', ['--no-summary-when-requested'], SUMMARY, AS_TEXT],
    ['summary, by the option', ['--reasoning', 'summary'], {}, AS_SUMMARY],
    ['summary, when asked for', [], SUMMARY, AS_SUMMARY],
    ['openresponses', ['--reasoning', 'openresponses'], {}, AS_OPEN],
    ['openresponses, but a summary is asked for', ['--reasoning', 'openresponses'], SUMMARY, AS_SUMMARY],
    ['none', ['--reasoning', 'none'], {}, HIDDEN],
    ['none, although a summary is asked for', ['--reasoning', 'none'], SUMMARY, HIDDEN],
];

for (const [what, flags, more, { events, item, flags: judged = [] }] of MODES) {
    describe(`reasoning as ${what}`, { concurrency: false }, () => {
        const both = shared({ before, beforeEach, after }, ...flags, '--harmony', 'auto', '--model-settings', 'tags think_tags=on');
        const api = new Api(both, { keep: (name, bytes, ...kinds) => captures.keep(name, bytes, ...judged, ...kinds) });
        const streamed = async (request) => {
            const got = await ask(both.daemon, { model: 'm', input: 'Hi', ...request, ...more, stream: true });
            captures.keep(`${what}.sse`, got.bytes, ...judged);
            return checkStream(got.text);
        };
        const flow = (types) => ['created', 'in_progress', ...events, ...types, 'completed'];

        /* However the server tells it apart. */
        for (const [how, answer, model] of [
            ['a field', textStream('Yes, it is.', { reasoning: 'Let me see' }), 'm'],
            ['tags', rawChat(['<think>Let', ' me see</think>Yes', ', it is.']), 'tags'],
            ['Harmony', rawChat(['<|channel|>analysis<|message|>Let', ' me see<|end|><|start|>assistant<|channel|>final<|message|>Yes', ', it is.']), 'm'],
        ])
            test(`has its events and its item, from ${how}`, async () => {
                both.up.always(answer);
                const { response, events: got } = await streamed({ model });
                assert.deepEqual(flowOf(got), flow(MESSAGE));
                const members = (items) => items.filter(({ type }) => type === 'reasoning').map(({ summary, content }) => ({ summary, content }));
                const wanted = [item('Let me see')].filter((one) => one !== undefined);
                assert.deepEqual(members(response.output), wanted);
                assert.deepEqual(members((await api.respond({ ...more, model })).output), wanted);
            });

        test('ends when a call begins', async () => {
            both.up.next(thinks('Let me look.', 'c1', 'weather'));
            const { events: got } = await streamed(TOOLS);
            assert.deepEqual(flowOf(got), flow(CALL));
        });

        test('is sealed when asked for, at the end and not before', async () => {
            both.up.next(textStream('Yes.', { reasoning: 'Let me see' }));
            const { events: got } = await streamed(SEALED);
            const marks = got.filter(({ item: it }) => it?.type === 'reasoning').map(({ type, item: it }) => [type, it.encrypted_content?.slice(0, 4)]);
            assert.deepEqual(marks, events.length === 0 ? [] : [['response.output_item.added', undefined], ['response.output_item.done', 'gw1.']]);
        });

        for (const [how, carry] of Object.entries(CARRIES)) {
            /* A hidden item cannot be sent back, so its answer's reasoning is gone; that of calls is remembered. */
            const keepsAnswers = carry.needs === 'store' || (events.length > 0 && carry.needs !== 'memory' && (carry.needs === 'keys' || item('').content.length > 0));

            test(`comes back to the model, carried by ${how}`, async () => {
                const talk = await begin(api, carry);
                both.up.next(thinks('First.', 'c1', 'weather'), thinks('Second.', 'c2', 'weather'), textStream('Done.', { reasoning: 'Third.' }), textStream('Bye.'));
                await talk.ask([user('Hi')], { ...TOOLS, ...more });
                await talk.ask([output('c1', 'rain')], { ...TOOLS, ...more });
                await talk.ask([output('c2', 'snow')], { ...TOOLS, ...more });
                await talk.ask([user('Thanks')], { ...TOOLS, ...more });
                const thoughts = messagesOf(both.up).filter(({ role }) => role === 'assistant').map((message) => message.reasoning_content);
                assert.deepEqual(thoughts, ['First.', 'Second.', keepsAnswers ? 'Third.' : undefined]);
            });
        }
    });
}

test('of two reasoning items in front of one message the model gets both', async (t) => {
    const { up, daemon } = await pair(t);
    const thought = (text) => ({ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text }] });
    await new Api({ up, daemon }, captures).respond({ input: [user('Hi'), thought('One.'), thought('Two.'), { role: 'assistant', content: 'Yes.' }, user('And?')] });
    assert.equal(messagesOf(up)[1].reasoning_content, 'One.\nTwo.');
});

captures.judge(test);
