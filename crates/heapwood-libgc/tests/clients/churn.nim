import tables, strutils
type Node = ref object
  l, r: Node
proc mk(d: int): Node =
  result = Node()
  if d > 0:
    result.l = mk(d - 1)
    result.r = mk(d - 1)
proc check(n: Node): int =
  if n.l == nil: 1 else: 1 + check(n.l) + check(n.r)
var sum = 0
for i in 0 ..< 40: sum += check(mk(14))
echo sum
var t = initTable[string, seq[int]]()
for i in 0 ..< 200000:
  let k = "key" & $(i mod 3000)
  if i mod 7 == 0: t[k] = @[]
  t.mgetOrPut(k, @[]).add(i)
echo t.len, " ", t["key77"].len
var s = ""
for i in 0 ..< 100000: s.add(toHex(i, 4))
echo s.len
