// Binary trees in D: a node is a struct of two pointers.
module trees;

import std.algorithm : max;
import std.format : format;

private enum minDepth = 4;

private struct Node
{
    Node* left, right;

    ulong count() const
    {
        return left is null ? 1 : 1 + left.count() + right.count();
    }
}

private Node* build(int depth)
{
    if (depth == 0)
        return new Node(null, null);
    auto left = build(depth - 1);
    auto right = build(depth - 1);
    return new Node(left, right);
}

string trees(ulong n)
{
    const maxDepth = max(cast(int) n, minDepth + 2);
    string lines = format("stretch tree of depth %s trees 1 nodes %s\n", maxDepth + 1, build(maxDepth + 1).count());
    auto longLived = build(maxDepth);
    for (int depth = minDepth; depth <= maxDepth; depth += 2)
    {
        const iterations = 1UL << (maxDepth - depth + minDepth);
        ulong nodes = 0;
        foreach (i; 0 .. iterations)
            nodes += build(depth).count();
        lines ~= format("%s trees of depth %s nodes %s\n", iterations, depth, nodes);
    }
    return lines ~ format("long lived tree of depth %s nodes %s\n", maxDepth, longLived.count());
}
