// Conalloc in D, after the program of its suite: threads that hash blocks without
// pointers and allocate new ones.
module conalloc;

import core.memory : GC;
import std.format : format;

private enum slots = 4096;

string conalloc(ulong blocks)
{
    ulong state = 0x9E3779B97F4A7C15, hash = 0xcbf29ce484222325;
    auto table = new ulong[][](slots);
    foreach (n; 0 .. blocks)
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const r = state * 0x2545F4914F6CDD1D;
        const slot = (r & 0xffff_ffff) % slots;
        foreach (word; table[slot])
            hash = (hash ^ word) * 0x100000001b3;
        const words = 2 + (r >> 32) % 31;
        auto block = (cast(ulong*) GC.malloc(words * ulong.sizeof, GC.BlkAttr.NO_SCAN))[0 .. words];
        foreach (k, ref word; block)
            word = r + k;
        table[slot] = block;
    }
    return format("conalloc blocks %s hash 0x%016x\n", blocks, hash);
}
