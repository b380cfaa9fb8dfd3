/* state_items.test.mjs -- the endpoints of a stored response, the list of its
 * input items, and references to items. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { shared } from '../lib/daemon.mjs';
import {
    Api, NOT_FOUND, NO_ITEM, assistant, calling, fn, messagesOf, output, reference, strange, textOf, toolResult, user,
} from '../lib/state.mjs';
import { callStream, chunk, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const UNKNOWN = 'resp_00000000000000000000000000000000';
const TOOLS = [fn('weather')];

function setup(...args) {
    const both = shared({ before, beforeEach, after }, ...args);
    return { both, api: new Api(both, captures) };
}

describe('a stored response', { concurrency: false }, () => {
    const { both, api } = setup();

    /* [what, upstream's answer, request] */
    for (const [what, answer, more] of [
        ['text', textStream(' Hello "world"\n\u2028 é 漢 \u{1f600}'), {}],
        ['reasoning', textStream('Yes.', { reasoning: 'Let me see' }), {}],
        ['a summary', textStream('Yes.', { reasoning: 'Let me see' }), { reasoning: { summary: 'auto' } }],
        ['a call', callStream(['weather', { city: 'Oslo' }, 'a']), { tools: TOOLS }],
        ['a custom call', callStream(['patch', { input: 'x' }, 'a']), { tools: [{ type: 'custom', name: 'patch' }] }],
        ['a refusal', stream(frames(chunk({ refusal: 'No.' }), chunk({}, 'stop'), '[DONE]')), {}],
        ['no output', textStream(''), {}],
        ['a cut answer', textStream('Cut', { finish: 'length' }), { max_output_tokens: 1 }],
        ['every field', textStream('{}'), {
            instructions: 'i', temperature: 0.1, top_p: 0.25, max_output_tokens: 99, metadata: { k: 'v "é"' }, user: 'u',
            reasoning: { effort: 'low' }, safety_identifier: 's', prompt_cache_key: 'p', truncation: 'auto', parallel_tool_calls: false,
            text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object', properties: {} } } },
            tools: TOOLS, tool_choice: 'none',
        }],
    ]) {
        test(`with ${what} is shown byte by byte as it was`, async () => {
            both.up.next(answer);
            const made = await api.answer(more);
            for (let i = 0; i < 2; i++) {
                const got = await api.get(`responses/${made.json.id}`);
                assert.deepEqual([got.status, got.text], [200, made.text]);
                assert.match(got.headers['content-type'], /^application\/json/);
            }
        });
    }

    test('is the same under /responses', async () => {
        const made = await api.answer();
        assert.equal((await api.get(`responses/${made.json.id}`)).text, made.text);
        assert.equal((await api.get(`/responses/${made.json.id}`)).text, made.text);
        await api.list(`/responses/${made.json.id}/input_items`);
        await api.remove(`/responses/${made.json.id}`);
    });

    test('is found by ids in any spelling that HTTP allows', async () => {
        const made = await api.answer();
        const spelled = made.json.id.replace('_', '%5F').replace(/.$/, (last) => `%${last.charCodeAt(0).toString(16)}`);
        assert.equal((await api.get(`responses/${spelled}`)).text, made.text);
    });

    /* [query, error or undefined] */
    for (const [query, error] of [
        ['include[]=message.output_text.logprobs'], ['include=reasoning.encrypted_content'], ['stream=false'], ['include_obfuscation=true'],
        ['include[]=code_interpreter_call.outputs&include[]=web_search_call.action.sources'], ['starting_after=3'], ['unknown=1'], [''],
        ['include[]=all', [400, 'invalid_value', 'include']], ['stream=yes', [400, 'invalid_value', 'stream']],
        ['stream=true&starting_after=x', [400, 'invalid_value', 'starting_after']],
    ]) {
        test(`asked for with ?${query} is ${error ? 'refused' : 'shown'}`, async () => {
            const made = await api.answer();
            const path = `responses/${made.json.id}?${query}`;
            if (error)
                await api.refused('GET', path, undefined, error);
            else
                assert.deepEqual(await api.read(path), made.json);
        });
    }

    test('that ran in the foreground cannot be cancelled', async () => {
        const { id } = await api.respond();
        await api.refused('POST', `responses/${id}/cancel`, undefined, [400, 'invalid_value']);
        assert.equal((await api.read(`responses/${id}`)).status, 'completed');
    });

    for (const [method, path] of [['GET', ''], ['DELETE', ''], ['POST', '/cancel'], ['GET', '/input_items']]) {
        for (const id of [UNKNOWN, 'x', 'resp_', '%27', 'resp_%00', 'resp_%F0%9F%98%80', `resp_${'x'.repeat(5000)}`, 'msg_1']) {
            test(`${method} responses/${id.slice(0, 40)}${path} is not found`, async () => {
                const { message } = await api.refused(method, `responses/${id}${path}`, undefined, [404, 'not_found', null]);
                if (id === UNKNOWN)
                    assert.equal(message, `Response with id '${id}' not found.`);
            });
        }
    }

    for (const [method, path, allow] of [['PUT', '', 'GET'], ['PATCH', '', 'DELETE'], ['POST', '/input_items', 'GET'], ['GET', '/cancel', 'POST']]) {
        test(`${method} responses/{id}${path} is not allowed, ${allow} is`, async () => {
            const got = await api.call(method, `responses/${UNKNOWN}${path}`);
            assert.deepEqual([got.status, got.json.error.code], [405, 'method_not_allowed']);
            assert.ok(got.headers.allow.split(/, */).includes(allow), got.headers.allow);
        });
    }
});

describe('deleting', { concurrency: false }, () => {
    const { both, api } = setup();

    test('the last response of a chain removes it', async () => {
        const parent = await api.respond({ input: 'One' });
        const leaf = await api.respond({ input: 'Two', previous_response_id: parent.id });
        assert.deepEqual(await api.remove(`responses/${leaf.id}`), { id: leaf.id, object: 'response', deleted: true });
        for (const [method, path] of [['GET', ''], ['GET', '/input_items'], ['DELETE', '']])
            await api.refused(method, `responses/${leaf.id}${path}`, undefined, NOT_FOUND);
        await api.respond({ input: 'Three', previous_response_id: parent.id });
        assert.deepEqual(messagesOf(both.up), [user('One'), assistant('Hello'), user('Three')]);
    });

    test('a response in the middle leaves later ones whole', async () => {
        const root = await api.respond({ input: 'One', tools: TOOLS });
        const second = await api.respond({ input: 'Two', previous_response_id: root.id });
        const third = await api.answer({ input: 'Three', previous_response_id: second.id });
        for (const { id } of [second, root]) {
            await api.remove(`responses/${id}`);
            await api.refused('GET', `responses/${id}`, undefined, NOT_FOUND);
            await api.refused('GET', `responses/${id}/input_items`, undefined, NOT_FOUND);
        }
        assert.equal((await api.get(`responses/${third.json.id}`)).text, third.text);
        const fourth = await api.respond({ input: 'Four', previous_response_id: third.json.id });
        assert.deepEqual(messagesOf(both.up).map((m) => m.content), ['One', 'Hello', 'Two', 'Hello', 'Three', 'Hello', 'Four']);
        assert.deepEqual(fourth.tools, third.json.tools);
    });

    test('one branch leaves the other', async () => {
        const root = await api.respond({ input: 'One' });
        const [left, right] = [await api.respond({ input: 'L', previous_response_id: root.id }), await api.respond({ input: 'R', previous_response_id: root.id })];
        for (const { id } of [root, left])
            await api.remove(`responses/${id}`);
        await api.respond({ input: 'R2', previous_response_id: right.id });
        assert.deepEqual(messagesOf(both.up).map((m) => m.content), ['One', 'Hello', 'R', 'Hello', 'R2']);
    });
});

describe('input items', { concurrency: false }, () => {
    const { both, api } = setup();
    const many = async (n) => (await api.respond({ input: Array.from({ length: n }, (_, i) => user(`item ${i}`)) })).id;

    test('a string is shown as a message', async () => {
        const { id } = await api.respond({ input: 'Hi "é"' });
        const [item, ...others] = await api.list(`responses/${id}/input_items`);
        assert.match(item.id, /^msg_[0-9A-Za-z]{32,}$/);
        assert.deepEqual([{ ...item, id: '' }, others],
            [{ id: '', type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'Hi "é"' }] }, []]);
    });

    test('items of every kind are shown whole; ids and status are added where they were missing', async () => {
        const input = [
            { role: 'developer', content: 'Be brief.' },
            { role: 'user', content: [{ type: 'input_text', text: 'What?' }, { type: 'input_image', image_url: 'data:image/png;base64,AA==' }] },
            { role: 'assistant', content: 'Well.' },
            { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] },
            { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{}' },
            output('a', 'cold'),
            { type: 'custom_tool_call', call_id: 'b', name: 'patch', input: 'x' },
            { type: 'custom_tool_call_output', call_id: 'b', output: 'done' },
            { type: 'message', id: 'msg_mine', role: 'user', content: 'Last' },
        ];
        const { id } = await api.respond({ input });
        const items = await api.list(`responses/${id}/input_items?order=asc`);
        assert.deepEqual(items.map((item) => item.id.replace(/_[0-9A-Za-z]{32,}$/, '_')), ['msg_', 'msg_', 'msg_', 'rs_', 'fc_', 'fco_', 'ctc_', 'ctco_', 'msg_mine']);
        assert.deepEqual(items.map((item) => item.status), items.map(() => 'completed'));
        const bare = items.map(({ id: _, status: __, ...item }) => item);
        assert.deepEqual(bare[1], { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What?' }, { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'auto' }] });
        assert.deepEqual(bare[2], { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Well.', annotations: [], logprobs: [] }] });
        assert.deepEqual(bare.slice(3, 8), input.slice(3, 8));
        assert.deepEqual(await api.list(`responses/${id}/input_items?order=asc`), items, 'the same again');
    });

    test('are those of one request, not of its parents, and no output', async () => {
        const first = await api.respond({ input: 'One', instructions: 'Not an item.' });
        const second = await api.respond({ input: [user('Two'), user('Three')], previous_response_id: first.id });
        assert.deepEqual((await api.list(`responses/${second.id}/input_items`)).map(textOf), ['Three', 'Two']);
        assert.deepEqual((await api.list(`responses/${first.id}/input_items`)).map(textOf), ['One']);
        const third = await api.respond({ input: [], previous_response_id: second.id });
        assert.deepEqual(await api.read(`responses/${third.id}/input_items`), { object: 'list', data: [], first_id: null, last_id: null, has_more: false });
    });

    test('the newest comes first, unless order says otherwise; 20 come at once, unless limit does', async () => {
        const path = `responses/${await many(101)}/input_items`;
        for (const [query, first, n] of [['', 100, 20], ['?order=desc', 100, 20], ['?order=asc', 0, 20], ['?order=asc&limit=1', 0, 1], ['?limit=100', 100, 100]]) {
            const { data, first_id, last_id, has_more } = await api.read(path + query);
            assert.deepEqual([textOf(data[0]), data.length, has_more], [`item ${first}`, n, true], query);
            assert.deepEqual([first_id, last_id], [data[0].id, data.at(-1).id]);
        }
    });

    for (const order of ['asc', 'desc']) {
        for (const limit of [1, 3, 7, 100]) {
            test(`pages of ${limit}, ${order}, show each item once`, async () => {
                const pages = await api.pages(`responses/${await many(7)}/input_items?order=${order}&limit=${limit}`);
                const all = Array.from({ length: 7 }, (_, i) => `item ${i}`);
                assert.deepEqual(pages.flat().map(textOf), order === 'asc' ? all : all.reverse());
                assert.equal(pages.length, Math.ceil(7 / limit));
            });
        }
    }

    test('pages come to an end where several items have one id', async () => {
        const { output: [{ id: twice }] } = await api.respond();
        const { id } = await api.respond({ input: [user('a'), reference(twice), reference(twice), reference(twice), user('b')] });
        for (const [order, first, last] of [['asc', 'a', 'b'], ['desc', 'b', 'a']]) {
            const items = (await api.pages(`responses/${id}/input_items?order=${order}&limit=1`)).flat();
            assert.deepEqual([textOf(items[0]), textOf(items.at(-1))], [first, last]);
        }
    });

    test('nothing comes after the last one', async () => {
        const path = `responses/${await many(2)}/input_items`;
        const { last_id } = await api.read(path);
        assert.deepEqual(await api.list(`${path}?after=${last_id}`), []);
    });

    for (const [query, error] of [
        ['limit=0', [400, 'integer_below_min_value', 'limit']], ['limit=101', [400, 'integer_above_max_value', 'limit']],
        ['limit=-1', [400, 'integer_below_min_value', 'limit']], ['limit=99999999999999999999', [400, undefined, 'limit']],
        ['limit=many', [400, 'invalid_type', 'limit']], ['limit=1.5', [400, 'invalid_type', 'limit']],
        ['order=up', [400, 'invalid_value', 'order']], ['include[]=all', [400, 'invalid_value', 'include']],
    ])
        test(`${query} is refused`, async () => void await api.refused('GET', `responses/${await many(1)}/input_items?${query}`, undefined, error));

    test('after must be an item of the list', async () => {
        const [one, other] = [await api.respond(), await api.respond()];
        const [{ id: foreign }] = await api.list(`responses/${other.id}/input_items`);
        for (const after_id of [foreign, 'msg_x', one.output[0].id, "'"])
            await api.refused('GET', `responses/${one.id}/input_items?after=${encodeURIComponent(after_id)}`, undefined, NOT_FOUND);
    });

    test('include is accepted', async () => {
        const { id } = await api.respond();
        assert.equal((await api.list(`responses/${id}/input_items?include[]=message.input_image.image_url`)).length, 1);
    });
});

describe('references to items', { concurrency: false }, () => {
    const { both, api } = setup();

    test('stand for answers, reasoning and calls', async () => {
        both.up.next(stream(frames(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'I look.' }),
            chunk({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } }] }), chunk({}, 'tool_calls'), '[DONE]')));
        const first = await api.respond({ tools: TOOLS });
        assert.deepEqual(first.output.map((item) => item.type), ['reasoning', 'message', 'function_call']);
        for (const refer of [reference, (id) => ({ id })]) {
            const input = [user('Hi'), ...first.output.map((item) => refer(item.id)), output('a', 'cold')];
            const second = await api.respond({ input, tools: TOOLS });
            assert.deepEqual(messagesOf(both.up), [user('Hi'), { ...calling(['a', 'weather', {}]), content: 'I look.', reasoning_content: 'Hm' }, toolResult('a', 'cold')]);
            const items = await api.list(`responses/${second.id}/input_items?order=asc`);
            assert.deepEqual(items.slice(1, 4), first.output, 'and are listed as what they stand for');
        }
    });

    test('stand for input items, by ids of the client or of the gateway', async () => {
        const { id } = await api.respond({ input: [{ type: 'message', id: 'msg_of_client', role: 'user', content: 'One' }, user('Two')] });
        const [two, one] = await api.list(`responses/${id}/input_items`);
        assert.equal(one.id, 'msg_of_client');
        await api.respond({ input: [reference(two.id), reference(one.id)] });
        assert.deepEqual(messagesOf(both.up), [user('Two'), user('One')]);
    });

    test('can be referred to again, and continued', async () => {
        both.up.next(textStream('First.'));
        const { output: [{ id: message }] } = await api.respond();
        const second = await api.respond({ input: [user('A'), reference(message), user('B')] });
        const third = await api.respond({ input: [reference(message), user('C')] });
        assert.deepEqual(messagesOf(both.up), [assistant('First.'), user('C')]);
        await api.respond({ input: 'D', previous_response_id: second.id });
        assert.deepEqual(messagesOf(both.up).map((m) => m.content), ['A', 'First.', 'B', 'Hello', 'D']);
        assert.equal(third.status, 'completed');
    });

    test('keep what they stand for when its response is deleted', async () => {
        both.up.next(textStream('First.'));
        const first = await api.respond();
        const second = await api.respond({ input: [user('A'), reference(first.output[0].id)] });
        await api.remove(`responses/${first.id}`);
        await api.respond({ input: 'B', previous_response_id: second.id });
        assert.deepEqual(messagesOf(both.up).map((m) => m.content), ['A', 'First.\nHello', 'B']);
        assert.deepEqual((await api.list(`responses/${second.id}/input_items`))[0], first.output[0]);
    });

    /* [what, function that gives an id nobody can refer to] */
    for (const [what, idOf] of [
        ['an unknown item', async () => strange((await api.respond()).output[0].id)],
        ['a response', async () => (await api.respond()).id],
        ['an item that was not stored', async () => (await api.respond({ store: false })).output[0].id],
        ['an item of a deleted response', async () => {
            const made = await api.respond();
            await api.remove(`responses/${made.id}`);
            return made.output[0].id;
        }],
        ['odd text', () => "'; -- é"],
    ]) {
        for (const streamed of [false, true]) {
            test(`${what} is not found${streamed ? ', streamed' : ''}`, async () => {
                const id = await idOf();
                const { message } = await api.turnedAway({ input: [user('A'), reference(id)], stream: streamed }, NO_ITEM);
                assert.equal(message, `Item with id '${id}' not found.`);
            });
        }
    }
});

captures.judge(test);
