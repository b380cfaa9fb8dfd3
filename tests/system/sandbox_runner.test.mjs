/* sandbox_runner.test.mjs -- the Python session inside a sandbox, over its protocol: what code
 * sees and what is told of it (src/sandbox/PROTOCOL.md). */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { startRunner } from '../lib/runner.mjs';

const NOTHING = { logs: '', value: null, raised: false, images: [], files: [] };
const lines = (...texts) => texts.map((text) => `${text}\n`).join('');

test('it says once that it is ready, and names its Python', async (t) => {
    const runner = await startRunner(t);
    assert.match(runner.ready.ready.python, /^3\.\d+/);
    assert.deepEqual(await runner.run(''), NOTHING);
});

test('without work it sleeps', async (t) => {
    const runner = await startRunner(t);
    await runner.run('import os\nos.system("true")');
    const used = () => readFileSync(`/proc/${runner.pid}/stat`, 'ascii').split(' ').slice(13, 15).join();
    const until = Date.now() + patience(10_000);
    for (let before = used(), n = 0; n < 30; n = used() === before ? n + 1 : 0, before = used()) {
        assert.ok(Date.now() < until, 'it uses the processor all the time');
        await pause(10);
    }
});

test('when it cannot start it says why', async (t) => {
    const runner = await startRunner(t, { memory_bytes: 'many' });
    assert.equal(runner.ready, null);
    const { status, stderr } = await runner.ended();
    assert.equal(status, 1);
    assert.match(stderr, /in set_limits\n[^]*TypeError: .*\nthe Python process ended: exited with status 1\n$/);
});

/* ---- the session */

test('variables, imports and functions stay from one run to the next', async (t) => {
    const runner = await startRunner(t);
    assert.deepEqual(await runner.run('import math\nx = 3\ndef f(y): return math.sqrt(x * y)'), NOTHING);
    assert.equal((await runner.run('f(12)')).value, '6.0');
});

test('the value is that of a last expression, and None is no value', async (t) => {
    const runner = await startRunner(t);
    assert.equal((await runner.run('x = 1\nx + 1')).value, '2');
    assert.equal((await runner.run('"text"')).value, "'text'");
    assert.equal((await runner.run('x; 7')).value, '7');
    assert.equal((await runner.run('5\nx = 6')).value, null);
    assert.equal((await runner.run('None')).value, null);
    assert.equal((await runner.run('for i in [1]:\n    i')).value, null);
});

test('code is the module __main__, and its classes can be pickled', async (t) => {
    const runner = await startRunner(t);
    const code = 'import pickle\nclass C:\n    n = 4\nif __name__ == "__main__":\n    c = pickle.loads(pickle.dumps(C()))\nc.n';
    assert.equal((await runner.run(code)).value, '4');
});

test('modules of the work directory can be imported', async (t) => {
    const runner = await startRunner(t);
    await runner.run('open("mine.py", "w").write("n = 8")');
    assert.equal((await runner.run('import mine\nmine.n')).value, '8');
});

/* ---- exceptions */

test('a traceback shows the lines of the code, of earlier runs too, and nothing of the runner', async (t) => {
    const runner = await startRunner(t);
    await runner.run('def divide(a):\n    return a / 0');
    const { logs, value, raised } = await runner.run('print("before")\ndivide(1)');
    assert.match(logs, /^before\nTraceback [^]*File "<code 2>", line 2, in <module>\n {4}divide\(1\)\n[^]*File "<code 1>", line 2, in divide\n {4}return a \/ 0\n[^]*ZeroDivisionError: division by zero\n$/);
    assert.doesNotMatch(logs, /runner/);
    assert.deepEqual([value, raised], [null, true]);
});

test('the cause of an exception is shown', async (t) => {
    const runner = await startRunner(t);
    const { logs } = await runner.run('try:\n    {}["key"]\nexcept KeyError as e:\n    raise ValueError("other") from e');
    assert.match(logs, /KeyError: 'key'\n[^]*direct cause[^]*ValueError: other\n$/);
});

test('a syntax error names line and place, and runs nothing', async (t) => {
    const runner = await startRunner(t);
    const { logs, raised } = await runner.run('print("not me")\nx = = 1');
    assert.match(logs, /^ {2}File "<code 1>", line 2\n {4}x = = 1\n +\^\nSyntaxError: invalid syntax\n$/);
    assert.equal(raised, true);
});

test('what cannot be compiled is an exception like others', async (t) => {
    const runner = await startRunner(t);
    assert.match((await runner.run('a = "\0"')).logs, /null bytes/);
    assert.match((await runner.run('a = "\ud800"')).logs, /surrogates not allowed/);
    assert.match((await runner.run('('.repeat(5000))).logs, /SyntaxError|MemoryError|RecursionError/);
    assert.equal((await runner.run('1')).value, '1');
});

test('SystemExit is told as text and ends nothing', async (t) => {
    const runner = await startRunner(t);
    assert.deepEqual(await runner.run('import sys\nsys.exit("enough")'), { ...NOTHING, logs: 'SystemExit: enough\n', raised: true });
    assert.equal((await runner.run('exit()')).raised, false);
    assert.match((await runner.run('print("still here")\ninput()')).logs, /still here\n[^]*EOFError/);
});

test('endless recursion is an exception', async (t) => {
    const runner = await startRunner(t);
    const { logs } = await runner.run('def f(): f()\nf()');
    assert.match(logs, /repeated \d+ more times[^]*RecursionError/);
    assert.equal((await runner.run('1')).value, '1');
});

test('an exception in repr() is one of the code; one that cannot be shown is named', async (t) => {
    const runner = await startRunner(t);
    const { logs, value, raised } = await runner.run('class R:\n    def __repr__(self): raise ValueError("mine")\nR()');
    assert.match(logs, /line 2, in __repr__[^]*ValueError: mine\n$/);
    assert.deepEqual([value, raised], [null, true]);
    const worse = await runner.run('class E(Exception):\n    def __str__(self): raise SystemExit\nraise E');
    assert.match(worse.logs, /^E\b/m);
    assert.equal(worse.raised, true);
});

/* ---- output */

test('stdout, stderr, programs and plain descriptors are one text in order', async (t) => {
    const runner = await startRunner(t);
    const { logs } = await runner.run(lines(
        'import os, subprocess, sys',
        'print("a", end="")',
        'os.system("echo b; echo c >&2")',
        'print("d", file=sys.stderr)',
        'os.write(1, b"e\\n")',
        'subprocess.run(["echo", "f"])',
        'sys.stdout.buffer.write(b"g\\n")',
        'print("h")',
    ));
    assert.equal(logs, 'ab\nc\nd\ne\nf\ng\nh\n');
});

test('of too much output the first and last half are kept, with a note', async (t) => {
    const runner = await startRunner(t, { output_bytes: 1000 });
    const { logs } = await runner.run('print("first" + "x" * 300_000)\n1 / 0');
    const [, head, left_out, tail] = logs.match(/^([^]*)\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n([^]*)$/);
    assert.match(head, /^firstx{495}$/);
    assert.match(tail, /^x+\nTraceback[^]*ZeroDivisionError: division by zero\n$/);
    assert.equal(tail.length, 500);
    assert.ok(Number(left_out) > 299_000);
});

test('output of exactly the limit is whole, and no character is cut in two', async (t) => {
    const runner = await startRunner(t, { output_bytes: 100 });
    assert.equal((await runner.run('print("x" * 99)')).logs, `${'x'.repeat(99)}\n`);
    assert.match((await runner.run('print("\u20ac" * 99)')).logs, /^\u20ac{16}\n\[.*\]\n\u20ac{16}\n$/);
    assert.match((await runner.run('"\u20ac" * 99')).value, /^'\u20ac{16}\n\[.*\]\n\u20ac{16}'$/);
});

test('any bytes and any text become text', async (t) => {
    const runner = await startRunner(t);
    const { logs, value } = await runner.run('import os\nos.write(1, b"\\xff\\0\\xc3\\xa4\\n")\nprint("\\ud800 \u{1f600}")\nclass R:\n    def __repr__(self): return "\\udfff\u00e4"\nR()');
    assert.equal(logs, '\ufffd\0\u00e4\n\\ud800 \u{1f600}\n');
    assert.equal(value, '\\udfff\u00e4');
});

test('code that closes its streams is seen again in the next run', async (t) => {
    const runner = await startRunner(t);
    await runner.run('import os, sys\nsys.stdout = sys.stderr = None\nos.close(1); os.close(2)');
    assert.equal((await runner.run('print("back")')).logs, 'back\n');
    await runner.run('os.close(1); os.close(2)');
    assert.match((await runner.run('os.close(1); os.close(2)\n1 / 0')).logs, /ZeroDivisionError/);
});

test('what a thread or program writes between runs is dropped, and blocks nothing', async (t) => {
    const runner = await startRunner(t);
    await runner.run(lines(
        'import os, threading',
        'go = threading.Event()',
        'def noise():',
        '    go.wait()',
        '    os.system("head -c 300000 /dev/zero")',
        '    open("done", "w").close()',
        'threading.Thread(target=noise).start()',
        'threading.Timer(0.01, go.set).start()', /* after the end of this run */
    ));
    await runner.fileExists('done');
    assert.equal((await runner.run('print("mine")')).logs, 'mine\n');
});

/* ---- interrupts */

for (const [what, code] of [
    ['an endless loop', 'running()\nwhile True: pass'],
    ['a wait', 'import time\ntime.sleep(running() or 1000)'],
    ['a program', 'import subprocess\nsubprocess.run(["sleep", running() or "1000"])'],
    ['a regular expression that never lets go', 'import re\nre.match("(a*)*b", running() or "a" * 60)'],
    ['a repr()', 'class R:\n    def __repr__(self):\n        running()\n        while True: pass\nR()'],
]) {
    test(`an interrupt ends ${what}`, async (t) => {
        const runner = await startRunner(t);
        await runner.run('x = 5\ndef running(): open("running", "w").close()');
        const id = runner.request('run', { code });
        await runner.fileExists('running');
        runner.interrupt();
        const answer = await runner.next();
        assert.equal(answer.id, id);
        assert.match(answer.logs, /Traceback[^]*\nKeyboardInterrupt\n$/);
        assert.doesNotMatch(answer.logs, /on_interrupt/);
        assert.equal((await runner.run('x')).value, '5');
    });
}

test('an interrupt that comes with the code is not lost', async (t) => {
    const runner = await startRunner(t);
    for (let i = 0; i < 20; i++) {
        runner.request('run', { code: 'while True: pass' });
        runner.interrupt();
        assert.match((await runner.next()).logs, /KeyboardInterrupt\n$/);
    }
});

test('interrupts around the end of code hit neither the runner nor the next run', async (t) => {
    const runner = await startRunner(t);
    runner.interrupt();
    for (let i = 0; i < 50; i++) {
        runner.request('run', { code: '1' });
        await pause(i % 5);
        runner.interrupt();
        runner.interrupt();
        const answer = await runner.next();
        assert.ok(answer.value === '1' || /KeyboardInterrupt/.test(answer.logs));
        runner.interrupt();
        assert.equal((await runner.run('2')).value, '2');
    }
});

test('code that catches an interrupt gets the next one as well', async (t) => {
    const runner = await startRunner(t);
    runner.request('run', { code: 'try:\n    open("running", "w").close()\n    while True: pass\nexcept KeyboardInterrupt:\n    open("caught", "w").close()\nwhile True: pass' });
    await runner.fileExists('running');
    runner.interrupt();
    await runner.fileExists('caught');
    runner.interrupt();
    assert.match((await runner.next()).logs, /line [56], in <module>[^]*KeyboardInterrupt\n$/); /* 5: the file is there before its call returns */
});

test('a second run while one is under way is refused', async (t) => {
    const runner = await startRunner(t);
    const first = runner.request('run', { code: 'open("running", "w").close()\nwhile True: pass' });
    await runner.fileExists('running');
    assert.deepEqual(await runner.run('1'), { error: 'busy' });
    runner.interrupt();
    assert.equal((await runner.next()).id, first);
});

/* ---- limits */

test('limits hold for code and for the programs it starts', async (t) => {
    const runner = await startRunner(t, { memory_bytes: 1 << 29, processes: 123, file_bytes: 100_000 });
    assert.equal((await runner.run('import os, resource\nopen("large", "wb").write(b"x" * 200_000)')).raised, true);
    assert.match((await runner.run('open("large2", "wb", 0).write(b"x" * 200_000), os.path.getsize("large2")')).value, /^\(100000, 100000\)$/);
    assert.match((await runner.run('kept = []\nwhile True: kept.append(bytearray(10_000_000))')).logs, /MemoryError\n$/);
    assert.ok(Number((await runner.run('n = len(kept)\ndel kept\nn')).value) < 60);
    const { logs } = await runner.run('os.system("cat /proc/self/limits")');
    for (const [name, limit] of [['processes', 123], ['file size', 100_000], ['core file size', 0], ['address space', 1 << 29], ['open files', 1024]])
        assert.match(logs, new RegExp(`^Max ${name} +${limit} +${limit} `, 'm'));
});

test('what is 0 is not limited', async (t) => {
    const runner = await startRunner(t, { memory_bytes: 0 });
    assert.equal((await runner.run('import resource\nresource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY')).value, 'True');
});

/* ---- what code may try */

test('neither code nor its programs have a descriptor of the gateway', async (t) => {
    const runner = await startRunner(t);
    await runner.run('import os, subprocess\nread, write = os.pipe()\nos.close(read); os.close(write)');
    const { logs } = await runner.run('subprocess.run("ls /proc/self/fd", shell=True, close_fds=False)\nimport sys\nprint(sys.argv)');
    assert.equal(logs, "0\n1\n2\n3\n['']\n"); /* 3 is the folder that ls reads */
    const { value } = await runner.run('gateway = {os.stat(f"/proc/{os.getppid()}/fd/{n}").st_ino for n in (0, 1, 2)}\n[n for n in range(1024) if os.path.exists(f"/proc/self/fd/{n}") and os.fstat(n).st_ino in gateway]');
    assert.equal(value, '[]');
});

test('code that writes into every descriptor it finds ends its sandbox, and forges nothing', async (t) => {
    const runner = await startRunner(t);
    runner.request('run', { code: 'import os\nfor n in range(1024):\n    try: os.write(n, b\'{"id":1,"value":"forged"\\n\')\n    except OSError: pass\nwhile True: pass' });
    assert.equal(await runner.next(), null);
    const { status, stderr } = await runner.ended();
    assert.equal(status, 1);
    assert.match(stderr, /broke its connection/);
});

test('a child that code forks and does not end reports nothing', async (t) => {
    const runner = await startRunner(t);
    await runner.run('import os\npid = os.fork()\nif pid == 0:\n    print("child")');
    assert.equal((await runner.run('os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])')).value, '0');
    const { logs } = await runner.run('pid = os.fork()\nif pid == 0:\n    raise ValueError("in the child")\nos.waitpid(pid, 0)');
    assert.match(logs, /ValueError: in the child\n$/);
    assert.equal((await runner.run('1')).value, '1');
});

for (const [what, code, reason] of [
    ['os._exit()', 'import os\nos._exit(3)', /exited with status 3/],
    ['a crash', 'import os\nos.kill(os.getpid(), 11)', /Segmentation fault/],
    ['a connection that code closes', 'import os, time\nos.closerange(3, 1024)\ntime.sleep(1000)', /Killed/],
    ['a crash while a child holds its descriptors', 'import os\nif os.fork() == 0:\n    os.execvp("sleep", ["sleep", "1"])\nos.kill(os.getpid(), 11)', /Segmentation fault/],
]) {
    test(`the runner ends, and says why, with ${what}`, async (t) => {
        const runner = await startRunner(t);
        runner.request('run', { code });
        assert.equal(await runner.next(), null);
        const { status, stderr } = await runner.ended();
        assert.equal(status, 1);
        assert.match(stderr, reason);
    });
}

test('when the gateway closes its input all ends, also code that runs', async (t) => {
    const runner = await startRunner(t);
    runner.request('run', { code: 'import os\nopen("pid", "w").write(str(os.getpid()))\nos.rename("pid", "running")\nwhile True: pass' });
    await runner.fileExists('running');
    const pid = readFileSync(join(runner.dir, 'running'), 'ascii');
    runner.closeInput();
    assert.deepEqual(await runner.ended(), { status: 0, stderr: '' });
    while (existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'ascii')))
        await pause(5);
});

/* ---- the way out */

test('with egress programs reach the proxy behind the socket', async (t) => {
    const socket = folder(t, 'egress.sock');
    const proxy = createServer((request, response) => response.end(`${request.method} ${request.url} ${'x'.repeat(200_000)}`));
    t.after(() => proxy.close());
    await once(proxy.listen(socket), 'listening');
    const runner = await startRunner(t, { egress: socket });
    const fetched = await runner.run('import urllib.request\nbody = urllib.request.urlopen("http://example.org/page").read()\nbody[:32], len(body)');
    assert.match(fetched.value ?? fetched.logs, /^\(b'GET http:\/\/example\.org\/page x+', 200028\)$/);
    proxy.close();
    proxy.closeAllConnections();
    assert.equal((await runner.run('urllib.request.urlopen("http://example.org/")')).raised, true);
});
