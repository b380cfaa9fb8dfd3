/* data.mjs -- recorded and written fixtures, and our own reading of recordings. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ROOT } from './daemon.mjs';

export const DATA = join(ROOT, 'tests/data');

export const bytesOf = (...path) => readFileSync(join(DATA, ...path));
export const jsonOf = (...path) => JSON.parse(bytesOf(...path));
export const namesIn = (dir, suffix) => readdirSync(join(DATA, dir)).filter((name) => name.endsWith(suffix)).sort();

/* The first of these that exists, parsed; undefined when none does. */
export function optionalJson(...paths) {
    const found = paths.map((path) => resolve(ROOT, path)).find((path) => existsSync(path));
    return found && JSON.parse(readFileSync(found));
}

/* Every recording of a folder under captures/: request, status, answer. */
export function recordings(server) {
    const dir = `captures/${server}`;
    return namesIn(dir, '.hdr').map((file) => {
        const name = file.slice(0, -'.hdr'.length);
        const head = bytesOf(dir, file).toString();
        const streamed = existsSync(join(DATA, dir, `${name}.sse`));
        const asked = existsSync(join(DATA, dir, `${name}.req.json`));
        return {
            name: `${server}/${name}`,
            streamed,
            path: head.match(/^\S+ (\S+)/)[1],
            status: Number(head.match(/^HTTP\/1\.1 (\d+)/m)[1]),
            type: head.match(/^content-type: (.*?)\r?$/im)?.[1],
            bytes: bytesOf(dir, name + (streamed ? '.sse' : '.json')),
            request: asked ? parsed(bytesOf(dir, `${name}.req.json`)) : undefined,
        };
    });
}

function parsed(bytes) {
    try {
        return JSON.parse(bytes);
    } catch {
        return undefined; /* one recording is of broken JSON */
    }
}

const STATUS = { length: 'incomplete', content_filter: 'incomplete' };

/* The reading of a well-formed recording, in the words of readingOf(). Real
 * streams only: the odd forms are in upstream/, with their expected reading. A
 * call without an id reads as null. */
export function readRecording({ streamed, bytes }) {
    const chunks = streamed
        ? bytes.toString().split('\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)))
        : [JSON.parse(bytes)];
    const read = { text: '', refusal: '', reasoning: '', tool_calls: [], terminal: 'completed', usage: null };
    for (const { choices = [], usage } of chunks) {
        for (const { delta, message, finish_reason } of choices.filter((c) => c.index === 0)) {
            readDelta(read, delta ?? message);
            read.terminal = STATUS[finish_reason] ?? read.terminal;
        }
        if (usage)
            read.usage = { input: usage.prompt_tokens, output: usage.completion_tokens };
    }
    return read;
}

function readDelta(read, delta) {
    read.text += delta.content ?? '';
    read.reasoning += delta.reasoning_content ?? '';
    (delta.tool_calls ?? []).forEach(({ index, id, function: fn }, i) => {
        const call = read.tool_calls[index ?? i] ??= { id: id || null, name: fn.name, arguments: '' };
        call.arguments += fn.arguments;
    });
}
