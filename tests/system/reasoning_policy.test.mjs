/* reasoning_policy.test.mjs -- which reasoning a model gets back, and where it stands in the
 * messages, for every policy and for the families of models that have one of their own.
 *
 * The conversation is always the same: thought, call, output, thought, call, output, thought,
 * answer, question, thought, call, output. Every request is compared whole. Whose reasoning it is
 * stands in reasoning_cache.test.mjs and encrypted_reasoning.test.mjs. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { CARRIES, begin } from '../lib/carries.mjs';
import { Captures } from '../lib/check.mjs';
import { pair, shared, successors } from '../lib/daemon.mjs';
import { Api, assistant, calling, fn, messagesOf, output, toolResult, user } from '../lib/state.mjs';
import { chunk, frames, startUpstream, stream } from '../lib/upstream.mjs';

const captures = new Captures();
const TOOLS = { tools: [fn('weather'), fn('news')] };

/* ---- policies ---- */

const THINK = ['<think>\n', '\n</think>\n\n'];

/* Where reasoning goes, by the words of reasoning_field. */
const PUT = {
    reasoning_content: (message, reasoning_content) => ({ ...message, reasoning_content }),
    reasoning: (message, reasoning) => ({ ...message, reasoning }),
    both: (message, text) => ({ ...message, reasoning_content: text, reasoning: text }),
    think: (message, text, [open, close] = THINK) => ({ ...message, content: open + text + close + (message.content ?? '') }),
    none: (message) => message,
};

/* { model, field, history, tags }: models of families, and models that settings are given for. */
const FAMILIES = [
    ['gpt-oss-20b', 'both', 'open'],
    ['deepseek-r1', 'none', 'all'],
    ['deepseek-v3.2', 'reasoning_content', 'open'],
    ['deepseek-v4', 'reasoning_content', 'all'],
    ['qwen3-8b', 'reasoning_content', 'open'],
    ['glm-4.6', 'reasoning_content', 'open'],
    ['glm-5', 'reasoning_content', 'all'],
    ['kimi-k2-thinking', 'reasoning_content', 'all'],
    ['magistral-small', 'think', 'all', ['[THINK]', '[/THINK]']],
    ['unheard-of', 'reasoning_content', 'all'],
].map(([model, field, history, tags]) => ({ model, field, history, tags }));

const SET = Object.keys(PUT).flatMap((field) => ['all', 'open'].map((history) => ({ model: `${field}-${history}`, field, history })));
const SETTINGS = SET.flatMap(({ model, field, history }) => ['--model-settings', `${model} reasoning_field=${field} reasoning_history=${history}`]).concat('--call-ids', 'keep');

/* ---- the conversation ---- */

const TURNS = [
    { thinks: 'I need the weather.', call: ['c1', 'weather', { city: 'Oslo' }], then: [output('c1', 'sunny')] },
    { thinks: 'And the news.', call: ['c2', 'news', {}], then: [output('c2', 'none')] },
    { thinks: 'That is all.', says: 'Sunny, no news.', then: [user('And Rome?')] },
    { thinks: 'Rome, then.', call: ['c4', 'weather', { city: 'Rome' }], then: [output('c4', 'rain')] },
    { thinks: 'Rain.', says: 'It rains.', then: [] },
];
const ANSWER = TURNS.findIndex(({ says }) => says !== undefined);

const said = ({ thinks, call, says }) => stream(frames(chunk({ reasoning_content: thinks }),
    call ? chunk({ tool_calls: [{ index: 0, id: call[0], type: 'function', function: { name: call[1], arguments: JSON.stringify(call[2]) } }] }) : chunk({ content: says }),
    chunk({}, call ? 'tool_calls' : 'stop'), '[DONE]'));

/* Does the model see the thought of turn i when it is asked for turn n? A client that sends no
 * reasoning has it remembered by calls alone. */
function isKept(i, n, { history }, carry) {
    if (carry.needs === 'memory' && TURNS[i].call === undefined)
        return false;
    return history === 'all' || n <= ANSWER || i > ANSWER;
}

/* What the upstream is asked for turn n. */
const asked = (n, policy, carry) => [user('What is new?'), ...TURNS.slice(0, n).flatMap((turn, i) => {
    const message = turn.call ? calling(turn.call) : assistant(turn.says);
    return [isKept(i, n, policy, carry) ? PUT[policy.field](message, turn.thinks, policy.tags) : message,
        ...turn.then.map((item) => (item.type ? toolResult(item.call_id, item.output) : item))];
})];

/* daemon() is asked for the daemon of each turn. */
async function converse(both, daemon, policy, carry) {
    both.daemon = await daemon();
    const talk = await begin(new Api(both, captures), carry);
    let input = [user('What is new?')];
    for (const [n, turn] of TURNS.entries()) {
        both.daemon = await daemon();
        both.up.next(said(turn));
        await talk.ask(input, { ...TOOLS, model: policy.model });
        assert.deepEqual(messagesOf(both.up), asked(n, policy, carry), `turn ${n}`);
        input = turn.then;
    }
}

describe('policies', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...SETTINGS);

    for (const policy of [...FAMILIES, ...SET])
        for (const [how, carry] of Object.entries(CARRIES))
            test(`${policy.model}: ${policy.field}, ${policy.history}; carried by ${how}`, () => converse({ up: both.up }, async () => both.daemon, policy, carry));
});

describe('policies of daemons that were started anew for each turn', { concurrency: false }, () => {
    for (const policy of [...FAMILIES.slice(0, 3), ...SET])
        for (const [how, carry] of Object.entries(CARRIES).filter(([, { needs }]) => needs === 'store' || needs === 'keys'))
            test(`${policy.model}: ${policy.field}, ${policy.history}; carried by ${how}`, async (t) => {
                const up = await startUpstream();
                t.after(() => up.close());
                await converse({ up }, successors(t, up, ...SETTINGS), policy, carry);
            });
});

/* ---- keys in place of lines for models ---- */

describe('the configuration\'s own keys', { concurrency: false }, () => {
    const carry = CARRIES['items of the client'];

    for (const [flags, policy] of [
        [[], { model: 'gpt-oss-20b', field: 'both', history: 'open' }],
        [['--reasoning-field', 'reasoning'], { model: 'gpt-oss-20b', field: 'reasoning', history: 'open' }],
        [['--reasoning-history', 'all'], { model: 'gpt-oss-20b', field: 'both', history: 'all' }],
        [['--reasoning-field', 'none', '--model-settings', 'gpt* reasoning_field=think'], { model: 'gpt-oss-20b', field: 'think', history: 'open' }],
        [['--model-alias', 'mine=deepseek-r1'], { model: 'mine', field: 'none', history: 'all' }],
    ])
        test(`${flags.join(' ') || 'none'}: ${policy.model} gets ${policy.field}, ${policy.history}`, async (t) => {
            const { up, daemon } = await pair(t, ...flags);
            await converse({ up }, async () => daemon, policy, carry);
        });
});

/* ---- calls made together ---- */

const PAIR = [['a', 'weather', { city: 'Oslo' }], ['b', 'news', {}]];
const PAIRED = [user('Hi'), { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Both.' }] },
    ...PAIR.map(([call_id, name, args]) => ({ type: 'function_call', call_id, name, arguments: JSON.stringify(args) })), output('a', '1'), output('b', '2')];

describe('calls that were made together', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--model-settings', 'one-by-one call_messages=single', '--model-settings', 'gpt-oss-merged call_messages=merged');
    const api = new Api(both, captures);
    const merged = (policy) => [user('Hi'), PUT[policy](calling(...PAIR), 'Both.'), toolResult('a', '1'), toolResult('b', '2')];
    const single = (policy) => [user('Hi'), PUT[policy](calling(PAIR[0]), 'Both.'), toolResult('a', '1'), calling(PAIR[1]), toolResult('b', '2')];

    for (const [model, want] of [['m', merged('reasoning_content')], ['one-by-one', single('reasoning_content')], ['gpt-oss-20b', single('both')], ['gpt-oss-merged', merged('both')]])
        test(`are messages as ${model} wants them`, async () => {
            await api.respond({ ...TOOLS, model, input: PAIRED });
            assert.deepEqual(messagesOf(both.up), want);
        });
});

captures.judge(test);
