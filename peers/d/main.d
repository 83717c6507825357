// The D peer: workloads of D's own suite, and trees, as a D user would write them,
// to compare Heapwood with D's conservative collector. It marks on the thread that
// collects (parallel:0), which was its fastest on the machines measured.
module main;

import conalloc : conalloc;
import rand : randLarge, randSmall;
import tree1 : tree1;
import trees : trees;

import core.thread : Thread;
import std.conv : ConvException, to;
import std.stdio : stderr, write, writefln;

extern (C) __gshared string[] rt_options = ["gcopt=gc:conservative parallel:0"];

/// Does the whole of a workload, and returns its check lines.
alias Work = string function(ulong n);

struct Workload
{
    string name;
    ulong normal, limit;
    uint threads;
    Work work;
}

immutable Workload[] workloads = [
    {"trees", 21, 40, 1, &trees},
    {"rand-small", 10_000, 1UL << 32, 1, &randSmall},
    {"rand-large", 10_000, 1UL << 32, 1, &randLarge},
    {"tree1", 18, 40, 1, &tree1},
    {"conalloc", 10_000_000, 1UL << 48, 4, &conalloc},
];

enum mostThreads = 1024;

int usage()
{
    stderr.writeln("usage: d-peer WORKLOAD [N] [--threads T]");
    foreach (ref w; workloads)
        stderr.writefln("  %-10s N up to %s, default %s", w.name, w.limit, w.normal);
    stderr.writeln("       d-peer [WORKLOAD] --version");
    return 2;
}

/// A number from 1 to `limit`, or 0.
ulong number(string text, ulong limit)
{
    try
    {
        const value = text.to!ulong;
        return value <= limit ? value : 0;
    }
    catch (ConvException)
    {
        return 0;
    }
}

/// A thread that does the whole work.
final class Share : Thread
{
    string lines;

    this(Work work, ulong n)
    {
        super({ lines = work(n); });
    }
}

int main(string[] args)
{
    if (args.length >= 2 && args[$ - 1] == "--version")
    {
        static import std.compiler;

        writefln("%s, D %s.%s", std.compiler.name, std.compiler.version_major, std.compiler.version_minor);
        return 0;
    }
    if (args.length < 2)
        return usage();
    foreach (ref w; workloads)
    {
        if (w.name != args[1])
            continue;
        ulong n = w.normal, threads = w.threads;
        for (size_t i = 2; i < args.length; i++)
        {
            if (args[i] == "--threads" && i + 1 < args.length)
                threads = number(args[++i], mostThreads);
            else
                n = number(args[i], w.limit);
            if (n == 0 || threads == 0)
                return usage();
        }
        if (threads == 1)
        {
            write(w.work(n));
            return 0;
        }
        Share[] shares;
        foreach (t; 0 .. threads)
            shares ~= new Share(w.work, n);
        foreach (share; shares)
            share.start();
        foreach (share; shares)
            share.join();
        foreach (t, share; shares)
        {
            if (share.lines != shares[0].lines)
            {
                stderr.writefln("thread %s found:\n%sbut thread 1 found:\n%s", t + 1, share.lines, shares[0].lines);
                return 1;
            }
        }
        write(shares[0].lines);
        return 0;
    }
    return usage();
}
