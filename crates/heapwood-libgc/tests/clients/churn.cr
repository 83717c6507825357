class Node
  property l : Node?
  property r : Node?
end
def mk(d) : Node
  n = Node.new
  if d > 0
    n.l = mk(d - 1)
    n.r = mk(d - 1)
  end
  n
end
def check(n : Node) : Int32
  l = n.l
  r = n.r
  l && r ? 1 + check(l) + check(r) : 1
end
sum = 0
40.times { sum += check(mk(14)) }
puts sum
h = {} of String => Array(Int32)
200000.times { |i| (h["key#{i % 3000}"] ||= [] of Int32) << i }
puts h.size, h["key77"].size
channel = Channel(Array(String)).new
10.times do |f|
  spawn do
    200.times do |i|
      a = (0...50).map { |x| "fiber #{f} #{i} #{x}" }
      channel.send a
      Fiber.yield
    end
  end
end
total = 0
2000.times { total += channel.receive.map(&.size).sum }
puts total
