//! The machine for Lox does what programs say, in both kinds of heaps: every construct and every message, while the heap collects at each
//! allocation, is verified, and has young collections.

use heapwood::{Concurrent, Config, Generational, Heap, Stats};
use heapwood_workloads::lox::front::{Native, compile};
use heapwood_workloads::lox::session::RunError;
use heapwood_workloads::lox::{plain, run_in_session, session};

/// Collects often: after a megabyte.
const SMALL: Config = Config::DEFAULT.huge_pages(false).address_space(2 << 30).min_heap(1 << 20);

const CONFIGS: [Config; 4] =
    [SMALL, SMALL.stress(true), SMALL.verify(true), SMALL.verify(true).generational(Generational::Always)];

/// What a program prints in a heap of one of the kinds, line by line, its error last.
fn printed(text: &str, config: Config, in_session: bool) -> (String, Option<Stats>) {
    let program = match compile(text) {
        Ok(program) => program,
        Err(error) => return (error.to_string(), None),
    };
    let mut lines = Vec::new();
    let mut print = |line: &str| lines.push(line.to_owned());
    let ran = if in_session {
        session::run(config, &program, &mut print)
    } else {
        // SAFETY: the machine keeps its pointers on this thread's stack and in objects.
        let heap = unsafe { Heap::new(config) }.unwrap();
        let m = heap.attach().unwrap();
        plain::run(&m, &program, &mut print).map_err(RunError::Lox).map(|()| heap.stats())
    };
    let stats = ran.map_err(|error| lines.push(error.to_string())).ok();
    (lines.join("\n"), stats)
}

/// Runs it everywhere.
fn check(text: &str, expected: &str) {
    for (number, config) in CONFIGS.into_iter().enumerate() {
        for in_session in [false, true] {
            let (lines, stats) = printed(text, config, in_session);
            assert_eq!(lines, expected, "{text}\nconfig {number}, session {in_session}");
            if let Some(stats) = stats {
                assert_eq!(stats.barrier_violations, 0, "{text}");
                // Under stress each allocation collects.
                assert!(number != 1 || stats.collections > 0, "{text}");
            }
        }
    }
}

#[test]
fn values_and_operators() {
    check(
        "print 1 + 2 * 3 - 4 / 8; print (1 + 2) * -3; print 7 % 3; print -7 % 3; print -0 % 5; print 9223372036854775808 % 10;
         print 7.5 % 2; print 1 / 0; print 0.1 + 0.2;
         print \"a\" + \"b\"; print \"\" + \"\"; print nil; print true; print !true; print !nil; print !0; print --1;
         print 1 < 2; print 2 <= 1; print 2 > 1; print 1 >= 2; print 1 == 1; print 1 != 1; print !(1 == 2);
         print \"ab\" == \"a\" + \"b\"; print nil == false; print 1 == \"1\"; print [1] == [1]; print nil and 1; print 2 and 3;
         print nil or 4; print 5 or 6; print false or nil; print 1 < 2 and 2 < 1; print str == len; print str == str;
         print 1.5; print 100000000000; // a comment
         print \"two
lines\"; print true == true;",
        "6.5\n-9\n1\n-1\n-0\n8\n1.5\ninf\n0.30000000000000004\nab\n\nnil\ntrue\nfalse\ntrue\nfalse\n1\ntrue\nfalse\ntrue\nfalse\ntrue\nfalse\ntrue\n\
         true\nfalse\nfalse\nfalse\nnil\n3\n4\n5\nnil\nfalse\nfalse\ntrue\n1.5\n100000000000\ntwo\nlines\ntrue",
    );
}

#[test]
fn variables_and_control() {
    check(
        "var a = 1; var b; print b; b = a = 3; print a + b; { var a = 10; { var a = a_of(2); print a; } a = a + 1; print a; } print a;
         fun a_of(x) { return x * 100; }",
        "nil\n6\nline 1: there is no variable 'a_of'",
    );
    check(
        "if (1 < 2) print 1; else print 2; if (nil) print 3; else if (true) print 4; if (false) print 5;
         var i = 0; while (i < 3) { print i; i = i + 1; }
         for (var k = 0; k < 2; k = k + 1) { var twice = k * 2; print twice; }
         for (i = 5; i > 3;) i = i - 1; print i;
         for (; i < 6; i = i + 1) {} print i;
         fun first() { for (;;) { i = i + 1; if (i > 8 and i % 2 == 0 or i == 100) return i; } } print first();
         for (var k = 0; k < 9 and k != 2; k = k == 0 and 1 or k + 1) print k;
         { var x = 1; x = x + 1; print x; var y = x; print x + y; }",
        "1\n4\n0\n1\n2\n0\n2\n3\n6\n10\n0\n1\n2\n4",
    );
}

#[test]
fn functions_and_closures() {
    check(
        "fun fib(n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); } print fib(12); print fib; print len;
         fun none() {} print none(); fun early() { return; } print early();
         fun counter() { var n = 0; fun up() { n = n + 1; return n; } return up; }
         var a = counter(); a(); a(); var b = counter(); print a() + b() * 10;
         fun pair() { var x = \"x\"; fun get() { return x; } fun set(to) { x = to; } return [get, set]; }
         var p = pair(); p[1](p[0]() + \"y\"); print p[0]();
         var fs = []; for (var i = 0; i < 3; i = i + 1) { var j = i; fun f() { j = j + 10; return j; } push(fs, f); }
         for (var i = 0; i < 3; i = i + 1) fs[i](); print fs[0]() + fs[1]() * 100 + fs[2]() * 10000;
         fun outer() { var x = 1; fun middle() { fun inner() { x = x * 2; return x; } return inner; } var i = middle(); i(); print x; return i; }
         print outer()();
         { var shared = 1; fun one() { shared = shared + 1; } fun two() { return shared; } one(); print two(); shared = 7; print two(); }
         fun many(a, b, c) { var z = 0; fun f() { return b; } var y = 1; fun g() { return a + y; } fun h() { return c + z; } z = 5; return f() + g() + h(); }
         print many(100, 20, 3);",
        "144\n<fun fib>\n<fun len>\nnil\nnil\n13\nxy\n222120\n2\n4\n2\n7\n129",
    );
}

#[test]
fn classes() {
    check(
        "class A { init(x) { this.x = x; } get() { return this.x; } who() { return \"A\"; } show() { return this.who() + str(this.x); } }
         class B < A { init(x, y) { super.init(x); this.y = y; } who() { var up = super.who; return \"B\" + up() + super.who(); } }
         var a = A(1); var b = B(2, 3); print a.get() + b.get() + b.y; print a.show(); print b.show(); print a; print B;
         b.z = 4; b.w = \"w\"; b.v = [b.z]; print b.z; print b.w; print b.v; b.z = b.z + 1; print b.z; b.x = nil; print b.x;
         var bound = a.get; a.x = 5; print bound(); print bound; fun f(k) { return k + 1; } a.get = f; print a.get(1); a.get = len; print a.get(\"abc\");
         class Empty {} var e = Empty(); e.one = 1; print e.one; print Empty() == Empty(); print e == e;
         class Early { init() { this.k = 1; return; } } print Early().k; print a.init(9).x;
         class C < B {} print C(1, 2).show(); class D < C { who() { return \"D\" + super.who(); } } print D(7, 8).show();
         fun local() { class L { init() { this.n = 0; } up() { fun add() { this.n = this.n + 1; } add(); add(); return this; } }
           class M < L { up() { super.up(); return super.up(); } } return M().up().n; } print local();
         e.class_of = A; print e.class_of(3).x; var made = [A(1), B(1, 2)]; made[0].next = made[1]; print made[0].next.y;",
        "6\nA1\nBAA2\nA instance\nB\n4\nw\n[4]\n5\nnil\n5\n<fun get>\n2\n3\n1\nfalse\ntrue\n1\n9\nBAA1\nDBAA7\n4\n3\n2",
    );
}

#[test]
fn lists_maps_and_natives() {
    check(
        "var a = [1, \"two\", [3, nil]]; print a; print len(a); print a[2][0]; a[0] = a[1] + \"!\"; print a[0]; push(a, true); print pop(a);
         print len([]); print [1 + 1, 2 * 2,]; a[2][1] = a[2]; print a[2]; print {\"x\": {1: []}};
         var m = {\"k\": 1, 2: \"two\", nil: 0, true: -1}; print m; print m[\"k\"]; print m[nil]; print m[\"none\"]; m[\"k\" + \"\"] = 9; print m[\"k\"];
         print len(m); print has(m, 2); print has(m, false); print remove(m, 2); print remove(m, 2); print keys(m); print keys(map());
         m[0] = \"zero\"; print m[-0]; print m[0 * -1]; m[0 / 0] = \"none\"; print m[0 / 0]; var l = []; m[l] = 1; print m[l]; print m[[]];
         print split(\"a, b, c\", \", \"); print split(\"\", \",\"); print len(\"h\u{e9}\u{4e16}\"); print floor(-1.5); print str([1, nil]) + \"!\";
         var many = map(); for (var i = 0; i < 300; i = i + 1) many[\"k\" + str(i)] = i; var sum = 0; var ks = keys(many);
         for (var i = 0; i < len(ks); i = i + 1) sum = sum + many[ks[i]]; print sum; class K {} var k = K(); many[k] = k; print many[k]; print many[K];",
        "[1, two, [3, nil]]\n3\n3\ntwo!\ntrue\n0\n[2, 4]\n[3, [3, [3, [3, [..]]]]]\n{x: {1: []}}\n{k: 1, 2: two, nil: 0, true: -1}\n1\n0\nnil\n9\n\
         4\ntrue\nfalse\ntwo\nnil\n[k, true, nil]\n[]\nzero\nzero\nnone\n1\nnil\n[a, b, c]\n[]\n3\n-2\n[1, nil]!\n44850\nK instance\nnil",
    );
}

/// What survives is kept by the stack, by globals, by captured variables on the stack and off it, by fields, lists and maps.
#[test]
fn collections_keep_what_programs_use() {
    let text = |rounds: u32| {
        format!(
            "class Node {{ init(value, next) {{ this.value = value; this.next = next; }} }}
             fun list(n) {{ var head = nil; for (var i = 0; i < n; i = i + 1) head = Node(str(i), head); return head; }}
             fun sum(node) {{ var sum = 0; while (node != nil) {{ sum = sum + len(node.value); node = node.next; }} return sum; }}
             fun keeper() {{ var kept = list(20); fun get() {{ return kept; }} fun set(to) {{ kept = to; }} return {{\"get\": get, \"set\": set}}; }}
             var global = list(15); var k = keeper(); var all = [];
             fun work(depth) {{
               var mine = list(8); fun grow() {{ mine = Node(\"x\", mine); }} grow();
               var below = 0; if (depth > 0) below = work(depth - 1); grow();
               return sum(mine) + below;
             }}
             var total = 0;
             for (var round = 0; round < {rounds}; round = round + 1) {{
               total = total + work(5) + sum(global) + sum(k[\"get\"]());
               k[\"set\"](list(10 + round % 3)); push(all, Node(round, nil)); if (len(all) > 9) all = []; list(30);
             }}
             print total; print sum(k[\"get\"]()) + sum(global); print len(all);"
        )
    };
    // Each round: six frames with 8 + 2 letters, 20 of the global list, and of the kept one 30, then 10, 12 or 14.
    let total = |rounds: u32| {
        (0..rounds)
            .map(|round| 80 + if round == 0 { 30 } else { [10, 12, 14][(round - 1) as usize % 3] })
            .sum::<u32>()
    };
    for (rounds, config) in [1500, 5, 300, 300].into_iter().zip(CONFIGS) {
        let kept = 20 + [10, 12, 14][(rounds - 1) as usize % 3];
        let expected = format!("{}\n{kept}\n{}", total(rounds), rounds % 10);
        for in_session in [false, true] {
            let (lines, stats) = printed(&text(rounds), config, in_session);
            assert_eq!(lines, expected, "{rounds} rounds, session {in_session}");
            let stats = stats.unwrap();
            assert!(stats.collections > 0 && stats.barrier_violations == 0, "{stats:?}");
        }
    }
}

/// Closures that were made before and after a collection share a variable that is on the stack meanwhile, and keep it when its frame
/// is gone.
#[test]
fn captured_variables_outlive_collections_and_frames() {
    let text = "fun garbage() { var all = []; for (var i = 0; i < 200; i = i + 1) push(all, str(i)); }
                fun shared(first) {
                  var other = [first]; fun of_other() { return other[0]; }
                  var x = first; fun get() { return x; } garbage(); x = x + 1; fun set(to) { x = to; } garbage(); return [get, set, of_other];
                }
                var all = []; for (var i = 0; i < 50; i = i + 1) push(all, shared(i * 10)); garbage();
                print all[7][0](); all[7][1](5); print all[7][0](); print all[8][0](); print all[49][2](); shared(0); print all[0][0]() + all[0][2]();";
    for (number, config) in CONFIGS.into_iter().enumerate() {
        for in_session in [false, true] {
            let (lines, stats) = printed(text, config, in_session);
            assert_eq!(lines, "71\n5\n81\n490\n1", "config {number}, session {in_session}");
            assert!(stats.unwrap().collections > 0);
        }
    }
}

/// Dead trees do not keep older dead ones: what is nil leads nowhere, though the collector takes any word of a value for a pointer that
/// looks like one. A session has no stack that could.
#[test]
fn dead_trees_keep_nothing() {
    let text = "class Node { init(left, right) { this.left = left; this.right = right; } }
                fun build(depth) { if (depth == 0) return Node(nil, nil); return Node(build(depth - 1), build(depth - 1)); }
                for (var i = 0; i < 150; i = i + 1) build(9);";
    let config = SMALL.concurrent(Concurrent::Off).generational(Generational::Off);
    let (lines, stats) = printed(text, config, true);
    let stats = stats.unwrap();
    assert!(lines.is_empty() && stats.collections > 3, "{lines}");
    // A tree has 64 KiB; one is being built.
    assert!(stats.live_bytes < 256 << 10, "{stats:?}");
}

#[test]
fn mistakes_of_a_run_are_named_with_their_line() {
    for (text, expected) in [
        ("\nprint 1 + nil;", "line 2: only two numbers or two texts can be added"),
        ("print \"a\" + 1;", "line 1: only two numbers or two texts can be added"),
        ("print \"a\" - 1;", "line 1: only numbers can be subtracted"),
        ("var n = 1; print n - \"a\";", "line 1: only numbers can be subtracted"),
        ("print nil * 1;", "line 1: only numbers can be multiplied"),
        ("print nil / 1;", "line 1: only numbers can be divided"),
        ("print 1 % \"a\";", "line 1: only numbers can be divided"),
        ("print -\"a\";", "line 1: only numbers can be negated"),
        ("print 1 < \"a\";", "line 1: only numbers can be compared"),
        ("if (\n1\n>= nil) print 1;", "line 3: only numbers can be compared"),
        ("print a;", "line 1: there is no variable 'a'"),
        ("a = 1;", "line 1: there is no variable 'a'"),
        ("1();", "line 1: only functions and classes can be called, not a number"),
        ("\"f\"();", "line 1: only functions and classes can be called, not a text"),
        ("fun f(a) {} f();", "line 1: 'f' takes 1 argument, not 0"),
        ("fun f(a, b) {} f(1, 2, 3);", "line 1: 'f' takes 2 arguments, not 3"),
        ("len();", "line 1: 'len' takes 1 argument, not 0"),
        ("class A {} A(1);", "line 1: 'A' takes 0 arguments, not 1"),
        ("class A { init(x) {} } A();", "line 1: 'init' takes 1 argument, not 0"),
        ("class A {} A().b;", "line 1: A has no field or method 'b'"),
        ("class A {} A().b();", "line 1: A has no field or method 'b'"),
        ("print 1 .b;", "line 1: only instances have fields and methods such as 'b', not a number"),
        ("var x; x.b = 1;", "line 1: only instances have fields and methods such as 'b', not nil"),
        ("[].b();", "line 1: only instances have fields and methods such as 'b', not a list"),
        (
            "{var x = true; x.b;}",
            "line 1: only instances have fields and methods such as 'b', not a truth value",
        ),
        ("var A = map(); class B < A {}", "line 1: a superclass is a class, not a map"),
        (
            "class A {} class B < A { f() { super.f(); } } B().f();",
            "line 1: the superclass A has no method 'f'",
        ),
        (
            "class A {} class B < A { f() { super.g; } } B().f();",
            "line 1: the superclass A has no method 'g'",
        ),
        ("fun f() { f(); }\nf();", "line 1: calls are nested too deeply"),
        (
            "class A { f(x) { var a; var b; return this.f(x); } } A().f(1);",
            "line 1: calls are nested too deeply",
        ),
        ("[1][1];", "line 1: 1 is no place in a list of 1 elements"),
        ("[1][-1] = 2;", "line 1: -1 is no place in a list of 1 elements"),
        ("[1][0.5];", "line 1: 0.5 is no place in a list of 1 elements"),
        ("[1][\"a\"];", "line 1: a list has no element of a text"),
        ("len[0];", "line 1: only lists and maps have elements, not a function"),
        ("class A {} A()[0] = 1;", "line 1: only lists and maps have elements, not an instance"),
        ("len(1);", "line 1: 'len' takes a text, a list or a map, not a number"),
        ("push(1, 2);", "line 1: 'push' takes a list, not a number"),
        ("pop(map);", "line 1: 'pop' takes a list, not a function"),
        ("pop([]);", "line 1: 'pop' takes a list that is not empty"),
        ("class A {} keys(A);", "line 1: 'keys' takes a map, not a class"),
        ("has([], 1);", "line 1: 'has' takes a map, not a list"),
        ("remove(nil, 1);", "line 1: 'remove' takes a map, not nil"),
        ("split(1, \",\");", "line 1: 'split' takes two texts, not a number"),
        ("split(\"a\", \"\");", "line 1: 'split' takes a separator that is not empty"),
        ("floor(\"1\");", "line 1: 'floor' takes a number, not a text"),
        (
            "print 1; fun f() {\n  g();\n}\nfun g() {\n  return nil.x;\n}\nf();",
            "1\nline 5: only instances have fields and methods such as 'x', not nil",
        ),
    ] {
        for in_session in [false, true] {
            assert_eq!(printed(text, SMALL, in_session).0, expected, "{text}");
        }
    }
}

#[test]
fn mistakes_of_a_text_are_named_with_their_line() {
    for (text, expected) in [
        ("print 1", "line 1: expected ';' after the value, not the end"),
        ("\n\nprint 1\nprint 2;", "line 3: expected ';' after the value, not 'print'"),
        ("1 + ;", "line 1: expected an expression, not ';'"),
        ("print \"a", "line 1: the text has no closing '\"'"),
        ("\nvar a = @;", "line 2: there is no sign '@'"),
        ("var a = \u{e9};", "line 1: there is no sign '\u{e9}'"),
        ("1 = 2;", "line 1: what is before this '=' cannot be assigned to"),
        ("var a; a + 1 = 2;", "line 1: what is before this '=' cannot be assigned to"),
        ("this.x;", "line 1: 'this' is outside of a class"),
        ("class A { f() { this = 1; } }", "line 1: what is before this '=' cannot be assigned to"),
        ("super.x;", "line 1: 'super' is outside of a class"),
        ("class A { f() { super.f(); } }", "line 1: 'super' is in a class without a superclass"),
        ("class A < A {}", "line 1: a class cannot inherit from itself"),
        ("return 1;", "line 1: 'return' is outside of a function"),
        ("class A { init() { return 1; } }", "line 1: an initializer returns no value"),
        ("{ var a; var a; }", "line 1: 'a' is declared twice in one block"),
        ("fun f(a, a) {}", "line 1: 'a' is declared twice in one block"),
        ("{ var a = a; }", "line 1: 'a' is read in its own initial value"),
        ("if 1", "line 1: expected '(' before the condition, not '1'"),
        ("(1;", "line 1: expected ')' after the expression, not ';'"),
        ("[1;", "line 1: expected ']' after the elements, not ';'"),
        ("print {1 2};", "line 1: expected ':' after the key, not '2'"),
        ("a[1;", "line 1: expected ']' after the index, not ';'"),
        ("a.1;", "line 1: expected a name after '.', not '1'"),
        ("f(1;", "line 1: expected ')' after the arguments, not ';'"),
        ("{ 1;", "line 1: expected '}' after the block, not the end"),
        ("class A { 1 }", "line 1: expected '}' after the methods, not '1'"),
        ("class A \"x\"", "line 1: expected '{' before the methods, not a text"),
        ("fun (", "line 1: expected a name of the function, not '('"),
        ("fun f(1)", "line 1: expected a name of a parameter, not '1'"),
        ("var 1;", "line 1: expected a name of the variable, not '1'"),
        ("for (;;", "line 1: expected an expression, not the end"),
    ] {
        assert_eq!(compile(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn texts_that_are_too_large_are_refused() {
    let many = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<String>();
    let message = |text: &str| compile(text).map(|_| ()).unwrap_err().message;
    let locals = |count| format!("fun f() {{ {} }}", many(count, &|k| format!("var a{k};")));
    assert!(compile(&locals(255)).is_ok());
    assert_eq!(message(&locals(256)), "there are too many locals in one function");
    let names = |count| many(count, &|k| format!("a{k},"));
    assert!(compile(&format!("fun f({}) {{}}", names(255))).is_ok());
    assert_eq!(message(&format!("fun f({}) {{}}", names(256))), "there are more than 255 parameters");
    assert_eq!(message(&format!("f({});", names(256))), "there are more than 255 arguments");
    let deep = "this is nested too deeply";
    for text in [
        "(".repeat(10_000),
        "!".repeat(10_000),
        "[".repeat(10_000),
        "{".repeat(10_000),
        "a = ".repeat(10_000),
        format!("print {}", "{1: ".repeat(10_000)),
        "if (1) ".repeat(10_000),
        "while (1) ".repeat(10_000),
        "for (;;) ".repeat(10_000),
        "fun f() { ".repeat(10_000),
        "class A { f() { ".repeat(10_000),
    ] {
        assert_eq!(message(&text), deep, "{}", &text[..12]);
    }
    assert_eq!(message(&many(70_000, &|k| format!("a.b{k};"))), "there are too many names");
    assert_eq!(message(&many(70_000, &|k| format!("g{k};"))), "there are too many globals");
    assert_eq!(message(&many(70_000, &|k| format!("\"{k}\";"))), "there are too many texts");
    assert_eq!(message(&many(70_000, &|k| format!("{k};"))), "there are too many numbers in one function");
    assert_eq!(message(&format!("[{}];", "1,".repeat(70_000))), "there are too many elements");
    let list = format!("[{}];", "1,".repeat(5000));
    assert_eq!(message(&list), "there are too many values at once");
    assert_eq!(message(&format!("fun f() {{ {list} }}")), "there are too many values at once");
    check(&format!("print len([{}]);", "1,".repeat(4000)), "4000");
    // 200 locals of each of two functions are captured by one.
    let reads = |name: char| many(200, &|k| format!("{name}{k};"));
    let locals = |name: char| many(200, &|k| format!("var {name}{k};"));
    let text = format!(
        "fun f() {{ {} fun g() {{ {} fun h() {{ {} {} }} }} }}",
        locals('a'),
        locals('b'),
        reads('a'),
        reads('b')
    );
    assert_eq!(message(&text), "there are too many captured variables in one function");
}

/// No text makes the compiler panic: every prefix and every text without one character of a program is compiled.
#[test]
fn damaged_texts_are_errors_or_programs() {
    let text = "class A < B { init(x) { super.init(x); this.y = [x, {1: x[2]}]; } f() { return super.g; } } for (var i = 0; i < 3; i = i + 1) \
                { fun f() { return i; } if (i == 1 and !f() or -1 >= 2.5) print f; else A(1).y = \"t\"; } while (nil) {}";
    assert!(compile(text).is_ok());
    for at in 0..text.len() {
        _ = compile(&text[..at]);
        _ = compile(&format!("{}{}", &text[..at], &text[at + 1..]));
        _ = compile(&text[at..]);
    }
}

#[test]
fn natives_are_globals_that_programs_may_replace() {
    for native in Native::ALL {
        check(
            &format!("print {0}; {0} = 1; print {0};", native.name()),
            &format!("<fun {}>\n1", native.name()),
        );
    }
}

/// A program that uses most of both stacks when a session collects goes on as if nothing had been.
#[test]
fn deep_calls_survive_collections() {
    let text = "fun deep(n) { var a = [n]; var b = str(n); if (n == 0) return 0; var below = deep(n - 1); return below + a[0] - n + len(b) - len(str(n)) + 1; }
                print deep(900); for (var i = 0; i < 60; i = i + 1) deep(900); print deep(1000);";
    for config in [CONFIGS[0], CONFIGS[2], CONFIGS[3]] {
        for in_session in [false, true] {
            let (lines, _) = printed(text, config, in_session);
            assert_eq!(lines, "900\n1000", "session {in_session}");
        }
    }
}

#[test]
fn the_workload_is_the_same_in_a_session() {
    let mut lines = Vec::new();
    run_in_session(2, SMALL, &mut |line| lines.push(line.check)).unwrap();
    let m = crate::attach(SMALL);
    let mut plain = Vec::new();
    heapwood_workloads::lox::run(&m, 2, &mut |line| plain.push(line.check));
    assert_eq!(lines, plain);
    assert!(lines.len() == 9 && lines.iter().all(|line| line.starts_with("lox ")), "{lines:?}");
}
