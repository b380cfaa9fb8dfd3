/* faketime.mjs -- processes with a wall clock of their own, by libfaketime.
 *
 *     const clock = fakeClock(t);               right at first
 *     startDaemon({ ..., env: clock.env });
 *     clock.set('+40d');                        jumps, in all that have this clock
 *
 * What the kernel measures goes on as before, as it does when somebody sets the clock of a machine.
 * With { all: true } the monotonic clocks jump as well, which those of no machine do.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder } from './folder.mjs';

const LIBRARY = (() => {
    const multiarch = existsSync('/usr/lib') ? readdirSync('/usr/lib') : [];
    return multiarch.map((name) => join('/usr/lib', name, 'faketime/libfaketimeMT.so.1')).find(existsSync);
})();

/* For `test(name, { skip: NO_FAKETIME }, ...)`: sanitizers have to come first in a process. */
export const NO_FAKETIME = LIBRARY === undefined ? 'no libfaketime: install the package libfaketime'
    : /asan|tsan/.test(process.env.ANTIPHON_BIN ?? '') && 'libfaketime does not go with sanitizers';

export function fakeClock(t, offset = '+0', { all = false } = {}) {
    const file = folder(t, 'offset');
    const set = (value) => writeFileSync(file, `${value}\n`);
    set(offset);
    return {
        set,
        env: {
            LD_PRELOAD: LIBRARY, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1',
            ...(!all && { FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' }),
        },
    };
}
