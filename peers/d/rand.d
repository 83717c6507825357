// RandSmall and RandLarge in D: a table of blocks of random sizes, without
// pointers and not cleared, all replaced in turn and never touched. The random
// numbers are the standard library's; the other peers have the same.
module rand;

import core.memory : GC;
import std.format : format;
import std.random : Mt19937, uniform;

private string replaceBlocks(string name, size_t slots, int least, int most, uint seed, ulong iterations)
{
    auto twister = Mt19937(seed);
    auto table = new void*[](slots);
    ulong checksum = 0;
    foreach (n; 0 .. iterations)
    {
        foreach (ref slot; table)
        {
            const bytes = uniform!"[]"(least, most, twister);
            slot = GC.malloc(bytes, GC.BlkAttr.NO_SCAN);
            checksum = checksum * 31 + bytes;
        }
    }
    return format("%s iterations %s checksum 0x%016x\n", name, iterations, checksum);
}

string randSmall(ulong iterations)
{
    return replaceBlocks("rand-small", 4096, 8, 2047, 2_929_088_778, iterations);
}

string randLarge(ulong iterations)
{
    return replaceBlocks("rand-large", 1024, 1024, 131_072, 1_202_387_523, iterations);
}
