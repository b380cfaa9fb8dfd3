/* state.test.mjs -- previous_response_id: what a chain of responses remembers,
 * what it does not, and what cannot be continued. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { shared } from '../lib/daemon.mjs';
import {
    Api, NOT_FOUND, NO_PARENT, assistant, calling, fn, messagesOf, output, system, textOf, toolResult, user,
} from '../lib/state.mjs';
import { callStream, chunk, failure, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const TOOLS = [fn('weather'), fn('news')];

/* An upstream that thinks before it calls. */
const thoughtfulCall = (text, id, args) => stream(frames(chunk({ reasoning_content: text }),
    chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name: 'weather', arguments: JSON.stringify(args) } }] }),
    chunk({}, 'tool_calls'), '[DONE]'));

/* A daemon of its own for a group of tests, and its client. */
function setup(...args) {
    const both = shared({ before, beforeEach, after }, ...args);
    return { both, api: new Api(both, captures) };
}

describe('what a chain remembers', { concurrency: false }, () => {
    const { both, api } = setup();

    test('input and output of the earlier turn stand before the new input', async () => {
        both.up.next(textStream('First.'), textStream('Second.'), textStream('Third.'));
        const first = await api.respond({ input: 'One' });
        assert.equal(first.previous_response_id, null);
        const second = await api.respond({ input: 'Two', previous_response_id: first.id });
        assert.deepEqual([second.previous_response_id, textOf(second.output[0])], [first.id, 'Second.']);
        assert.deepEqual(messagesOf(both.up), [user('One'), assistant('First.'), user('Two')]);
        await api.respond({ input: 'Three', previous_response_id: second.id });
        assert.deepEqual(messagesOf(both.up), [user('One'), assistant('First.'), user('Two'), assistant('Second.'), user('Three')]);
    });

    test('a misspelled name of the id is read', async () => {
        const first = await api.respond({ input: 'One' });
        const second = await api.respond({ input: 'Two', previous_responses_id: first.id });
        assert.equal(second.previous_response_id, first.id);
        assert.deepEqual(messagesOf(both.up), [user('One'), assistant('Hello'), user('Two')]);
    });

    test('instructions hold for one turn, system and developer items for all', async () => {
        const first = await api.respond({ instructions: 'Be brief.', input: [{ role: 'developer', content: 'No jokes.' }, user('One')] });
        const second = await api.respond({ input: 'Two', previous_response_id: first.id });
        assert.equal(second.instructions, null);
        assert.deepEqual(messagesOf(both.up), [system('No jokes.'), user('One'), assistant('Hello'), user('Two')]);
        await api.respond({ instructions: 'Be long.', input: 'Three', previous_response_id: second.id });
        assert.deepEqual(messagesOf(both.up)[0], system('Be long.\n\nNo jokes.'));
    });

    test('nothing but items and tools is carried over', async () => {
        const first = await api.respond({
            temperature: 0.5, max_output_tokens: 50, metadata: { a: 'b' }, reasoning: { effort: 'low' },
            text: { format: { type: 'json_object' } }, user: 'u', stop: ['x'],
        });
        const second = await api.respond({ previous_response_id: first.id });
        assert.deepEqual([second.temperature, second.max_output_tokens, second.metadata, second.reasoning.effort, second.text.format.type, second.user],
            [1, null, {}, null, 'text', undefined]);
        const { body } = both.up.requests.at(-1);
        assert.deepEqual(['temperature', 'max_tokens', 'reasoning_effort', 'response_format', 'user', 'stop'].filter((name) => name in body), []);
    });

    test('a call, its output and the answer to it', async () => {
        both.up.next(callStream(['weather', { city: 'Oslo' }, 'a']), textStream('Sunny.'));
        const first = await api.respond({ input: 'Weather?', tools: TOOLS });
        const second = await api.respond({ input: [output('a', '3 degrees')], previous_response_id: first.id });
        const asked = [user('Weather?'), calling(['a', 'weather', { city: 'Oslo' }]), toolResult('a', '3 degrees')];
        assert.deepEqual(messagesOf(both.up), asked);
        await api.respond({ input: 'Thanks', previous_response_id: second.id });
        assert.deepEqual(messagesOf(both.up), [...asked, assistant('Sunny.'), user('Thanks')]);
    });

    test('parallel calls are one message, their outputs in call order', async () => {
        both.up.next(callStream(['weather', { city: 'Oslo' }, 'a'], ['weather', { city: 'Rome' }, 'b']));
        const first = await api.respond({ input: 'Weather?', tools: TOOLS });
        await api.respond({ input: [output('b', 'hot'), output('a', 'cold')], previous_response_id: first.id });
        assert.deepEqual(messagesOf(both.up), [user('Weather?'),
            calling(['a', 'weather', { city: 'Oslo' }], ['b', 'weather', { city: 'Rome' }]), toolResult('a', 'cold'), toolResult('b', 'hot')]);
    });

    test('a call that nobody answered is closed for the upstream', async () => {
        both.up.next(callStream(['weather', {}, 'a']));
        const first = await api.respond({ input: 'Weather?', tools: TOOLS });
        await api.respond({ input: 'Never mind', previous_response_id: first.id });
        assert.deepEqual(messagesOf(both.up), [user('Weather?'), calling(['a', 'weather', {}]), toolResult('a', '[no output]'), user('Never mind')]);
    });

    test('a custom tool call and its output', async () => {
        both.up.next(callStream(['patch', { input: '*** begin' }, 'a']));
        const first = await api.respond({ tools: [{ type: 'custom', name: 'patch' }] });
        assert.deepEqual([first.output[0].type, first.output[0].input], ['custom_tool_call', '*** begin']);
        await api.respond({ input: [{ type: 'custom_tool_call_output', call_id: 'a', output: 'done' }], previous_response_id: first.id });
        assert.deepEqual(messagesOf(both.up), [user('Hi'), calling(['a', 'patch', { input: '*** begin' }]), toolResult('a', 'done')]);
    });

    test('a call whose name the upstream knows in another spelling', async () => {
        const tools = [fn('files.read')];
        both.up.next(callStream(['files_read', {}, 'a']), callStream(['files_read', {}, 'b']));
        const first = await api.respond({ tools });
        assert.equal(first.output[0].name, 'files.read');
        const second = await api.respond({ input: [output('a', 'x')], previous_response_id: first.id });
        assert.equal(second.output[0].name, 'files.read');
        assert.deepEqual(messagesOf(both.up).slice(1), [calling(['a', 'files_read', {}]), toolResult('a', 'x')]);
    });

    test('pictures', async () => {
        const first = await api.respond({ input: [user([{ type: 'input_text', text: 'What?' }, { type: 'input_image', image_url: PIXEL, detail: 'low' }])] });
        await api.respond({ input: 'And now?', previous_response_id: first.id });
        assert.deepEqual(messagesOf(both.up)[0],
            user([{ type: 'text', text: 'What?' }, { type: 'image_url', image_url: { url: PIXEL, detail: 'low' } }]));
    });

    test('a refusal', async () => {
        both.up.next(stream(frames(chunk({ refusal: 'I will not.' }), chunk({}, 'stop'), '[DONE]')));
        const first = await api.respond();
        await api.respond({ previous_response_id: first.id });
        assert.deepEqual(messagesOf(both.up)[1], assistant('I will not.'));
    });

    test('text of every kind, unchanged', async () => {
        const text = ' "quoted" \\ back\tslash\n\u2028 \u0085 \u0001 é 漢 \u{1f600} </script> ';
        both.up.next(textStream(text));
        const first = await api.respond({ input: text });
        await api.respond({ previous_response_id: first.id });
        assert.deepEqual(messagesOf(both.up), [user(text), assistant(text), user('Hi')]);
    });

    test('megabytes', async () => {
        const [question, answer] = ['q'.repeat(3 << 20), 'a'.repeat(1 << 20)];
        both.up.next(textStream(answer));
        const first = await api.answer({ input: question });
        assert.ok((await api.get(`responses/${first.json.id}`)).bytes.equals(first.bytes));
        await api.respond({ previous_response_id: first.json.id });
        assert.deepEqual(messagesOf(both.up).map((m) => m.content.length), [question.length, answer.length, 2]);
    });

    test('less of it, when the context overflows and truncation is auto', async () => {
        const first = await api.respond({ input: [{ role: 'developer', content: 'Rule' }, user('One')] });
        const second = await api.respond({ input: 'Two', previous_response_id: first.id });
        both.up.next(failure(400, 'too long', { code: 'context_length_exceeded' }));
        const third = await api.respond({ input: 'Three', previous_response_id: second.id, truncation: 'auto' });
        const contents = messagesOf(both.up).map((m) => m.content);
        assert.deepEqual([contents[0], contents.at(-1), contents.includes('One')], ['Rule', 'Three', false]);
        await api.respond({ input: 'Four', previous_response_id: third.id }); /* what was left out once is not forgotten */
        assert.deepEqual(messagesOf(both.up).map((m) => m.content), ['Rule', 'One', 'Hello', 'Two', 'Hello', 'Three', 'Hello', 'Four']);
    });

    test('without input, the chain alone is sent', async () => {
        const first = await api.respond({ input: 'One' });
        for (const input of [undefined, null, []]) {
            await api.respond({ input, previous_response_id: first.id });
            assert.deepEqual(messagesOf(both.up), [user('One'), assistant('Hello')]);
        }
    });

    for (const [finish, reason] of [['length', 'max_output_tokens'], ['content_filter', 'content_filter']]) {
        test(`an answer that ended incomplete, with ${finish}, is continued`, async () => {
            both.up.next(textStream('Cut', { finish }));
            const first = await api.respond({ input: 'One' });
            assert.deepEqual([first.status, first.incomplete_details.reason], ['incomplete', reason]);
            await api.respond({ input: 'Go on', previous_response_id: first.id });
            assert.deepEqual(messagesOf(both.up), [user('One'), assistant('Cut'), user('Go on')]);
        });
    }

    test('twenty turns, each text once and in order', async () => {
        const said = [];
        let previous_response_id;
        for (let turn = 0; turn < 20; turn++) {
            both.up.next(textStream(`answer ${turn}`));
            said.push(user(`question ${turn}`));
            ({ id: previous_response_id } = await api.respond({ input: `question ${turn}`, previous_response_id }));
            assert.deepEqual(messagesOf(both.up), said);
            said.push(assistant(`answer ${turn}`));
        }
    });
});

/* [how reasoning is shown, flags, request] */
for (const [how, flags, more] of [
    ['as text', [], {}],
    ['as a summary', [], { reasoning: { summary: 'auto' } }],
    ['as a summary by configuration', ['--reasoning', 'summary'], {}],
    ['not at all', ['--reasoning', 'none'], {}],
]) {
    describe(`reasoning that clients see ${how}`, { concurrency: false }, () => {
        const { both, api } = setup('--reasoning-cache', '0', ...flags);

        test('goes back to the upstream with the text it led to', async () => {
            both.up.next(textStream('Yes.', { reasoning: 'Let me see' }));
            const first = await api.respond({ input: 'One', ...more });
            await api.respond({ input: 'Two', previous_response_id: first.id, ...more });
            assert.deepEqual(messagesOf(both.up), [user('One'), assistant('Yes.', { reasoning_content: 'Let me see' }), user('Two')]);
        });

        test('goes back to the upstream with the call it led to', async () => {
            both.up.next(thoughtfulCall('Let me look.', 'a', { city: 'Oslo' }));
            const first = await api.respond({ input: 'Weather?', tools: TOOLS, ...more });
            await api.respond({ input: [output('a', 'cold')], previous_response_id: first.id, ...more });
            assert.deepEqual(messagesOf(both.up)[1], { ...calling(['a', 'weather', { city: 'Oslo' }]), reasoning_content: 'Let me look.' });
        });
    });
}

describe('tools of a chain', { concurrency: false }, () => {
    const { both, api } = setup();
    const namesOf = (tools) => tools?.map((tool) => tool.name ?? tool.function.name);
    const sent = () => {
        const { tools, tool_choice } = both.up.requests.at(-1).body;
        return [namesOf(tools), tool_choice];
    };

    test('are inherited with their choice, shown, and inherited again', async () => {
        const first = await api.respond({ tools: TOOLS, tool_choice: 'required' });
        const second = await api.respond({ previous_response_id: first.id });
        assert.deepEqual([second.tools, second.tool_choice], [first.tools, 'required']);
        assert.deepEqual(sent(), [['weather', 'news'], 'required']);
        assert.deepEqual(both.up.requests[1].body.tools, both.up.requests[0].body.tools);
        const third = await api.respond({ previous_response_id: second.id, tools: null });
        assert.deepEqual([third.tools, third.tool_choice], [first.tools, 'required']);
    });

    test('a choice of one tool is inherited too, and can be changed', async () => {
        const tool_choice = { type: 'function', name: 'news' };
        const first = await api.respond({ tools: TOOLS, tool_choice });
        const second = await api.respond({ previous_response_id: first.id });
        assert.deepEqual(second.tool_choice, tool_choice);
        const third = await api.respond({ previous_response_id: second.id, tool_choice: 'none' });
        assert.deepEqual([namesOf(third.tools), third.tool_choice], [['weather', 'news'], 'none']);
        const fourth = await api.respond({ previous_response_id: third.id, tool_choice: { type: 'function', name: 'weather' } });
        assert.deepEqual(fourth.tool_choice, { type: 'function', name: 'weather' });
        assert.deepEqual(sent()[1], { type: 'function', function: { name: 'weather' } });
    });

    test('own tools take the place of the earlier ones, none included', async () => {
        const first = await api.respond({ tools: TOOLS, tool_choice: { type: 'function', name: 'news' } });
        const other = await api.respond({ previous_response_id: first.id, tools: [fn('other')] });
        assert.deepEqual([namesOf(other.tools), other.tool_choice, ...sent()], [['other'], 'auto', ['other'], undefined]);
        const none = await api.respond({ previous_response_id: first.id, tools: [] });
        assert.deepEqual([none.tools, none.tool_choice, ...sent()], [[], 'auto', undefined, undefined]);
    });

    test('a choice that no inherited tool fits is refused', async () => {
        const first = await api.respond({ tools: TOOLS });
        await api.turnedAway({ previous_response_id: first.id, tool_choice: { type: 'function', name: 'other' } }, [400, 'invalid_value', 'tool_choice']);
    });

    test('that came as an item of the chain are there, once', async () => {
        const first = await api.respond({ input: [{ type: 'additional_tools', role: 'developer', tools: [fn('extra')] }, user('Hi')], tools: TOOLS });
        const names = sent()[0];
        assert.deepEqual([...names].sort(), ['extra', 'news', 'weather']);
        const second = await api.respond({ previous_response_id: first.id });
        assert.deepEqual(sent()[0].sort(), ['extra', 'news', 'weather']);
        await api.respond({ previous_response_id: second.id, tools: [fn('other')] });
        assert.deepEqual(sent()[0].sort(), ['extra', 'other']);
    });

    test('an inherited custom tool still makes custom calls', async () => {
        const first = await api.respond({ tools: [{ type: 'custom', name: 'patch' }] });
        both.up.next(callStream(['patch', { input: 'x' }, 'a']));
        const { output: [call] } = await api.respond({ previous_response_id: first.id });
        assert.deepEqual([call.type, call.input], ['custom_tool_call', 'x']);
    });
});

describe('branches of one parent', { concurrency: false }, () => {
    const { both, api } = setup();

    test('never see each other', async () => {
        both.up.next(callStream(['weather', {}, 'a']));
        const parent = await api.respond({ input: 'One', instructions: 'Parent.', tools: TOOLS });
        const asked = [user('One'), calling(['a', 'weather', {}])];
        for (const name of ['x', 'y', 'z']) {
            both.up.next(textStream(`answer ${name}`));
            await api.respond({ input: [output('a', name)], instructions: `Be ${name}.`, previous_response_id: parent.id });
            assert.deepEqual(messagesOf(both.up), [system(`Be ${name}.`), ...asked, toolResult('a', name)]);
        }
        await api.respond({ input: [output('a', 'last')], previous_response_id: parent.id });
        assert.deepEqual(messagesOf(both.up), [...asked, toolResult('a', 'last')]);
    });

    test('grow side by side at the same time', async () => {
        both.up.always(({ body }) => textStream(`re ${body.messages.at(-1).content}`));
        const parent = await api.respond({ input: 'root' });
        const grow = async (name) => {
            const said = [user('root'), assistant('re root')];
            let { id } = parent;
            for (let turn = 0; turn < 6; turn++) {
                const input = `${name}${turn}`;
                said.push(user(input));
                ({ id } = await api.respond({ input, previous_response_id: id, metadata: { name } }));
                const { body } = both.up.requests.find((request) => request.body.messages.at(-1).content === input);
                assert.deepEqual(body.messages, said);
                said.push(assistant(`re ${input}`));
            }
        };
        await Promise.all(['a', 'b', 'c', 'd'].map(grow));
    });
});

describe('what cannot be continued', { concurrency: false }, () => {
    const { both, api } = setup('--early-error-window', '0');
    const failing = () => stream(frames(chunk({ content: 'half' }), { error: { message: 'KV cache is full', code: 500 } }));
    const gone = async () => {
        const { id } = await api.respond();
        await api.remove(`responses/${id}`);
        return id;
    };
    const failed = async () => {
        both.up.next(failing());
        const { response } = await api.stream();
        assert.equal(response.status, 'failed');
        return response.id;
    };

    /* [what, function that gives its id] */
    for (const [what, idOf] of [
        ['an unknown response', () => 'resp_00000000000000000000000000000000'],
        ['an id of another kind', async () => (await api.respond()).output[0].id],
        ['an id that means something in SQL', () => "resp_' OR '1'='1"],
        ['an id with a percent sign', () => 'resp_%'],
        ['an id with a NUL', () => 'resp_\0'],
        ['a very long id', () => `resp_${'x'.repeat(100_000)}`],
        ['a deleted response', gone],
        ['a response that was not to be stored', async () => (await api.respond({ store: false })).id],
        ['a failed response', failed],
    ]) {
        for (const streamed of [false, true]) {
            test(`${what}${streamed ? ', streamed' : ''}`, async () => {
                const id = await idOf();
                const error = await api.turnedAway({ previous_response_id: id, stream: streamed }, NO_PARENT);
                if (id.length < 100 && !id.includes('\0'))
                    assert.equal(error.message, `Previous response with id '${id}' not found.`);
            });
        }
    }

    test('a conversation and a previous response at once', async () => {
        const { id } = await api.respond();
        const { id: conversation } = await api.make('conversations', {});
        await api.turnedAway({ previous_response_id: id, conversation }, [400, 'mutually_exclusive_parameters', 'previous_response_id']);
    });

    test('an output to which the chain has no call, unless it names its tool', async () => {
        both.up.next(callStream(['weather', {}, 'a']));
        const { id } = await api.respond({ tools: TOOLS });
        const { message } = await api.turnedAway({ previous_response_id: id, input: [output('b', 'x')] }, [400, 'invalid_value', 'input']);
        assert.match(message, /^No tool call found for function call output with call_id b/);
        await api.respond({ previous_response_id: id, input: [output('a', '1'), { ...output('b', 'x'), name: 'news' }] });
        assert.deepEqual(messagesOf(both.up).slice(-2), [calling(['b', 'news', {}]), toolResult('b', 'x')]);
    });

    test('a child that failed leaves its parent as it was', async () => {
        const parent = await api.respond({ input: 'One' });
        both.up.next(failing());
        const { response } = await api.stream({ input: 'Two', previous_response_id: parent.id });
        assert.deepEqual([response.status, response.previous_response_id], ['failed', parent.id]);
        await api.respond({ input: 'Three', previous_response_id: parent.id });
        assert.deepEqual(messagesOf(both.up), [user('One'), assistant('Hello'), user('Three')]);
    });
});

describe('store: false', { concurrency: false }, () => {
    const { both, api } = setup();

    test('keeps nothing', async () => {
        const { id, store } = await api.respond({ store: false });
        assert.equal(store, false);
        for (const [method, path] of [['GET', ''], ['DELETE', ''], ['GET', '/input_items'], ['POST', '/cancel']])
            await api.refused(method, `responses/${id}${path}`, undefined, NOT_FOUND);
    });

    test('may continue what is stored, which stays as it was', async () => {
        const parent = await api.respond({ input: 'One' });
        await api.respond({ input: 'Two', previous_response_id: parent.id, store: false });
        assert.deepEqual(messagesOf(both.up), [user('One'), assistant('Hello'), user('Two')]);
        await api.respond({ input: 'Three', previous_response_id: parent.id });
        assert.deepEqual(messagesOf(both.up), [user('One'), assistant('Hello'), user('Three')]);
    });
});

captures.judge(test);
