/* task.mjs -- tasks that every agent finishes in which its own tools and those of the gateway meet.
 *
 *     testTasks('pi', Desk);
 *
 * The model (plan.mjs) looks facts up by a tool that the gateway runs, and works with the client's.
 * A client that keeps its history itself may send back as little as it likes of what the gateway ran:
 * the model must see each call and each result once.
 *
 * A Desk has `tools`, what to call for the work: write(file, text), read(file) and shell(command)
 * give { name, args }. Its ask(prompt, { goesOn }) runs the client to its end.
 */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../lib/check.mjs';
import { sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { Model, checkWork } from './plan.mjs';

const TIDES = { Bergen: 'high water at 09:45', Oslo: 'high water at 06:12' };
const ALMANAC = {
    tide: {
        description: 'When it is high water in a port',
        inputSchema: { type: 'object', properties: { port: { type: 'string' } }, required: ['port'] },
        annotations: { readOnlyHint: true },
        call: ({ port }) => TIDES[port],
    },
};
const TIDE = shown('almanac', 'tide');
const tide = (port) => ({ name: TIDE, args: { port }, isSpaced: true, gives: TIDES[port] });

/* The thought before a call comes back with it, one before an answer need not: a client that goes on
 * with a session may have kept the answer alone, as the Copilot CLI does.
 *
 * Steps of the model; how often the client asks to get through them; the files it leaves. */
const TASKS = {
    'one call after the other': {
        steps: ({ write, read }) => [
            { thought: 'Look it up.', calls: [tide('Oslo')] },
            { thought: 'Note it.', text: 'I take a note.', calls: [write('note.txt')] },
            { thought: 'The other as well.', calls: [tide('Bergen')] },
            { thought: 'Is it there?', calls: [read('note.txt')] },
        ],
        asks: 3,
        files: { 'note.txt': TIDES.Oslo },
    },
    'own calls in one round, whose chunks come mixed': {
        isMixed: true,
        steps: ({ shell }) => [
            { thought: 'Look it up.', calls: [tide('Oslo')] },
            { thought: 'Both at once.', calls: [shell('echo this > this.txt; echo one', 'one'), shell('echo that > that.txt; echo other', 'other')] },
            { thought: 'Look again.', calls: [tide('Bergen')] },
        ],
        asks: 2,
        files: { 'this.txt': 'this\n', 'that.txt': 'that\n' },
    },
    'hosted calls in one round, whose chunks come mixed, then own ones': {
        isMixed: true,
        steps: ({ write, read }) => [
            { thought: 'Look both up.', calls: [tide('Oslo'), tide('Bergen')] },
            { thought: 'Note it.', calls: [write('note.txt')] },
            { thought: 'Is it there?', calls: [read('note.txt')] },
        ],
        asks: 3,
        files: { 'note.txt': TIDES.Oslo },
    },
    'hosted and own calls in one round': {
        steps: ({ write, read, shell }) => [
            { thought: 'Look both up.', calls: [tide('Oslo'), shell('echo here', 'here')] },
            { thought: 'Note it.', calls: [write('note.txt')] },
            { thought: 'Compare.', calls: [read('note.txt'), tide('Bergen')] },
        ],
        asks: 4,
        files: { 'note.txt': TIDES.Oslo },
    },
};

/* The client's tools as steps name them. What is written is what was found first. */
const toolsOf = ({ tools }) => ({
    write: (file) => ({ name: tools.write(file, '').name, args: (found) => tools.write(file, found[0]).args }),
    read: (file) => ({ ...tools.read(file), gives: TIDES.Oslo }),
    shell: (command, gives) => ({ ...tools.shell(command), gives }),
});

const namesOf = (calls) => calls.map(({ name }) => name);

export function testTasks(name, Desk) {
    const captures = new Captures();

    describe(name, { concurrency: false }, () => {
        const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({
            servers: { almanac: await startMcp({ transport: 'stdio', tools: ALMANAC }) },
            args: ['--mcp-inject', 'always'],
        }));

        /* The client came to its end, showed what the model said, and asked so often for the work. */
        function checkClient({ status, log, exchanges, outside, texts }, said, worker, asks) {
            assert.equal(status, 0, log);
            assert.deepEqual(outside, [], 'the client spoke to nobody else');
            for (const { path, status: answered, bytes } of exchanges) {
                assert.deepEqual([path, answered], ['/v1/responses', 200], log);
                captures.keep(`${name}.sse`, bytes);
                checkStream(bytes.toString());
            }
            const ofWork = exchanges.filter(({ sent }) => JSON.parse(sent).tools?.some((tool) => tool.name === worker));
            assert.equal(ofWork.length, asks, 'requests of the client');
            assert.deepEqual(texts, said.map(({ text }) => text).filter((text) => text !== undefined));
        }

        /* The model took each step once and gave so many answers; the gateway made its calls. */
        function checkModel(model, steps, answers) {
            assert.deepEqual(model.said.map(({ calls }) => namesOf(calls)), [...steps.map(({ calls }) => namesOf(calls)), ...Array(answers).fill([])]);
            checkWork(model);
            const wanted = steps.flatMap(({ calls }) => calls).filter((call) => call.name === TIDE).map(({ args }) => args.port);
            assert.deepEqual(g.options.servers.almanac.calls.map((call) => call.arguments.port).sort(), wanted.sort(), 'calls that the MCP server got');
        }

        async function work(t, { steps: planned, asks, files, isMixed }, withUsage) {
            const desk = new Desk(t, g.daemon);
            const worker = desk.tools.shell('').name;
            const steps = planned(toolsOf(desk));
            const plans = [
                { prompt: 'Note the tide.', steps, answer: 'All done.' },
                { prompt: 'Thank you.', steps: [], answer: 'You are welcome.' },
            ];
            const model = new Model(plans, { worker, withUsage, isMixed });
            g.up.always(model.answer);
            const got = await desk.ask('Note the tide.');
            assert.ok(model.asked.length > 0, got.log);
            checkModel(model, steps, 1);
            checkClient(got, model.said, worker, asks);
            for (const [file, text] of Object.entries(files))
                assert.equal(desk.read(file), text);
            return { desk, model, steps };
        }

        for (const [what, task] of Object.entries(TASKS)) {
            for (const withUsage of [true, false])
                test(`${what}; the upstream counts ${withUsage ? 'tokens' : 'nothing'}`, (t) => work(t, task, withUsage));
        }

        test('a session that goes on has all of it', async (t) => {
            const task = TASKS['one call after the other'];
            const { desk, model, steps } = await work(t, task, true);
            const got = await desk.ask('Thank you.', { goesOn: true });
            checkModel(model, steps, 2);
            checkClient(got, model.said.slice(-1), model.worker, task.asks + 1);
        });
    });

    captures.judge(test);
}
