import type {Hewn} from './hewn.js';

export interface Verified {
    variant: string;
    elements: number;
    /** Of them, how many are other than the formula's in a bit. */
    differing: number;
}

/** Runs each kernel on random and special values that the seed determines, and compares every
 * result with the formula's, in JavaScript. */
export function verify(hewn: Hewn, seed?: number): Verified[];
/** The same of one of hewn.variants. */
export function verifyVariant(hewn: Hewn,
    variant: {name: string; operator: string; signature: string}, seed?: number): Verified;
