// A program that imports the whole package. bindings/web/test.sh bundles it for browsers and runs the
// bundle, which throws an error if something is wrong.
import {load} from 'hewn-kernels';
import {verify} from 'hewn-kernels/verify';
import {opSupportLimits} from 'hewn-kernels/webnn';

const hewn = await load();
const results = verify(hewn), wrong = results.filter(({differing}) => differing);
if (!results.length || wrong.length)
    throw new Error(`${wrong.length} of ${results.length} kernels differ in the bundle`);
if (!opSupportLimits(hewn).add) throw new Error('the bundle has no WebNN');
