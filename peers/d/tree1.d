// Tree1 in D: binary trees whose nodes are objects of a class and hold a number,
// which wraps at 32 bits.
module tree1;

import std.algorithm : max;
import std.format : format;

private enum minDepth = 4;

private final class Node
{
    Node left, right;
    int item;

    this(Node left, Node right, int item)
    {
        this.left = left;
        this.right = right;
        this.item = item;
    }

    int check() const
    {
        return left is null ? item : item + left.check() - right.check();
    }
}

private Node build(int item, int depth)
{
    if (depth == 0)
        return new Node(null, null, item);
    auto left = build(2 * item - 1, depth - 1);
    auto right = build(2 * item, depth - 1);
    return new Node(left, right, item);
}

string tree1(ulong n)
{
    const maxDepth = max(cast(int) n, minDepth + 2);
    string lines = format("stretch tree of depth %s check %s\n", maxDepth + 1, build(0, maxDepth + 1).check());
    auto longLived = build(0, maxDepth);
    for (int depth = minDepth; depth <= maxDepth; depth += 2)
    {
        const pairs = 1L << (maxDepth - depth + minDepth);
        int sum = 0;
        foreach (i; 1 .. pairs + 1)
            sum += build(cast(int) i, depth).check() + build(-cast(int) i, depth).check();
        lines ~= format("%s trees of depth %s check %s\n", 2 * pairs, depth, sum);
    }
    return lines ~ format("long lived tree of depth %s check %s\n", maxDepth, longLived.check());
}
