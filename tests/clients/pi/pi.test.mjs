/* pi.test.mjs -- pi finishes tasks with a scripted model and with hosted tools. */
import { testTasks } from '../task.mjs';
import { Desk } from './pi.mjs';

testTasks('pi', Desk);
